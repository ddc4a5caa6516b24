"""A resize on nodes without room for all of it: what ran goes on, and what does not is named."""

from __future__ import annotations

import pytest

from tests.e2e.applications import FIRST, SECOND, THIRD, submit_row, widths
from tests.e2e.nodes import own_nodes, wanted_by
from tests.e2e.resizing import until_widths
from tests.e2e.watching import TEST_S_MAX, Cluster, JobObjects

COVERS = (
    "services/fusion_backend/core/rooms.py",
    "services/fusion_backend/core/withholding.py",
    "services/pod_state_machine/core/awaiting.py",
    "placement/settling.py",
    "services/hostpool_manager/core/following.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
SEVEN = {FIRST: 1, SECOND: 3, THIRD: 1}
FOURTEEN = 14
ROOM = 12
"""Four nodes of 32 CPUs have room for three PEs of ten each."""


def _running(job: JobObjects) -> set[str]:
    """The PEs whose pod runs."""
    return {
        name
        for name, pods in job.pods_of_pes().items()
        if [pod["status"].get("phase") for pod in pods] == ["Running"]
    }


async def test_a_resize_takes_down_nothing_for_what_does_not_fit(cluster: Cluster) -> None:
    """Seven PEs of ten CPUs on 4 × 32, grown to fourteen: the seven run, and five new ones."""
    async with own_nodes(cluster.api, "full", 4), cluster.job("full") as job:
        template = {
            "podTemplate": wanted_by("full"),
            "resources": {"requests": {"cpu": "10"}},
        }
        await submit_row(
            cluster,
            job,
            {"legacy": True},
            processingElement=template,
            submissionTimeValues=widths(1, 3, 1),
        )
        await until_widths(job, 7, SEVEN)
        before = _running(job)
        await cluster.resize(job, SECOND, 10)

        def is_over() -> bool:
            return (
                job.phase == "Submitted"
                and job.width_in_force(SECOND) == 10
                and len(job.live_pods()) == FOURTEEN
                and len(_running(job)) == ROOM
            )

        await job.until("resized", is_over)
        assert before <= _running(job)
        lacking = {name.rpartition("-")[2] for name in job.of("pes").keys() - _running(job)}
        events = {each["reason"]: each for each in await cluster.events("full")}
        assert "Resized" not in events
        warning = events["SomeNotRunning"]
        assert warning["type"] == "Warning"
        (region,) = (each for each in job.of("regions").values() if each["spec"]["alias"] == SECOND)
        for pe in lacking:
            assert f"PE {pe} (" in warning["message"]
            assert f"PE {pe} (" in region["status"]["message"]
