"""`millrace up` adds a context to the kubeconfig of a person, and takes it out at the end."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli import contexts
from cli.contexts import context_of_up, new_info
from cli.failing import Failure, Misused
from cli.kubeconfigs import EXTENSION, UpInfo, default_kubeconfig, up_of
from cli.private import locked
from services.chassis.kube.kubeconfig_files import Access

ACCESS = Access(Path("admin"), "admin", "", {"server": "http://127.0.0.1:1"}, {"token": "t"})
_OF_UP = "{name: millrace.dev/up, extension: {bundleRoot: /b, pid: many}}"
PERSONAL = """\
apiVersion: v1
kind: Config
# production: careful
clusters:
- {name: prod, cluster: {server: "https://prod"}}
- {name: test, cluster: {server: "https://test"}}
contexts:
- {name: prod, context: {cluster: prod, user: alice}}
- {name: test, context: {cluster: test, user: bob}}
current-context: prod
users:
- {name: alice, user: {unknown: [1]}}
- {name: bob, user: {}}
"""


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A kubeconfig of a person."""
    path = tmp_path / "config"
    path.write_text(PERSONAL)
    return path


@pytest.fixture
def running() -> Iterator[Callable[[Path], UpInfo]]:
    """The extensions of `up` that run until the end of the test."""
    with ExitStack() as stack:

        def of(state: Path) -> UpInfo:
            (state / "logs").mkdir(parents=True)
            stack.enter_context(locked(state / "logs"))
            return new_info(state / "bundles", state)

        yield of


def entered(target: Path, info: UpInfo, lines: list[str] | None = None) -> Any:
    return context_of_up(target, ACCESS, info, (lines if lines is not None else []).append)


def text_of(path: Path) -> str:
    return path.read_text()


