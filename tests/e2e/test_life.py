"""A job's life: it is narrowed, loses a pod, and is deleted, and nothing else is touched."""

from __future__ import annotations

import pytest

from contracts import labels
from loadtest.api import CORE, MERGE, STREAMS, Refused
from tests.e2e.examples import (
    NO_NEIGHBOURS,
    OUTSIDE,
    REGION,
    RESTARTED,
    submit_example,
    until_width,
    with_example,
)
from tests.e2e.placing import condition_of_job
from tests.e2e.resizing import Resized, moment_of, of_pe, resized
from tests.e2e.watching import PATHS, TEST_S_MAX, Cluster, JobObjects, Obj, Versions

COVERS = (
    "services/fusion_backend/core/membership.py",
    "services/pod_state_machine/adapters/gone_pods.py",
    "services/launching/core/restarting.py",
    "services/launching/core/pod_rules.py",
    "planner/numbering/identity.py",
    "services/fusion_backend/core/clean_up_rules.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]


def launches(job: JobObjects) -> dict[str, int]:
    """The launch number of each PE's pod."""
    return {
        name: int(pods[0]["metadata"]["labels"][labels.LAUNCH_COUNT])
        for name, pods in job.pods_of_pes().items()
        if pods
    }


async def test_a_narrower_region_loses_its_last_channels_and_nothing_else(
    cluster: Cluster,
) -> None:
    """Width 5 to 2: the newest PEs go with all they have; two others are not even written to."""
    async with cluster.job("narrowed") as job:
        await with_example(cluster, job, 5)
        before = moment_of(job)
        await cluster.resize(job, REGION, 2)
        await until_width(job, 2)
        assert resized(job, before) == Resized({1, 2, 3, 5}, {*NO_NEIGHBOURS}, set(), {6, 7, 8})


async def test_a_region_that_widens_again_gives_no_id_twice(cluster: Cluster) -> None:
    """Width 3 to 2 to 3: the channel that comes back is another PE than the one that left."""
    async with cluster.job("again") as job:
        await with_example(cluster, job, 3)
        await cluster.resize(job, REGION, 2)
        await until_width(job, 2)
        await cluster.resize(job, REGION, 3)
        await until_width(job, 3)
        numbers = {int(name.removeprefix("again-")) for name in job.of("pes")}
        assert numbers == {*range(2 + OUTSIDE), 3 + OUTSIDE}


async def test_a_pod_deleted_by_hand_is_launched_again_and_no_other(cluster: Cluster) -> None:
    """Its PE's launch count is two; everything else of the job keeps its version."""
    async with cluster.job("robbed") as job:
        await with_example(cluster, job, 3, processingElement=RESTARTED)
        before = job.versions()
        robbed = "robbed-3"
        (old,) = job.pods_of_pes()[robbed]
        await cluster.api.call("DELETE", f"{CORE}/pods/{old['metadata']['name']}")
        await job.until(
            "a second launch", lambda: launches(job).get(robbed) == 2 and job.is_settled()
        )
        (new,) = job.pods_of_pes()[robbed]
        pe: Obj = job.of("pes")[robbed]
        assert new["metadata"]["name"] != old["metadata"]["name"]
        assert pe["status"]["launchCount"] == 2
        assert sum(launches(job).values()) == len(job.of("pes")) + 1
        assert without_health(job, job.versions(), robbed) == without_health(job, before, robbed)


async def test_a_pod_deleted_by_hand_stays_away_until_somebody_asks_for_the_next_launch(
    cluster: Cluster,
) -> None:
    """So it is where the job does not say that deleted pods are launched again."""
    async with cluster.job("let-go") as job:
        await with_example(cluster, job, 2)
        (old,) = job.pods_of_pes()["let-go-2"]
        await cluster.api.call("DELETE", f"{CORE}/pods/{old['metadata']['name']}")
        await job.until(
            "stopped", lambda: job.of("pes")["let-go-2"]["status"]["phase"] == "Stopped"
        )
        assert "let-go-2" not in launches(job)
        path = f"{PATHS['pes']}/let-go-2"
        await cluster.api.call("PATCH", path, {"spec": {"launchCount": 2}}, MERGE)
        await until_width(job, 2)
        assert launches(job) == {name: 1 + (name == "let-go-2") for name in job.of("pes")}


async def test_a_deleted_pe_that_is_not_restartable_stays_away_until_it_is_restored(
    cluster: Cluster,
) -> None:
    async with cluster.job("bereft") as job:
        await with_example(cluster, job, 2, processingElement={"restartFailedPod": False})
        path = f"{PATHS['pes']}/bereft-2"
        await cluster.api.call("DELETE", path)
        await job.until(
            "recorded",
            lambda: (
                job.status.get("deletedProcessingElements") == [2]
                and not job.of("pes").get("bereft-2")
            ),
        )
        # Its pod runs until the garbage collector deletes it.
        await job.until(
            "reported", lambda: condition_of_job(job, "Healthy").get("reason") == "PeDeleted"
        )
        assert condition_of_job(job, "Healthy")["status"] == "False"
        pes = job.status["processingElements"]
        run = f"{pes - 1} of {pes} PEs run"
        await job.until("counted", lambda: job.status["message"].startswith(run))
        assert job.phase == "Submitted"
        patch = {"metadata": {"annotations": {labels.RETRY: "1"}}}
        await cluster.api.call("PATCH", f"{STREAMS}/streamsjobs/{job.job}", patch, MERGE)
        await job.until("restored", job.is_settled)
        assert "deletedProcessingElements" not in job.status


def without_health(job: JobObjects, versions: Versions, robbed: str) -> Versions:
    """All versions but those of the PE, its pods, and of the Job, which says how healthy it is."""
    mine = of_pe({k: v for k, v in versions.items() if k[0] in ("pes", "pods")}, robbed)
    return {k: v for k, v in versions.items() if k not in mine and k != ("jobs", job.job)}


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
async def test_a_deleted_job_leaves_nothing_and_the_one_beside_it_is_not_touched(
    cluster: Cluster, propagation: str
) -> None:
    """Objects of its own and of its PEs go, whichever way the deletion goes down."""
    name = f"deleted-{propagation.lower()}"
    async with cluster.job(f"beside-{name}") as beside, cluster.job(name) as job:
        await with_example(cluster, beside, 2)
        await with_example(cluster, job, 3)
        before = beside.versions()
        options = {"propagationPolicy": propagation}
        await cluster.api.call("DELETE", job.path, options)
        await job.until("nothing left", lambda: not job.versions())
        with pytest.raises(Refused, match="404"):
            await cluster.api.call("GET", job.path)
        assert beside.versions() == before


async def test_a_job_deleted_while_it_is_submitted_leaves_nothing(cluster: Cluster) -> None:
    """And a new one of its name begins from nothing."""
    async with cluster.job("hasty") as job:
        await submit_example(cluster, job, 8)
        await job.until("some children", lambda: len(job.of("config_maps")) > 2)
        await cluster.delete(job)
        await with_example(cluster, job, 1)
        assert set(launches(job).values()) == {1}
        assert job.status["generation"] == 0
