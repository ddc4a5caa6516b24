"""The namespace of a command is that of the current context, as with kubectl."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from cli import connecting, kubeconfigs
from cli.commands import COMMANDS, LazyCommand, app
from cli.connecting import JOBS, connected
from cli.failing import CannotReach, Misused
from cli.kubeconfigs import NoKubeconfig, find_kubeconfig, namespace_in, namespace_of
from services.chassis.kube.kubeconfig_files import Kubeconfig
from services.chassis.kube.port import KubeClient, Resource, Response
from tests.sandboxed import SandboxTransport, new_cluster

OF_ITS_OWN = {"install", "upgrade", "uninstall", "replay"}
"""The commands whose namespace is not that of a job in a cluster."""


def written(path: Path, namespace: str | None) -> Path:
    context: dict[str, Any] = {"cluster": "c", "user": "u"}
    if namespace is not None:
        context["namespace"] = namespace
    content = {
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": context}],
        "current-context": "x",
    }
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.fixture
def jobs_in_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster with the job `there` in namespace `other`."""
    cluster = new_cluster(now=lambda: 1_800_000_000.0, nodes=1)
    kube = KubeClient(SandboxTransport(cluster), "test")
    other = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
    asyncio.run(kube.create(Resource("", "v1", "namespaces", "Namespace"), "", other))
    for namespace, name in (("other", "there"), ("default", "here")):
        job = {
            "apiVersion": JOBS.api_version,
            "kind": JOBS.kind,
            "metadata": {"name": name},
            "spec": {"bundle": {"name": "none.sab"}},
        }
        asyncio.run(kube.create(JOBS, namespace, job))

    @asynccontextmanager
    async def transport(*_: Any, **__: Any) -> AsyncIterator[SandboxTransport]:
        yield SandboxTransport(cluster)

    monkeypatch.setattr(connecting, "aclosing_transport", transport)


@pytest.mark.usefixtures("jobs_in_other")
@pytest.mark.parametrize(
    ("of_context", "words", "seen"),
    [
        ("other", [], "there"),
        ("other", ["-n", "default"], "here"),
        (None, [], "here"),
        ("", [], "here"),
    ],
)
def test_a_command_looks_into_the_namespace_of_the_context(
    tmp_path: Path, of_context: str | None, words: list[str], seen: str
) -> None:
    """It looked into `default`, whatever the context had."""
    kubeconfig = written(tmp_path / "k", of_context)
    words = ["get", "-o", "json", *words, "--kubeconfig", str(kubeconfig)]
    ended = CliRunner().invoke(app, words)
    assert ended.exit_code == 0, ended.output
    assert {each["name"] for each in json.loads(ended.stdout)["jobs"]} == {seen}


def test_every_command_leaves_the_namespace_to_the_context() -> None:
    """A default of `default` in one of them would look elsewhere than the others."""
    found = {}
    for name, lazy in COMMANDS.items():
        if name in OF_ITS_OWN:
            continue
        command = LazyCommand(name, lazy).imported()
        for each in command.params:
            if each.name == "namespace":
                found[name] = each.default
    assert set(found) > {"get", "submit", "scale", "delete", "why", "logs", "events", "tap", "plan"}
    assert set(found.values()) == {""}, found


def test_an_empty_namespace_on_the_command_line_is_refused(tmp_path: Path) -> None:
    """An unset variable of a shell must not delete a job of another namespace."""
    words = ["delete", "j", "-n", "", "--kubeconfig", str(written(tmp_path / "k", "other"))]
    ended = CliRunner().invoke(app, words)
    assert ended.exit_code == 2
    assert "cannot be a namespace" in ended.stderr


def test_a_namespace_of_a_context_that_cannot_be_one_is_named(tmp_path: Path) -> None:
    kubeconfig = find_kubeconfig(written(tmp_path / "k", "Of_Mine"))
    with pytest.raises(Misused, match=r"contexts\[x\].context.namespace cannot be a namespace"):
        namespace_of(kubeconfig)


def test_several_files_of_the_environment_are_one_kubeconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first that exists was read alone."""
    first = tmp_path / "first"
    first.write_text("current-context: x\n")
    second = written(tmp_path / "second", "other")
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'gone'}:{first}::{second}")
    found = find_kubeconfig(None)
    assert namespace_of(found) == "other"
    assert str(found) == f"{first}:{second}"
    with pytest.raises(NoKubeconfig, match="gone"):
        find_kubeconfig(tmp_path / "gone")


def test_a_pod_without_a_kubeconfig_has_its_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "gone"))
    with pytest.raises(NoKubeconfig, match="there is no kubeconfig at"):
        find_kubeconfig(None)
    assert namespace_in("", None) == "default"
    monkeypatch.setattr(kubeconfigs, "runs_in_pod", lambda: True)
    monkeypatch.setattr(kubeconfigs, "namespace_of_pod", lambda: "mine")
    assert find_kubeconfig(None) == Kubeconfig()
    assert namespace_of(find_kubeconfig(None)) == namespace_in("", None) == "mine"
    monkeypatch.setenv("KUBECONFIG", str(written(tmp_path / "k", "other")))
    assert namespace_in("", None) == "other"


def refusing(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """From now on the API server refuses each request."""

    class Refusing:
        async def request(self, *_: Any, **__: Any) -> Response:
            status = f'{{"kind": "Status", "message": "no", "code": {code}}}'
            return Response(code, status.encode(), {})

    @asynccontextmanager
    async def transport(*_: Any, **__: Any) -> AsyncIterator[Refusing]:
        yield Refusing()

    monkeypatch.setattr(connecting, "aclosing_transport", transport)


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (401, "does not accept the credentials of context x of .*: no. Log in again"),
        (404, "the cluster does not know Jobs of millrace: no"),
        (407, "does not answer: status 407: no. Is it running"),
    ],
)
async def test_what_an_api_server_refuses_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, sentence: str
) -> None:
    """With expired credentials, too, the cluster did "not know Jobs of millrace"."""
    refusing(monkeypatch, code)
    with pytest.raises(CannotReach, match=sentence):
        async with connected(written(tmp_path / "k", None)):
            pass


def test_a_right_that_is_lacking_is_a_refusal_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing(monkeypatch, 403)
    ended = CliRunner().invoke(app, ["get", "--kubeconfig", str(written(tmp_path / "k", None))])
    assert (ended.exit_code, ended.stderr) == (1, "millrace: the API server refuses it: no\n")
