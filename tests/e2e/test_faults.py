"""Services die before and after the steps of a submission; it ends as if nobody had died."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import pytest

from contracts import labels
from tests.e2e.applications import ENDS, REGIONS, submit_row, widths
from tests.e2e.following import every_launch
from tests.e2e.hosted import Hosted
from tests.e2e.killing import kill, start_again
from tests.e2e.placing import Ground, Traits, ground, members_of, pool_of, until_marked
from tests.e2e.resizing import until_widths
from tests.e2e.watching import PATHS, TEST_S_MAX, Cluster, JobObjects, Obj

COVERS = (
    "services/fusion_backend/core/generation_rules.py",
    "services/fusion_backend/core/child_rules.py",
    "services/fusion_backend/core/children.py",
    "services/fusion_backend/core/recording.py",
    "services/chassis/running/carrying_out.py",
    "services/chassis/running/reconciling.py",
    "services/chassis/table/restoring.py",
    "services/fusion_backend/core/placement_requests.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
THREE = (3, 4, 5)
PES = sum(THREE) + ENDS
DIGEST = re.compile(r"-[0-9a-f]{10}$|(?<=\.pack)\.[0-9a-f]{16}$")
"""Of the uid of a PE in the name of a pod, of AADLs in that of a pack: the job is in both."""
OF_THE_JOB = (labels.JOB, labels.JOB_UID)

STEPS: Mapping[str, Callable[[JobObjects], bool]] = {
    "the job has its id": lambda job: "id" in job.status,
    "the plan is recorded": lambda job: f"{job.job}.plan.0" in job.of("config_maps"),
    "the first ConfigMap of a PE is there": lambda job: len(job.of("config_maps")) > 2,
    "some PEs are there": lambda job: len(job.of("pes")) > 2,
    "the first pods are there": lambda job: len(job.of("pods")) > 0,
    "every pod is there": lambda job: len(job.of("pods")) == PES,
}
"""What can be seen of a submission, in order: after one step is before the next."""

KILLED: Sequence[tuple[str, str]] = (
    ("fusion-backend", "the job has its id"),
    ("fusion-backend", "the plan is recorded"),
    ("fusion-backend", "the first ConfigMap of a PE is there"),
    ("fusion-backend", "some PEs are there"),
    ("fusion-backend", "every pod is there"),
    ("pod-state-machine", "some PEs are there"),
    ("pod-state-machine", "the first pods are there"),
    ("pod-state-machine", "every pod is there"),
    ("watch-ingest", "the plan is recorded"),
    ("watch-ingest", "the first pods are there"),
)
"""A sample: every effect of a submission, before and after, is a plan of the simulation."""


@pytest.mark.scenario(26)
async def test_a_service_killed_between_two_steps_of_a_submission_changes_nothing_of_its_end(
    cluster: Cluster,
) -> None:
    """The same objects with the same labels, each PE launched once, as where nobody is killed."""
    undisturbed = await _submitted(cluster, "undisturbed")
    for number, (service, step) in enumerate(KILLED):
        disturbed = await _submitted(cluster, f"disturbed-{number}", service, step)
        assert disturbed == undisturbed, f"{service} killed when {step}"


PLACING: Mapping[str, Callable[[JobObjects], bool]] = {
    "a placement is asked for": lambda job: job.job in job.of("placements"),
    "the pool has its members": lambda job: bool(members_of(job, 1)),
}
KILLED_PLACING: Sequence[tuple[str, str]] = (
    ("hostpool-manager", "a placement is asked for"),
    ("hostpool-manager", "the pool has its members"),
    ("node-tainter", "the pool has its members"),
    ("pod-state-machine", "the pool has its members"),
)


@pytest.mark.scenario(26)
async def test_a_service_killed_while_a_job_is_placed_changes_nothing_of_its_end(
    cluster: Cluster,
) -> None:
    """Its pool is exclusive: pods wait for an answer, and for the marks of two nodes."""
    tagged = Traits(("quiet",))
    async with ground(cluster, "placed", tagged, tagged) as there:
        undisturbed = await _placed(there, "placed")
        for number, (service, step) in enumerate(KILLED_PLACING):
            disturbed = await _placed(there, f"placed-{number}", service, step)
            assert disturbed == undisturbed, f"{service} killed when {step}"


async def _placed(there: Ground, name: str, service: str = "", step: str = "") -> Sequence[Obj]:
    """Submit, kill a service after a step, start it again; what there is in the end."""
    cluster = there.cluster
    async with cluster.job(name) as job, every_launch(job) as launches:
        application = Hosted().pool("P", size=2, tags=["quiet"], exclusive=True)
        application.operator("a", pool="P", place=0).operator("b", pool="P", place=1)
        await there.submit(job, application)
        if service:
            await job.until(step, lambda: PLACING[step](job))
            kill(cluster.system, service)
            await start_again(cluster.system, service)
        await job.until("running", job.is_settled)
        assert sorted(map(len, launches.uids.values())) == [1, 1]
        for place, node in enumerate(members_of(job, 1)):
            await until_marked(cluster.api, node, pool_of(job, 1), place)
        return end_state(job)


async def _submitted(
    cluster: Cluster, name: str, service: str = "", step: str = ""
) -> Sequence[Obj]:
    """Submit, kill a service after a step, start it again; what there is in the end."""
    async with cluster.job(name) as job, every_launch(job) as launches:
        await submit_row(cluster, job, {"legacy": True}, submissionTimeValues=widths(*THREE))
        if service:
            await job.until(step, lambda: STEPS[step](job))
            kill(cluster.system, service)
            await start_again(cluster.system, service)
        await until_widths(job, PES, dict(zip(REGIONS, THREE, strict=True)))
        assert sorted(map(len, launches.uids.values())) == [1] * PES
        return end_state(job)


def end_state(job: JobObjects) -> Sequence[Obj]:
    """What a job consists of, without what no other job has."""
    found = [
        {
            "kind": kind,
            "name": DIGEST.sub("", each["metadata"]["name"].removeprefix(job.job)),
            "labels": {
                key: value
                for key, value in each["metadata"]["labels"].items()
                if key not in OF_THE_JOB
            },
            "operators": each.get("spec", {}).get("operators"),
            **{
                key: (each.get("status") or {}).get(key)
                for key in ("phase", "launchCount", "width", "reason")
            },
        }
        for kind in PATHS
        for each in job.of(kind).values()
    ]
    return sorted(found, key=lambda each: (each["kind"], each["name"]))
