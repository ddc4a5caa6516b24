"""Files of a state folder are private, whatever the umask is and whatever existed before."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.children import Child, ChildEnded, ChildSpec
from cli.failing import Misused
from cli.layouts import Layout, UpOptions
from cli.private import PID_FILE, TEMPORARY_FILE, locked, private_log, remove_left
from cli.submitting import put_bundle
from tests.private import open_to_others
from tools.real.state import PairFolder

WRITES = (
    "import os, pathlib; os.mkdir('{0}/d'); pathlib.Path('{0}/d/f').touch(); raise SystemExit(2)"
)


@pytest.fixture(params=[0o000, 0o022, 0o077], autouse=True)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Usual umasks, and the most open one."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """As an older `millrace up` left it."""
    state = tmp_path / "state"
    (state / "store" / "fetched").mkdir(parents=True)
    (state / "logs").mkdir()
    for name in (
        "log.sqlite",
        "log.sqlite-wal",
        "store/fetched/x",
        "store/a.sab",
        "logs/sandbox.log",
    ):
        (state / name).touch()
    for path in (state, *state.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    return state


def layout_of(state: Path, bundles: Path | None = None) -> Layout:
    options = UpOptions(state.parent / "kubeconfig", bundles=bundles, create=True)
    return Layout(options, state)


def test_a_new_state_is_closed(tmp_path: Path) -> None:
    layout_of(tmp_path / "state")
    assert open_to_others(tmp_path / "state") == []


def test_a_state_that_is_open_to_others_is_closed_with_all_in_it(state: Path) -> None:
    (state / "store" / "link.sab").symlink_to("a.sab")
    layout_of(state)
    assert open_to_others(state) == []


def test_an_open_folder_with_something_else_in_it_is_left_as_it_is(state: Path) -> None:
    """It may be a home, or /tmp: its other users would be locked out."""
    (state / "thesis.txt").touch()
    (state / "thesis.txt").chmod(0o644)
    with pytest.raises(Misused, match=r"holds thesis\.txt, which is not millrace's: .*`chmod 700 "):
        layout_of(state)
    assert stat.S_IMODE(state.stat().st_mode) == 0o777
    state.chmod(0o700)
    layout_of(state)
    assert open_to_others(state) == [state / "thesis.txt"]


def test_a_state_that_is_a_link_is_refused(state: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(state)
    with pytest.raises(Misused, match=rf"link is a link to {state}: name the folder itself"):
        layout_of(link)
    with pytest.raises(Misused, match=rf"link is a link to {state}: name the folder itself"):
        PairFolder(link).check_is_ours()
    assert stat.S_IMODE(state.stat().st_mode) == 0o777


@pytest.mark.parametrize("name", ["", "log.sqlite", "store/a.sab"])
def test_what_belongs_to_another_user_is_refused(
    state: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """They could read and change what is written there."""
    theirs, lstat = state / name, Path.lstat

    def lied(path: Path) -> os.stat_result:
        found = lstat(path)
        uid = found.st_uid + (path == theirs)
        return os.stat_result((*found[: stat.ST_UID], uid, *found[stat.ST_UID + 1 :]))

    monkeypatch.setattr(Path, "lstat", lied)
    message = (
        rf"{theirs} belongs to another user \(uid {os.geteuid() + 1}\)\. Say another --state\."
    )
    with pytest.raises(Misused, match=message) as caught:
        layout_of(state)
    assert caught.value.exit_code == 2
    if not name:
        with pytest.raises(Misused, match=message):
            PairFolder(state).check_is_ours()


def test_the_bundle_root_that_a_person_names_keeps_the_modes_of_a_person(
    tmp_path: Path, umask: int
) -> None:
    layout_of(tmp_path / "state", tmp_path / "bundles")
    assert stat.S_IMODE((tmp_path / "bundles").stat().st_mode) == 0o777 & ~umask


async def test_files_of_children_are_private_to_their_owner(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    command = (sys.executable, "-c", WRITES.format(tmp_path / "data"))
    with pytest.raises(ChildEnded):
        await Child(ChildSpec("c", command), tmp_path / "c.log").keep_running()
    assert (tmp_path / "data" / "d" / "f").exists()
    assert open_to_others(tmp_path) == []


def test_a_log_is_for_its_owner_and_grows(tmp_path: Path) -> None:
    for word in (b"one", b"two"):
        with private_log(tmp_path / "log") as log:
            log.write(word)
    assert (tmp_path / "log").read_bytes() == b"onetwo"
    assert open_to_others(tmp_path) == []


def test_a_bundle_is_as_private_as_its_folder(tmp_path: Path, umask: int) -> None:
    """`submit` puts it into the bundle root of a state, or into one that people share."""
    for mode, expected in ((0o700, 0o600), (0o750, 0o640 & ~umask), (0o755, 0o644 & ~umask)):
        root = tmp_path / f"{mode:o}"
        root.mkdir()
        root.chmod(mode)
        put_bundle("x.sab", b"PK", root)
        assert stat.S_IMODE((root / "x.sab").stat().st_mode) == expected


def test_temporary_states_that_a_killed_up_left_are_removed_and_no_others(tmp_path: Path) -> None:
    """Each kill left one. One that is named by --state, runs, or has just been made stays."""
    made = {}
    for name in ("left", "runs", "named", "new", "link"):
        state = made[name] = tmp_path / f"millrace-{name}"
        if name == "link":
            state.symlink_to(tmp_path)
            continue
        (state / "logs").mkdir(parents=True)
        if name != "new":
            (state / PID_FILE).write_text("2000000\n")
        if name != "named":
            (state / TEMPORARY_FILE).touch()
    with locked(made["runs"] / "logs"):
        assert remove_left(tmp_path, "millrace-") == [made["left"]]
    assert {name for name, state in made.items() if state.exists()} == {*made} - {"left"}
