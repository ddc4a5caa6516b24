"""`millrace submit` stores a valid bundle and a complete Job, or refuses with a message."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, MagicMock, create_autospec

import pytest
import yaml
from typer.testing import CliRunner

from cli import connecting, job_commands, jobs
from cli.commands import app
from cli.connecting import CLAIMS, JOBS, Cluster, connected
from cli.failing import Failure, Misused
from cli.following import following
from cli.kubeconfigs import UpInfo
from cli.live import view_of
from cli.submitting import Submission, bundle_root, put_bundle, submit
from contracts.bundle_format import pack
from services.chassis.kube.port import KubeClient
from services.chassis.process.errors import NotFound
from tests.sandboxed import SandboxTransport, new_cluster
from tests.unit.planner.adl_writing import Adl

BUNDLE = pack(Adl().chain("a", "b").text().encode())


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a sandbox in this process."""
    cluster = new_cluster(now=lambda: 1_800_000_000.0, nodes=1)

    @asynccontextmanager
    async def transport(_: Path) -> AsyncIterator[SandboxTransport]:
        yield SandboxTransport(cluster)

    monkeypatch.setattr(connecting, "aclosing_transport", transport)
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump({"clusters": []}))
    return path


def submission(tmp_path: Path, **pod: Any) -> Submission:
    bundle = tmp_path / "a.sab"
    bundle.write_bytes(BUNDLE)
    return Submission(bundle, spec={"processingElement": {"podTemplate": {"spec": pod}}})


async def test_a_field_that_the_server_would_drop_is_refused_with_its_name(
    kubeconfig: Path, tmp_path: Path
) -> None:
    """Else the job would run without it, and only a warning that is not shown would report it."""
    async with connected(kubeconfig) as cluster:
        field = r"spec\.processingElement\.podTemplate\.spec\.nodeSelectr"
        with pytest.raises(Failure, match=f"the job was refused: SpecInvalid: {field}: a PodSpec"):
            await submit(cluster, submission(tmp_path, nodeSelectr={"disk": "ssd"}), tmp_path)
        name = await submit(cluster, submission(tmp_path, nodeSelector={"disk": "ssd"}), tmp_path)
        stored = await cluster.kube.get(JOBS, "default", name)
    pod = stored["spec"]["processingElement"]["podTemplate"]["spec"]
    assert pod == {"nodeSelector": {"disk": "ssd"}}


PYTHON_BUNDLE = pack(
    Adl().chain("a", "b").text().replace('kind="my::Op"', 'kind="millrace::Map"').encode()
)


@pytest.mark.parametrize(
    ("content", "pod_template", "image"),
    [
        (PYTHON_BUNDLE, {}, "here/millrace/runtime:2"),
        (PYTHON_BUNDLE, {"image": "mine:1"}, "mine:1"),
        (BUNDLE, {}, None),
    ],
    ids=["in Python", "with an image of its own", "not in Python"],
)
async def test_the_image_of_the_runtime_is_for_applications_in_python_without_an_image(
    kubeconfig: Path,
    tmp_path: Path,
    root: Path,
    content: bytes,
    pod_template: dict[str, Any],
    image: str | None,
) -> None:
    bundle = tmp_path / "p.sab"
    bundle.write_bytes(content)
    spec = {"processingElement": pod_template}
    wanted = Submission(bundle, spec=spec, runtime_image="here/millrace/runtime:2")
    async with connected(kubeconfig) as cluster:
        name = await submit(cluster, wanted, root)
        stored = await cluster.kube.get(JOBS, "default", name)
    assert stored["spec"]["processingElement"].get("image") == image


CLAIM = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}


@pytest.mark.parametrize("is_there", [True, False], ids=["there", "missing"])
async def test_in_a_cluster_of_up_a_job_keeps_its_state_in_a_claim_that_may_be_missing(
    kubeconfig: Path, tmp_path: Path, root: Path, *, is_there: bool
) -> None:
    wanted = replace(submission(tmp_path, nodeSelector={"disk": "ssd"}), store="state")
    async with connected(kubeconfig) as cluster:
        cluster = replace(cluster, up=UpInfo(root, None, "here", 1))
        if is_there:
            await create_claim(cluster, {**CLAIM, "volumeName": "mine"})
        name = await submit(cluster, wanted, root)
        stored = await cluster.kube.get(JOBS, "default", name)
        claim = await cluster.kube.get(CLAIMS, "default", "state")
    template = stored["spec"]["processingElement"]
    assert template["checkpointRepository"] == {"fileSystem": {"volumeClaim": {"name": "state"}}}
    assert template["podTemplate"] == {"spec": {"nodeSelector": {"disk": "ssd"}}}
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    assert claim["spec"].get("volumeName") == ("mine" if is_there else None)


async def test_on_another_cluster_a_claim_that_is_missing_is_refused(
    kubeconfig: Path, tmp_path: Path, root: Path
) -> None:
    wanted = replace(submission(tmp_path), store="state")
    async with connected(kubeconfig) as cluster:
        with pytest.raises(Failure, match="there is no PersistentVolumeClaim state in namespace"):
            await submit(cluster, wanted, root)
        with pytest.raises(NotFound):
            await cluster.kube.get(JOBS, "default", "a")
    assert not files_of(root)