def bytes_of(path: Path) -> bytes:
    return path.read_bytes()


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def files_of(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def put(path: Path, text: str | bytes, mode: int = 0o600) -> None:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(mode)


def current(target: Path) -> str:
    return str(yaml.safe_load(text_of(target))["current-context"])


def names(target: Path, section: str = "contexts") -> list[str]:
    return [each["name"] for each in yaml.safe_load(text_of(target))[section]]


async def test_the_file_of_a_person_is_the_same_before_and_after(
    target: Path, tmp_path: Path
) -> None:
    lines: list[str] = []
    async with entered(target, new_info(tmp_path / "b", tmp_path), lines) as name:
        assert (name, current(target)) == ("millrace", "millrace")
        for section in ("clusters", "contexts", "users"):
            assert names(target, section)[-1] == "millrace"
        for line in set(PERSONAL.splitlines()) - {"current-context: prod"}:
            assert line in text_of(target).splitlines()
        up = up_of(target)
        assert up is not None
        assert (up.bundle_root, up.state) == (tmp_path / "b", tmp_path)
    assert text_of(target) == PERSONAL
    assert lines == [
        f"context millrace is taken out of {target}; the current context is prod",
    ]


async def test_a_context_that_somebody_chose_meanwhile_stays_the_current_one(
    target: Path, tmp_path: Path
) -> None:
    async with entered(target, new_info(tmp_path, tmp_path)):
        text = text_of(target)
        put(target, text.replace("current-context: millrace", "current-context: test"))
        assert current(target) == "test"
    assert (current(target), names(target)) == ("test", ["prod", "test"])


async def test_a_new_file_is_private_and_removed_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "config"
    async with entered(target, new_info(tmp_path, tmp_path)):
        assert mode_of(target) == 0o600
    assert files_of(target.parent) == []


async def test_a_new_file_that_somebody_uses_meanwhile_stays(tmp_path: Path) -> None:
    target = tmp_path / "config"
    async with entered(target, new_info(tmp_path, tmp_path)):
        put(target, f"# mine\n{text_of(target)}")
    assert (current(target), names(target)) == ("", [])


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
async def test_modes_are_kept(target: Path, tmp_path: Path, mode: int) -> None:
    put(target, PERSONAL, mode)
    async with entered(target, new_info(tmp_path, tmp_path)):
        assert mode_of(target) == mode
    assert mode_of(target) == mode


async def test_a_link_stays_a_link(target: Path, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere" / "config"
    link.parent.mkdir()
    link.symlink_to(target)
    async with entered(link, new_info(tmp_path, tmp_path)):
        assert current(target) == "millrace"
    assert link.is_symlink()
    assert current(target) == "prod"


@pytest.mark.parametrize("first_ends_first", [True, False])
async def test_two_systems_share_a_file_under_different_names(
    target: Path, tmp_path: Path, running: Callable[[Path], UpInfo], first_ends_first: bool
) -> None:
    """In whichever order they end, the context of the person is current again."""
    first = entered(target, running(tmp_path / "one"))
    second = entered(target, running(tmp_path / "two"))
    assert [await first.__aenter__(), await second.__aenter__()] == ["millrace", "millrace-2"]
    ends = [first, second] if first_ends_first else [second, first]
    await ends[0].__aexit__(None, None, None)
    assert current(target) == ("millrace-2" if first_ends_first else "millrace")
    await ends[1].__aexit__(None, None, None)
    assert yaml.safe_load(text_of(target)) == yaml.safe_load(PERSONAL)


async def test_entries_of_a_system_that_was_killed_are_taken_over(
    target: Path, tmp_path: Path, running: Callable[[Path], UpInfo]
) -> None:
    """Its lock is gone with it. The context before it is current at the end."""
    killed = new_info(tmp_path / "bundles", tmp_path / "gone")
    await entered(target, killed).__aenter__()
    async with entered(target, running(tmp_path / "state")) as name:
        assert (name, names(target)) == ("millrace", ["prod", "test", "millrace"])
    assert yaml.safe_load(text_of(target)) == yaml.safe_load(PERSONAL)


async def test_entries_of_a_system_on_another_machine_are_left_alone(
    target: Path, tmp_path: Path
) -> None:
    """A home may be shared; nobody here knows whether that system runs."""
    there = replace(new_info(tmp_path, tmp_path / "gone"), host="elsewhere")
    await entered(target, there).__aenter__()
    async with entered(target, new_info(tmp_path, tmp_path)) as name:
        assert name == "millrace-2"


async def test_entries_of_an_earlier_release_are_taken_over(target: Path, tmp_path: Path) -> None:
    """They name the bundle root only."""
    extension = {"name": EXTENSION, "extension": {"bundleRoot": "/b"}}
    old = {"name": "millrace", "cluster": {"server": "x", "extensions": [extension]}}
    put(target, yaml.safe_dump({"clusters": [old]}))
    async with entered(target, new_info(tmp_path, tmp_path)) as name:
        assert name == "millrace"
        assert names(target, "clusters") == ["millrace"]


async def test_a_name_that_a_person_uses_is_left_alone(target: Path, tmp_path: Path) -> None:
    config = yaml.safe_load(PERSONAL)
    config["users"].append({"name": "millrace", "user": {"token": "mine"}})
    put(target, yaml.safe_dump(config))
    async with entered(target, new_info(tmp_path, tmp_path)) as name:
        assert name == "millrace-2"
    assert yaml.safe_load(text_of(target)) == config


async def test_entries_that_another_program_took_out_are_no_problem(
    target: Path, tmp_path: Path
) -> None:
    lines: list[str] = []
    async with entered(target, new_info(tmp_path, tmp_path), lines):
        put(target, PERSONAL)
    assert lines == [f"context millrace was taken out of {target} by another program"]
    assert text_of(target) == PERSONAL


@pytest.mark.parametrize("value", ["", ", cluster: null"])
async def test_an_item_with_a_name_alone_is_left_as_it_is(
    value: str, target: Path, tmp_path: Path
) -> None:
    text = f"clusters: [{{name: a{value}}}]\ncontexts: [{{name: a}}]\ncurrent-context: a\n"
    put(target, text)
    async with entered(target, new_info(tmp_path, tmp_path)) as name:
        assert name == "millrace"
        assert names(target, "clusters") == ["a", "millrace"]
    left = yaml.safe_load(text_of(target))
    assert left.pop("users") == []
    assert left == yaml.safe_load(text)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("hello", "it is not a mapping"),
        ("clusters: [1", "line 1, column 13: "),
        ("clusters: 7", "clusters: it must be a list, and is a number"),
        ("users: [7]", r"users\[0\]: it must be a mapping, and is a number"),
        ("contexts: [{name: 7}]", r"contexts\[0\].name: it must be text, and is a number"),
        ("clusters: [{cluster: {}}]", r"clusters\[0\].name: it must be text, and is missing"),
        ("users: [{name: a, user: b}]", r"users\[0\].user: it must be a mapping, and is text"),
        ("current-context: [a]", "current-context: it must be text, and is a list"),
        ("clusters: [{name: a, cluster: {extensions: [1]}}]", r"clusters\[0\].cluster.extensions"),
        (f"clusters: [{{name: a, cluster: {{extensions: [{_OF_UP}]}}}}]", r"clusters\[0\].cluster"),
        ("contexts: [{name: a, context: {cluster: [1]}}]", r"contexts\[0\].context.cluster"),
        ("since: 2024-02-30", "a value cannot be read"),
        (f"a: {'[' * 2000}{']' * 2000}", "it is nested too deeply"),
        (b"\xff\xfe", "it is not text in UTF-8"),
    ],
)
async def test_a_file_of_another_form_is_refused_with_the_field(
    text: str | bytes, field: str, target: Path, tmp_path: Path
) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    put(target, data)
    with pytest.raises(Misused, match=f"{target} is not a kubeconfig: {field}") as caught:
        await entered(target, new_info(tmp_path, tmp_path)).__aenter__()
    assert "It is left as it is" in str(caught.value)
    assert bytes_of(target) == data
    assert not (tmp_path / "config.lock").exists()


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir])
async def test_what_is_no_file_is_refused(make: Callable[[Path], None], tmp_path: Path) -> None:
    """A pipe was opened, which waits for ever and leaves every signal aside."""
    target = tmp_path / "k"
    make(target)
    with pytest.raises(Misused, match=f"{target} is a folder or a device"):
        await entered(target, new_info(tmp_path, tmp_path)).__aenter__()


