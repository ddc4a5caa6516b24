"""The resources of a whole job after a resize: its pods have no more, and none restarts for it."""

from __future__ import annotations

import pytest

from sandbox.store.quantities import amount
from tests.e2e.applications import FIRST, SECOND, THIRD, submit_row, widths
from tests.e2e.resizing import until_widths
from tests.e2e.watching import TEST_S_MAX, Cluster, JobObjects

COVERS = (
    "services/fusion_backend/core/shares.py",
    "services/fusion_backend/core/spec/dividing.py",
    "services/fusion_backend/core/wording_shares.py",
    "services/pod_state_machine/core/resizing.py",
    "services/pod_state_machine/core/rounding.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
WHOLE = {"requests": {"cpu": "2", "memory": "2Gi"}, "limits": {"cpu": "4", "memory": "2Gi"}}


def _uids(job: JobObjects) -> dict[str, str]:
    return {name: pod["metadata"]["uid"] for name, (pod,) in job.pods_of_pes().items()}


def _excess(job: JobObjects) -> list[str]:
    """The fields in which the pods exceed the job; a byte for each is rounding."""
    containers = [pod["spec"]["containers"][0] for (pod,) in job.pods_of_pes().values()]
    found = []
    for part, amounts in WHOLE.items():
        for name, whole in amounts.items():
            has = sum(amount(each["resources"][part][name]) for each in containers)
            rounding = len(containers) if name == "memory" else 0
            if has > amount(whole) + rounding:
                found.append(f"{part}.{name}")
    return found


@pytest.mark.parametrize(("before", "after"), [(3, 6), (6, 3)])
async def test_after_a_resize_the_pods_have_no_more_than_the_job(
    cluster: Cluster, before: int, after: int
) -> None:
    """Pods of the regions that nobody resized take their share while they run."""
    async with cluster.job("shares") as job:
        row = widths(2, before, 1)
        await submit_row(cluster, job, {"legacy": True}, resources=WHOLE, submissionTimeValues=row)
        await until_widths(job, 5 + before, {FIRST: 2, SECOND: before, THIRD: 1})
        was = _uids(job)
        assert not _excess(job)
        await cluster.resize(job, SECOND, after)
        await until_widths(job, 5 + after, {FIRST: 2, SECOND: after, THIRD: 1})
        kept = {name for name, uid in _uids(job).items() if was.get(name) == uid}
        assert kept, "what the resize does not change goes on"
        assert not _excess(job)
        containers = [pod["spec"]["containers"][0] for (pod,) in job.pods_of_pes().values()]
        shares = {each["resources"]["limits"]["cpu"] for each in containers}
        assert len(shares) == 1, "equal shares"
        stated = {each["type"] for each in job.status["conditions"]}
        assert "WithinResources" not in stated, "nothing to report"