async def test_a_claim_that_not_every_node_can_mount_is_reported(
    kubeconfig: Path, tmp_path: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = replace(submission(tmp_path), store="state")
    async with connected(kubeconfig) as cluster:
        await create_claim(cluster, {**CLAIM, "accessModes": ["ReadWriteOnce"]})
        assert await submit(cluster, wanted, root) == "a"
    assert "the volume claim state has accessModes ReadWriteOnce: PEs on" in capsys.readouterr().err


async def create_claim(cluster: Cluster, spec: dict[str, Any]) -> None:
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "state"}}
    await cluster.kube.create(CLAIMS, "default", {**claim, "spec": spec})


def files_of(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The bundle root."""
    root = tmp_path / "root"
    root.mkdir()
    return root


async def test_a_bundle_that_is_not_valid_is_neither_stored_nor_submitted(
    kubeconfig: Path, tmp_path: Path, root: Path
) -> None:
    """It was copied, and a Job was made that could only fail."""
    bundle = tmp_path / "bad.sab"
    bundle.write_bytes(BUNDLE[:-40])
    async with connected(kubeconfig) as cluster:
        with pytest.raises(Failure, match=r"bad\.sab cannot be submitted: ") as caught:
            await submit(cluster, Submission(bundle, name="j"), root)
        with pytest.raises(NotFound):
            await cluster.kube.get(JOBS, "default", "j")
    assert (caught.value.exit_code, files_of(root)) == (1, {})


async def test_the_bundle_of_a_job_whose_name_is_taken_is_not_stored(
    kubeconfig: Path, tmp_path: Path, root: Path
) -> None:
    """The existing job would run it after a retry."""
    async with connected(kubeconfig) as cluster:
        await submit(cluster, submission(tmp_path), root)
        other = tmp_path / "elsewhere" / "a.sab"
        other.parent.mkdir()
        other.write_bytes(pack(Adl(name="demo::Other").chain("a", "b").text().encode()))
        with pytest.raises(Failure, match="a job a exists already"):
            await submit(cluster, Submission(other), root, force=True)
    assert files_of(root) == {"a.sab": BUNDLE}


def test_another_bundle_of_the_same_name_is_replaced_on_request_only(root: Path) -> None:
    put_bundle("a.sab", b"one", root)
    put_bundle("a.sab", b"one", root)
    with pytest.raises(Failure, match=f"another bundle a.sab is in {root}: .*--force"):
        put_bundle("a.sab", b"two", root)
    assert files_of(root) == {"a.sab": b"one"}
    put_bundle("a.sab", b"two", root, force=True)
    assert files_of(root) == {"a.sab": b"two"}


def test_a_bundle_root_that_the_cluster_does_not_read_is_refused(
    tmp_path: Path, root: Path
) -> None:
    """It was created, and an old bundle of that name ran, from the bundle root that is read."""
    up = UpInfo(root, tmp_path, "host", 1)
    cluster = Cluster(create_autospec(KubeClient), tmp_path / "k", up)
    foreign = Cluster(cluster.kube, tmp_path / "k", None)
    (tmp_path / "link").symlink_to(root)
    for good in (None, root, tmp_path / "link"):
        assert bundle_root(cluster, good) == root
    assert bundle_root(foreign, root) == root
    with pytest.raises(Misused, match=f"--bundles .*typo is not the bundle root .* is {root}"):
        bundle_root(cluster, tmp_path / "typo")
    with pytest.raises(Misused, match=r"the bundle root .*typo is not a folder"):
        bundle_root(foreign, tmp_path / "typo")
    with pytest.raises(Misused, match="Say --bundles DIR"):
        bundle_root(foreign, None)
    assert not (tmp_path / "typo").exists()


def test_warnings_of_the_plan_are_lines_of_submit(
    kubeconfig: Path, tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That state is not kept, and what has no effect, such as a misspelt value."""
    lines = ["WithoutEffect: value x is ignored", "StateNotKept: that of b is lost"]
    job = {"metadata": {"name": "a"}, "spec": {}, "status": {}}
    monkeypatch.setattr(job_commands, "following", MagicMock())
    monkeypatch.setattr(jobs, "wait_running", AsyncMock(return_value=view_of(job, [], [], [])))
    monkeypatch.setattr(job_commands, "warnings_of", AsyncMock(return_value=lines))
    words = ["submit", str(submission(tmp_path).bundle), "--bundles", str(root)]
    ended = CliRunner().invoke(app, [*words, "--kubeconfig", str(kubeconfig)])
    assert ended.exit_code == 0, ended.output
    assert ended.stderr.splitlines() == lines


@pytest.mark.parametrize("claim", ["", "Of_Mine", "a/b", ".a", "x" * 254])
def test_what_cannot_be_a_volume_claim_is_refused(
    kubeconfig: Path, tmp_path: Path, claim: str
) -> None:
    """An empty one, too: an unset variable of a shell would give the job no store."""
    words = ["submit", str(submission(tmp_path).bundle), "--store", claim]
    ended = CliRunner().invoke(app, [*words, "--kubeconfig", str(kubeconfig)])
    assert ended.exit_code == 2
    assert "cannot be a volume claim" in " ".join(ended.stderr.split())


def test_ctrl_c_ends_the_command_and_says_that_the_job_goes_on(
    kubeconfig: Path, tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted = create_autospec(following)
    interrupted.side_effect = asyncio.CancelledError
    monkeypatch.setattr(job_commands, "following", interrupted)
    words = ["submit", str(submission(tmp_path).bundle), "--bundles", str(root)]
    ended = CliRunner().invoke(app, [*words, "--kubeconfig", str(kubeconfig)])
    assert ended.exit_code == 143
    assert "job a is submitted, and goes on without this command: `millrace get a`" in ended.stderr
