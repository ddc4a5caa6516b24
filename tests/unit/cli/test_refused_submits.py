"""A submit that is refused leaves nothing: no Job, no bundle and no claim that it made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli import connecting
from cli.connecting import CLAIMS, JOBS, Cluster, connected
from cli.failing import CannotReach, Failure, Misused
from cli.kubeconfigs import UpInfo
from cli.submitting import Submission, put_bundle, submit
from contracts.bundle_format import pack
from services.chassis.process.errors import Away, NotAllowed, NotFound, Transient
from tests.sandboxed import SandboxTransport, new_cluster
from tests.unit.planner.adl_writing import Adl

BUNDLE = pack(Adl().chain("a", "b").text().encode())
OTHER = pack(Adl(name="demo::Other").chain("a", "b").text().encode())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The bundle root, with the bundle of another job."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "other.sab").write_bytes(OTHER)
    return root


@pytest.fixture
async def cluster(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Cluster]:
    """A cluster of `up`, in this process."""
    sandbox = new_cluster(now=lambda: 1_800_000_000.0, nodes=1)

    @asynccontextmanager
    async def transport(*_: Any) -> AsyncIterator[SandboxTransport]:
        yield SandboxTransport(sandbox)

    monkeypatch.setattr(connecting, "aclosing_transport", transport)
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump({"clusters": []}))
    async with connected(path) as found:
        yield replace(found, up=UpInfo(root, None, "here", 1))


def submission(tmp_path: Path, name: str = "a.sab", **options: Any) -> Submission:
    bundle = tmp_path / name
    bundle.write_bytes(BUNDLE)
    return Submission(bundle, name="j", store="state", **options)


async def is_there(cluster: Cluster, resource: Any, name: str) -> bool:
    try:
        await cluster.kube.get(resource, "default", name)
    except NotFound:
        return False
    return True


def bundles_in(root: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in root.iterdir()}


async def assert_nothing_is_left(cluster: Cluster, root: Path) -> None:
    assert bundles_in(root) == {"other.sab": OTHER}
    assert not await is_there(cluster, JOBS, "j")
    assert not await is_there(cluster, CLAIMS, "state")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"widths": ("Nowhere=2",)}, "--width Nowhere"),
        ({"widths": ("Nowhere*=2",)}, r"--width Nowhere\*"),
        ({"params": ("nobody=2",)}, None),
        ({"fusion": "manual=0"}, "--fusion manual=0: say manual=N"),
        ({"spec": {"fusion": {"manual": 1, "legacy": True}}}, "the job was refused: "),
        ({"spec": {"transportCertificateValidityDays": "x"}}, "the job was refused: "),
    ],
)
async def test_what_the_plan_refuses_is_refused_before_anything_is_written(
    cluster: Cluster, root: Path, tmp_path: Path, options: dict[str, Any], sentence: str | None
) -> None:
    """A Job stayed that could only fail, and its name was taken."""
    if sentence is None:
        assert await submit(cluster, submission(tmp_path, **options), root) == "j"
        return
    with pytest.raises((Failure, Misused), match=sentence):
        await submit(cluster, submission(tmp_path, **options), root)
    await assert_nothing_is_left(cluster, root)
    assert await submit(cluster, submission(tmp_path), root) == "j"


def creating(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any]) -> None:
    """From now on `act` is called in place of the creation of a Job."""
    create = cluster.kube.create

    async def instead(resource: Any, namespace: str, body: Any) -> Any:
        if resource != JOBS:
            return await create(resource, namespace, body)
        found = act()
        return await found if isinstance(found, Awaitable) else found

    monkeypatch.setattr(cluster.kube, "create", instead)


def raising(problem: Exception) -> Callable[[], Any]:
    def act() -> Any:
        raise problem

    return act


FORBIDDEN = NotAllowed(403, "Forbidden", "exceeded quota", {})


@pytest.mark.parametrize("problem", [FORBIDDEN, Away("nobody listens")])
async def test_what_was_written_for_a_job_that_is_refused_is_removed(
    cluster: Cluster,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    problem: Exception,
) -> None:
    """The bundle and the claim stayed. A quota, an admission policy or a right refuses a Job."""
    creating(cluster, monkeypatch, raising(problem))
    with pytest.raises(Failure, match=r"exceeded quota|nobody listens"):
        await submit(cluster, submission(tmp_path), root)
    await assert_nothing_is_left(cluster, root)


async def test_a_bundle_that_was_replaced_for_a_job_that_is_refused_is_back(
    cluster: Cluster, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs that run it would have been retried with the new one."""
    creating(cluster, monkeypatch, raising(FORBIDDEN))
    with pytest.raises(Failure):
        await submit(cluster, submission(tmp_path, "other.sab"), root, force=True)
    await assert_nothing_is_left(cluster, root)


