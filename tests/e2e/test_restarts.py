"""Pods end, are taken away or are requested again, and each PE does as its policies say.

The whole matrix, the order of facts and lost nodes are simulated (`tests/simulation`); here is what
somebody at the API server sees of it.
"""

from __future__ import annotations

import pytest

from contracts import labels
from loadtest.api import CORE, MERGE
from services.roster import NAMES
from tests.e2e.examples import REGION, submit_example, with_example
from tests.e2e.watching import PATHS, TEST_S_MAX, Cluster, JobObjects, Obj

COVERS = (
    "services/launching/core/restarting.py",
    "services/launching/core/conditions.py",
    "services/launching/core/recording.py",
    "services/launching/core/pod_rules.py",
    "services/launching/core/pods.py",
    "cli/restarting.py",
    "services/chassis/kube/refusing.py",
    "contracts/reasons.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
WIDTH = 1


async def with_pes(cluster: Cluster, job: JobObjects, **template: object) -> str:
    """The example runs with these options of its PEs; the name of one of them."""
    await with_example(cluster, job, WIDTH, processingElement=template)
    return f"{job.job}-1"


def status_of(job: JobObjects, pe: str) -> Obj:
    return job.of("pes").get(pe, {}).get("status") or {}


def condition_of(job: JobObjects, pe: str, type_: str) -> Obj:
    conditions = status_of(job, pe).get("conditions", ())
    return next((each for each in conditions if each["type"] == type_), {})


def pods_of(job: JobObjects, pe: str) -> dict[int, Obj]:
    """Every pod of a PE by its launch."""
    return {
        int(pod["metadata"]["labels"][labels.LAUNCH_COUNT]): pod
        for pod in job.of("pods").values()
        if pod["metadata"]["ownerReferences"][0]["name"] == pe
    }


async def until_runs(job: JobObjects, pe: str, launch: int) -> None:
    """Until the PE runs as this launch, and no other pod of it runs."""

    def runs() -> bool:
        pods, status = pods_of(job, pe), status_of(job, pe)
        running = [n for n, pod in pods.items() if pod["status"].get("phase") == "Running"]
        return running == [launch] and (status["phase"], status["launchCount"]) == (
            "Running",
            launch,
        )

    await job.until(f"launch {launch} of {pe}", runs)


async def end(cluster: Cluster, pod: Obj, phase: str) -> None:
    """Say of a pod that it has ended, as its kubelet would."""
    path = f"{CORE}/pods/{pod['metadata']['name']}/status"
    await cluster.api.call("PATCH", path, {"status": {"phase": phase}}, MERGE)


async def delete_pod(cluster: Cluster, pod: Obj) -> None:
    await cluster.api.call("DELETE", f"{CORE}/pods/{pod['metadata']['name']}")


async def edit_pe(cluster: Cluster, pe: str, patch: Obj) -> None:
    await cluster.api.call("PATCH", f"{PATHS['pes']}/{pe}", patch, MERGE)


@pytest.mark.scenario(13)
@pytest.mark.parametrize(("flag", "restarts"), [(True, True), (None, True), (False, False)])
async def test_a_failed_pod_is_restarted_by_its_flag_or_the_application_s(
    cluster: Cluster, flag: bool | None, restarts: bool
) -> None:
    """Every operator of the example is restartable, so null restarts."""
    async with cluster.job(f"fails-{str(flag).lower()}") as job:
        pe = await with_pes(cluster, job, restartFailedPod=flag)
        await end(cluster, pods_of(job, pe)[1], "Failed")
        if restarts:
            await until_runs(job, pe, 2)
            assert condition_of(job, pe, "BackingOff")["reason"] == "PodFailed"
        else:
            await job.until("failed", lambda: status_of(job, pe)["phase"] == "Failed")
            assert status_of(job, pe)["reason"] == "PodFailed"
            await delete_pod(cluster, pods_of(job, pe)[1])
            await job.until("gone", lambda: not pods_of(job, pe))
            await cluster.resize(job, REGION, WIDTH + 1)
            await job.until("resized", lambda: job.width_in_force(REGION) == WIDTH + 1)
            assert status_of(job, pe)["launchCount"] <= 2


@pytest.mark.scenario(14)
async def test_a_failed_pod_is_kept_beside_the_new_one_out_of_every_selector(
    cluster: Cluster,
) -> None:
    """It stays for its logs, as `svc=zombie`; of two the newer one, where one is kept."""
    async with cluster.job("keeps") as job:
        pe = await with_pes(cluster, job, deleteFailedPod=False, failedPodHistoryLimit=1)
        for launch in (1, 2):
            await end(cluster, pods_of(job, pe)[launch], "Failed")
            await until_runs(job, pe, launch + 1)
        await job.until("one kept", lambda: _roles(job, pe) == {2: "zombie", 3: "pe"})
        assert pods_of(job, pe)[2]["status"]["phase"] == "Failed"
        assert job.phase == "Submitted"


def _roles(job: JobObjects, pe: str) -> dict[int, str]:
    return {n: pod["metadata"]["labels"]["svc"] for n, pod in pods_of(job, pe).items()}


@pytest.mark.scenario(15)
@pytest.mark.parametrize("restarts", [True, False])
async def test_a_completed_pod_is_restarted_by_its_flag(cluster: Cluster, restarts: bool) -> None:
    async with cluster.job(f"completes-{str(restarts).lower()}") as job:
        pe = await with_pes(cluster, job, restartCompletedPod=restarts, restartFailedPod=False)
        await end(cluster, pods_of(job, pe)[1], "Succeeded")
        if restarts:
            await until_runs(job, pe, 2)
        else:
            await job.until("over", lambda: status_of(job, pe)["phase"] == "Completed")


@pytest.mark.scenario(15)
async def test_a_failed_pod_that_is_then_deleted_is_restarted_once(cluster: Cluster) -> None:
    """Both ends are of one launch, and both flags are set."""
    async with cluster.job("once") as job:
        pe = await with_pes(cluster, job, restartFailedPod=True, restartDeletedPod=True)
        await end(cluster, pods_of(job, pe)[1], "Failed")
        await until_runs(job, pe, 2)
        await delete_pod(cluster, pods_of(job, pe)[2])
        await until_runs(job, pe, 3)
        await edit_pe(cluster, f"{job.job}-2", {"spec": {"launchCount": 2}})
        await until_runs(job, f"{job.job}-2", 2)
        assert status_of(job, pe)["launchCount"] == 3


async def test_an_evicted_pod_is_restarted_with_every_flag_at_its_default(
    cluster: Cluster,
) -> None:
    """A drain of its node must not end a job; a deletion by hand stops the PE."""
    async with cluster.job("drained") as job:
        pe = await with_pes(cluster, job)
        name = pods_of(job, pe)[1]["metadata"]["name"]
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": "default"},
        }
        await cluster.api.call("POST", f"{CORE}/pods/{name}/eviction", eviction)
        await until_runs(job, pe, 2)
        assert condition_of(job, pe, "BackingOff")["reason"] == "Disrupted"
        await delete_pod(cluster, pods_of(job, pe)[2])
        await job.until("stopped", lambda: status_of(job, pe)["phase"] == "Stopped")
        status = status_of(job, pe)
        assert status["reason"] == "PodDeleted"
        assert "No restart follows, since spec.restartDeletedPod is false" in status["message"]
        found = await cluster.api.call("GET", f"{CORE}/events")
        about = [each for each in found["items"] if each["involvedObject"]["name"] == pe]
        events = {each["reason"]: each["message"] for each in about}
        assert events["PodDeleted"] == status["message"]