async def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    target = tmp_path / "file" / "config"
    with pytest.raises(Misused, match=f"{target} cannot be written"):
        await entered(target, new_info(tmp_path, tmp_path)).__aenter__()


async def test_the_lock_of_kubectl_is_waited_for(target: Path, tmp_path: Path) -> None:
    lock = tmp_path / "config.lock"
    lock.touch()
    waiting = asyncio.create_task(entered(target, new_info(tmp_path, tmp_path)).__aenter__())
    await asyncio.sleep(contexts.LOCK_POLL_S)
    assert text_of(target) == PERSONAL
    lock.unlink()
    assert await waiting == "millrace"
    assert not lock.exists()


async def test_a_lock_that_stays_is_named(
    target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contexts, "LOCK_S_MAX", 0.0)
    (tmp_path / "config.lock").touch()
    with pytest.raises(Failure, match=r"config\.lock has existed for .* remove that file"):
        await entered(target, new_info(tmp_path, tmp_path)).__aenter__()
    assert (tmp_path / "config.lock").exists()


async def test_a_crash_in_the_middle_of_a_write_leaves_the_file_as_it_was(
    target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Path, to: Path) -> Path:
        assert yaml.safe_load(text_of(target)) == yaml.safe_load(PERSONAL)
        raise OSError(28, "No space left on device", str(to))

    monkeypatch.setattr(Path, "replace", broken)
    with pytest.raises(Misused, match="No space left on device"):
        await entered(target, new_info(tmp_path, tmp_path)).__aenter__()
    assert files_of(tmp_path) == ["config"]
    assert text_of(target) == PERSONAL


def test_the_default_is_the_file_that_kubectl_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of $KUBECONFIG that exists, or its last; without it, the one of the home."""
    missing, there = tmp_path / "missing", tmp_path / "there"
    there.touch()
    monkeypatch.setenv("KUBECONFIG", f"{missing}:{there}:{tmp_path / 'last'}")
    assert default_kubeconfig() == there
    there.unlink()
    assert default_kubeconfig() == tmp_path / "last"
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_kubeconfig() == tmp_path / ".kube" / "config"


async def test_entries_of_an_up_that_was_killed_go_when_another_runs_in_its_state(
    target: Path, tmp_path: Path
) -> None:
    """They stayed, one for each kill, since the lock of the folder is held: by the next `up`."""
    state = tmp_path / "state"
    (state / "logs").mkdir(parents=True)
    killed = entered(target, replace(new_info(tmp_path, state), pid=2_000_000))
    await killed.__aenter__()
    with locked(state / "logs"):
        up = up_of(target)
        assert up is not None
        assert up.has_ended()
        async with entered(target, new_info(tmp_path, state)) as name:
            assert (name, names(target)) == ("millrace", ["prod", "test", "millrace"])
            again = up_of(target)
            assert again is not None
            assert not again.has_ended()
    assert text_of(target) == PERSONAL