async def test_what_was_there_before_stays_where_a_job_is_refused(
    cluster: Cluster, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.sab").write_bytes(BUNDLE)
    assert await submit(cluster, replace(submission(tmp_path), name="first"), root) == "first"
    creating(cluster, monkeypatch, raising(FORBIDDEN))
    with pytest.raises(Failure):
        await submit(cluster, submission(tmp_path), root)
    assert (root / "a.sab").read_bytes() == BUNDLE
    assert await is_there(cluster, CLAIMS, "state")
    assert await is_there(cluster, JOBS, "first")
    with pytest.raises(Failure, match="a job first exists already"):
        await submit(cluster, replace(submission(tmp_path), name="first"), root)
    assert await is_there(cluster, JOBS, "first")


@pytest.mark.parametrize("has_job", [True, False])
async def test_what_another_submit_uses_by_now_stays_where_a_job_is_refused(
    cluster: Cluster,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    has_job: bool,
) -> None:
    """Two submits of one new bundle at once: the one that was refused took that of the other."""
    create = cluster.kube.create

    async def other() -> Any:
        with monkeypatch.context() as at_once:
            at_once.setattr(cluster.kube, "create", create)
            if has_job:
                await submit(cluster, replace(submission(tmp_path), name="k"), root)
            else:  # its Job is still to come
                put_bundle("a.sab", BUNDLE, root)
        raise FORBIDDEN

    creating(cluster, monkeypatch, other)
    with pytest.raises(Failure, match="exceeded quota"):
        await submit(cluster, submission(tmp_path), root)
    assert (root / "a.sab").read_bytes() == BUNDLE
    assert await is_there(cluster, CLAIMS, "state") == has_job


async def test_two_submits_of_one_name_at_once_leave_one_job_with_all_that_it_needs(
    cluster: Cluster, root: Path, tmp_path: Path
) -> None:
    found = await asyncio.gather(
        *(submit(cluster, submission(tmp_path), root) for _ in range(2)), return_exceptions=True
    )
    assert sorted(map(type, found), key=str) == [Failure, str]
    assert (root / "a.sab").read_bytes() == BUNDLE
    assert await is_there(cluster, CLAIMS, "state")


async def test_where_nobody_knows_whether_the_job_exists_its_bundle_stays(
    cluster: Cluster, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    creating(cluster, monkeypatch, raising(Transient("timed out")))
    with pytest.raises(CannotReach, match="it is not known whether job j was created: timed out"):
        await submit(cluster, submission(tmp_path), root)
    assert (root / "a.sab").exists()
    assert await is_there(cluster, CLAIMS, "state")


@pytest.mark.parametrize("is_refused", [True, False])
async def test_ctrl_c_while_a_job_is_created_leaves_all_of_it_or_nothing(
    cluster: Cluster,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    is_refused: bool,
) -> None:
    sent, answers = asyncio.Event(), asyncio.Event()

    async def answer() -> Any:
        sent.set()
        await answers.wait()
        if is_refused:
            raise FORBIDDEN
        return {"metadata": {"uid": "1"}}

    creating(cluster, monkeypatch, answer)
    submitting = asyncio.create_task(submit(cluster, submission(tmp_path), root))
    await sent.wait()
    submitting.cancel()
    asyncio.get_running_loop().call_soon(answers.set)
    with pytest.raises(Failure if is_refused else asyncio.CancelledError):
        await submitting
    if is_refused:
        await assert_nothing_is_left(cluster, root)
    else:
        assert (root / "a.sab").exists()
        assert "job j is submitted, and goes on without this command" in capsys.readouterr().err