@pytest.mark.scenario(15)
async def test_a_failed_pod_that_nothing_restarts_is_launched_again_when_it_is_deleted(
    cluster: Cluster,
) -> None:
    """restartDeletedPod is the fall-through where the other two flags are false."""
    async with cluster.job("fall-through") as job:
        flags = {"restartFailedPod": False, "restartDeletedPod": True}
        pe = await with_pes(cluster, job, **flags)
        await end(cluster, pods_of(job, pe)[1], "Failed")
        await job.until("over", lambda: status_of(job, pe)["phase"] == "Failed")
        await delete_pod(cluster, pods_of(job, pe)[1])
        await until_runs(job, pe, 2)


@pytest.mark.scenario(17)
async def test_a_raised_launch_count_and_a_new_annotation_launch_one_pod_each(
    cluster: Cluster,
) -> None:
    """Raised to 7 the next launch is number 7; the annotation asks for one more, once."""
    async with cluster.job("raised") as job:
        pe = await with_pes(cluster, job, restartDeletedPod=True)
        await edit_pe(cluster, pe, {"spec": {"launchCount": 7}})
        await until_runs(job, pe, 7)
        await job.until("one pod", lambda: set(pods_of(job, pe)) == {7})
        await edit_pe(cluster, pe, {"metadata": {"annotations": {labels.RESTART: "now"}}})
        await until_runs(job, pe, 8)
        await job.until("one pod", lambda: set(pods_of(job, pe)) == {8})
        assert status_of(job, pe)["observedRestart"] == "now"
        others = [each for each in job.of("pes") if each != pe]
        assert all(status_of(job, each)["launchCount"] == 1 for each in others)


