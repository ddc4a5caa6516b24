"""Every child of a job says whose it is, and a deletion leaves none of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import quote

import pytest

from contracts import labels
from tests.e2e.applications import REGIONS, submit_row, widths
from tests.e2e.resizing import until_widths
from tests.e2e.watching import PATHS, TEST_S_MAX, Cluster, JobObjects, Obj

COVERS = (
    "services/fusion_backend/core/appearing.py",
    "services/fusion_backend/core/children.py",
    "contracts/labels.py",
    "contracts/names.py",
    "cli/children.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
DESCRIBED = {labels.APPLICATION_NAME, labels.APPLICATION_SCOPE}
THREE = (1, 2, 1)


@pytest.mark.scenario(9)
async def test_children_are_labelled_described_and_owned_and_go_with_their_job(
    cluster: Cluster,
) -> None:
    """The plan beside them; a PE owns its pod, the Job all else."""
    async with cluster.job("owner") as job:
        await submit_row(cluster, job, {"legacy": True}, submissionTimeValues=widths(*THREE))
        await until_widths(job, 6, dict(zip(REGIONS, THREE, strict=True)))
        for check in (_config_maps, _services, _pools_and_regions, _pes, _pods):
            check(job)
        uid = job.uid
        assert await _left_of(cluster, job.job, uid)
        await cluster.delete(job)
        assert await _left_of(cluster, job.job, uid) == []


def _config_maps(job: JobObjects) -> None:
    maps = dict(job.of("config_maps"))
    _is_child(job, maps.pop("owner"))
    plan = maps.pop("owner.plan.0")
    _is_child(job, plan, {labels.PLAN: "0"})
    specs = [job.of("pes")[f"owner-{number}"]["spec"] for number in range(6)]
    assert set(maps) == {spec["pack"]["name"] for spec in specs}
    for name, pack in maps.items():
        _is_child(job, pack)
        members = [spec for spec in specs if spec["pack"]["name"] == name]
        assert set(pack["data"]) == {spec["pack"]["key"] for spec in members}
        listed = [f"{spec['pack']['key']}={spec['contentId'][:10]}" for spec in members]
        assert pack["metadata"]["annotations"] == {labels.CONTENT_IDS: " ".join(listed)}
        assert pack["immutable"] is True


def _services(job: JobObjects) -> None:
    assert set(job.of("services")) == {"owner-pes"}
    service = job.of("services")["owner-pes"]
    _is_child(job, service, {labels.SERVICE_ROLE: labels.ROLE_PE})
    _is_described(service)


def _pools_and_regions(job: JobObjects) -> None:
    """One of each is `owner-0`: kinds have names of their own."""
    assert set(job.of("pools")) == {"owner-0"}
    assert set(job.of("regions")) == {f"owner-{number}" for number in range(3)}
    for each in (*job.of("pools").values(), *job.of("regions").values()):
        _is_child(job, each)
        _is_described(each)


def _pes(job: JobObjects) -> None:
    for number in range(6):
        pe = job.of("pes")[f"owner-{number}"]
        regions = {
            key: value
            for key, value in pe["metadata"]["labels"].items()
            if key.startswith(labels.REGION_PREFIX)
        }
        stands_for = {
            key: "true" for key in pe["metadata"]["labels"] if key.startswith(labels.CHANNEL_PREFIX)
        }
        of_pe = {**_of_pe(number), labels.CONSISTENT_REGION: "false"}
        _is_child(job, pe, of_pe | regions | stands_for)
        _is_described(pe)
        assert len(regions) == len(stands_for) == int(number >= 2)


def _pods(job: JobObjects) -> None:
    """The labels of the PE, those of its launch, and the PE as owner."""
    assert len(job.of("pods")) == 6
    for name, (pod,) in job.pods_of_pes().items():
        pe = job.of("pes")[name]
        meta = pod["metadata"]
        assert meta["name"].startswith(f"{name}-")
        assert pe["metadata"]["labels"].items() <= meta["labels"].items()
        assert meta["labels"][labels.LAUNCH_COUNT] == "1"
        assert meta["annotations"][labels.CONTENT_ID] == pe["spec"]["contentId"]
        _is_owned_by(pod, "ProcessingElement", pe["metadata"])


def _of_pe(number: int) -> Mapping[str, str]:
    return {labels.SERVICE_ROLE: labels.ROLE_PE, labels.PE: str(number)}


def _is_child(job: JobObjects, child: Obj, more: Mapping[str, str] | None = None) -> None:
    """Exactly these labels, and the Job as controller."""
    assert child["metadata"]["labels"] == {
        labels.APP: labels.APP_VALUE,
        labels.JOB: job.job,
        labels.JOB_UID: job.uid,
        labels.GENERATION: "0",
        **(more or {}),
    }
    _is_owned_by(child, "Job", {"name": job.job, "uid": job.uid})


def _is_described(child: Obj) -> None:
    annotations = child["metadata"]["annotations"]
    assert annotations.keys() >= DESCRIBED
    assert "::" in annotations[labels.APPLICATION_NAME]
    assert annotations[labels.APPLICATION_SCOPE] == "Default"


def _is_owned_by(child: Obj, kind: str, owner: Mapping[str, str]) -> None:
    (reference,) = child["metadata"]["ownerReferences"]
    assert reference["kind"] == kind
    assert (reference["name"], reference["uid"]) == (owner["name"], owner["uid"])
    assert reference["controller"] is reference["blockOwnerDeletion"] is True


async def _left_of(cluster: Cluster, job: str, uid: str) -> list[str]:
    """What still is of a job, by label of its name, of its uid, or by its owner."""
    selector = quote(f"{labels.JOB}={job}")
    listings = await asyncio.gather(
        *(cluster.api.call("GET", path) for path in PATHS.values()),
        *(cluster.api.call("GET", f"{path}?labelSelector={selector}") for path in PATHS.values()),
    )
    items = [item["metadata"] for listing in listings for item in listing["items"]]
    return sorted(
        {
            each["name"]
            for each in items
            if each.get("labels", {}).get(labels.JOB) == job
            or each.get("labels", {}).get(labels.JOB_UID) == uid
            or any(owner["uid"] == uid for owner in each.get("ownerReferences", ()))
        }
    )