@pytest.mark.scenario(27)
@pytest.mark.parametrize("during", [True, False], ids=["while they are away", "afterwards"])
async def test_a_pod_that_dies_around_a_restart_of_every_service_is_launched_again(
    cluster: Cluster, during: bool
) -> None:
    """The original forgot its jobs when its operator was started again."""
    async with cluster.job(f"outlives-{str(during).lower()}") as job:
        pe = await with_pes(cluster, job)
        async with cluster.stopped(*NAMES):
            if during:
                await end(cluster, pods_of(job, pe)[1], "Failed")
        if not during:
            await end(cluster, pods_of(job, pe)[1], "Failed")
        await until_runs(job, pe, 2)
        await job.until("one pod", lambda: set(pods_of(job, pe)) == {2})


@pytest.mark.scenario(28)
async def test_a_job_whose_pods_are_refused_says_so_and_delays_no_other(cluster: Cluster) -> None:
    """Its pods ask for more than their limit (422); the job beside it starts and restarts."""
    too_much = {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}
    async with cluster.job("refused") as refused, cluster.job("beside-refused") as beside:
        template = {"processingElement": {"resources": too_much}}
        await submit_example(cluster, refused, WIDTH, **template)
        await refused.until(
            "the refusal in every status",
            lambda: (
                bool(refused.of("pes"))
                and all(
                    status_of(refused, pe).get("reason") == "PodRefused" for pe in refused.of("pes")
                )
            ),
        )
        told = condition_of(refused, "refused-1", "PodBlocked")
        assert (told["status"], told["reason"]) == ("True", "PodRefused")
        assert "cpu" in told["message"]
        pe = await with_pes(cluster, beside)
        await end(cluster, pods_of(beside, pe)[1], "Failed")
        await until_runs(beside, pe, 2)
        assert not refused.of("pods")


async def test_the_id_of_a_pe_cannot_be_edited_nor_its_launch_count_lowered(
    cluster: Cluster,
) -> None:
    """The id names its pods; a launch that was counted has been."""
    async with cluster.job("fixed") as job:
        pe = await with_pes(cluster, job)
        for path, patch in (
            (pe, {"spec": {"id": 9}}),
            (f"{pe}/status", {"status": {"launchCount": 0}}),
            (f"{pe}/status", {"status": {"launchCount": None}}),
        ):
            with pytest.raises(Exception, match="422"):
                await edit_pe(cluster, path, patch)
