"""A Job's attempts and edits, widths that are refused, and children that somebody deletes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from contracts import labels
from contracts.resources.fields import WIDTH_MAX
from loadtest.api import CORE, MERGE, STREAMS, Refused
from tests.e2e.applications import FIRST, SECOND, THIRD, submit_row
from tests.e2e.examples import OUTSIDE, REGION, example_bundle, until_width, with_example
from tests.e2e.resizing import until_widths
from tests.e2e.watching import PATHS, TEST_S_MAX, Cluster, JobObjects, Obj, Versions

COVERS = (
    "services/fusion_backend/core/attempts.py",
    "services/fusion_backend/core/retrying.py",
    "services/fusion_backend/core/trying_again.py",
    "services/fusion_backend/core/region_rules.py",
    "services/fusion_backend/core/widths.py",
    "services/fusion_backend/core/status_rules.py",
    "services/fusion_backend/core/spec/editing.py",
    "planner/resizing.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]

TOO_WIDE = 2_000
"""The PE that feeds so many channels is too large."""


def condition(job: JobObjects, type_: str) -> Obj:
    conditions: list[Obj] = job.status.get("conditions") or []
    return next((each for each in conditions if each["type"] == type_), {})


async def edit(cluster: Cluster, job: JobObjects, patch: Obj) -> None:
    await cluster.api.call("PATCH", job.path, patch, MERGE)


async def retry(cluster: Cluster, job: JobObjects, value: str) -> None:
    await edit(cluster, job, {"metadata": {"annotations": {labels.RETRY: value}}})


def but(versions: Versions, *kinds: str) -> Versions:
    """Without kinds that are not looked at."""
    return {key: version for key, version in versions.items() if key[0] not in kinds}


@pytest.mark.scenario(6)
async def test_a_failed_job_stays_and_runs_when_its_bundle_came_and_somebody_asks(
    cluster: Cluster,
) -> None:
    """The annotation is enough; asked twice it fails twice."""
    async with cluster.job("asked-again") as job:
        missing = cluster.system.bundles / "comes-later.sab"
        missing.unlink(missing_ok=True)  # of a run before in this world
        spec: Obj = {"bundle": {"name": missing.name}, "fusion": {"manual": 1}, "retrySeconds": 0}
        await cluster.submit(job.job, spec)
        await job.until("failed", lambda: job.phase == "Failed")
        assert job.status["reason"] == "BundleMissing"
        assert condition(job, "Accepted")["status"] == "False"
        await retry(cluster, job, "1")
        await job.until(
            "failed again",
            lambda: job.phase == "Failed" and job.status.get("observedRetry") == "1",
        )
        missing.write_bytes(example_bundle())
        await retry(cluster, job, "2")
        await job.until("settled", job.is_settled)
        assert {each["status"] for each in job.status["conditions"]} == {"True"}
        assert {each["type"] for each in job.status["conditions"]} == {
            "Accepted",
            "Fused",
            "Placed",
            "Submitted",
            "Healthy",
        }
        assert job.status["message"].startswith("1 of 1 PE runs")


async def test_a_failed_job_runs_by_itself_when_its_bundle_came(cluster: Cluster) -> None:
    async with cluster.job("patient") as job:
        late = cluster.system.bundles / "patient.sab"
        await cluster.submit(job.job, {"bundle": {"name": late.name}, "fusion": {"manual": 1}})
        await job.until("failed", lambda: job.phase == "Failed")
        assert "it is tried again at " in job.status["message"]
        assert "or when what it lacks is there" in job.status["message"]
        late.write_bytes(example_bundle())
        await job.until("settled", job.is_settled)
        assert "nextAttemptAt" not in job.status
        late.unlink()


async def test_a_submission_that_comes_to_no_end_fails_after_its_time_out_and_leaves_nothing(
    cluster: Cluster,
) -> None:
    """Somebody holds the name of a Service; with a spec that changed it runs."""
    async with cluster.job("too-late") as job:
        async with cluster.stopped("pod-state-machine"):
            (cluster.system.bundles / "late.sab").write_bytes(example_bundle())
            spec: Obj = {"bundle": {"name": "late.sab"}, "submissionTimeOutInSeconds": 10}
            await cluster.submit(job.job, {**spec, "fusion": {"manual": 2}})
            await job.until("failed", lambda: job.phase == "Failed")
            assert job.status["reason"] == "SubmissionTimedOut"
            assert "pod of PE" in job.status["message"]
            await job.until("nothing left", lambda: {key[0] for key in job.versions()} <= {"jobs"})
        await edit(cluster, job, {"spec": {"submissionTimeOutInSeconds": 300}})
        await job.until("settled", job.is_settled)


@pytest.mark.scenario(16)
@pytest.mark.parametrize("kind", ["pes", "services", "regions", "pools", "config_maps"])
async def test_a_child_that_somebody_deletes_comes_back_as_it_was_and_nothing_else_moves(
    cluster: Cluster, kind: str
) -> None:
    """A PE goes on counting its launches; a region has the width in force."""
    async with cluster.job(f"robbed-of-{kind.replace('_', '-')}") as job:
        await with_example(cluster, job, 2)
        await cluster.resize(job, REGION, 3)
        await until_width(job, 3)
        before = job.versions()
        of_pe = f"{job.job}-1"
        name = (
            job.of("pes")[of_pe]["spec"]["pack"]["name"]
            if kind == "config_maps"
            else {"pes": of_pe, "services": f"{job.job}-pes"}.get(kind, f"{job.job}-0")
        )
        old = job.of(kind)[name]
        launched = job.of("pes")[of_pe]["status"]["launchCount"]
        await cluster.api.call("DELETE", f"{PATHS[kind]}/{name}")
        await job.until(
            "back",
            lambda: (
                name in job.of(kind)
                and job.of(kind)[name]["metadata"]["uid"] != old["metadata"]["uid"]
            ),
        )
        await until_width(job, 3)
        new = job.of(kind)[name]
        for field in ("contentId", "width", "alias", "hostpool", "operators", "selector"):
            assert new.get("spec", {}).get(field) == old.get("spec", {}).get(field)
        after = job.versions()
        own = {key for key in before if key[0] == kind and key[1] == name}
        if kind == "pes":
            assert job.of("pes")[name]["status"]["launchCount"] == launched + 1
            own |= {key for key in before if key[0] == "pods" and key[1].startswith(f"{of_pe}-")}
        kept = {key for key in before if after.get(key) == before[key]}
        assert {*but(before, "jobs")} - kept <= own


async def test_a_service_that_somebody_edits_leads_to_its_pes_again_and_nothing_restarts(
    cluster: Cluster,
) -> None:
    """One that got an address is another one then: no patch takes an address away."""
    async with cluster.job("redirected") as job:
        await with_example(cluster, job, 2)
        before, name = job.versions(), f"{job.job}-pes"
        spec = job.of("services")[name]["spec"]
        outside: Obj = {"type": "ExternalName", "externalName": "elsewhere.example.com"}
        edits: tuple[Obj, ...] = (
            {"selector": {labels.JOB: "other", "team": "blue"}},
            {"ports": [{"name": "sys-0", "port": 10_000, "targetPort": 6_666}]},
            {"publishNotReadyAddresses": False},
            outside,
        )
        for each in edits:
            answer = await cluster.api.call(
                "PATCH", f"{PATHS['services']}/{name}", {"spec": each}, MERGE
            )
            assert answer["spec"] != spec
            version = int(answer["metadata"]["resourceVersion"])
            await job.until("mended", _is_mended(job, name, version, spec))
        uid = job.of("services")[name]["metadata"]["uid"]
        async with cluster.stopped("fusion-backend"):
            inside: Obj = {"type": "ClusterIP", "externalName": None}
            for each in (outside, inside):
                await cluster.api.call(
                    "PATCH", f"{PATHS['services']}/{name}", {"spec": each}, MERGE
                )
        await job.until("made again", _is_mended(job, name, 0, spec))
        assert job.of("services")[name]["metadata"]["uid"] != uid
        after = job.versions()
        assert {key for key in before if before[key] != after.get(key)} == {("services", name)}


def _is_mended(job: JobObjects, name: str, version: int, spec: Obj) -> Callable[[], bool]:
    def is_mended() -> bool:
        found = job.of("services").get(name)
        if found is None or int(found["metadata"]["resourceVersion"]) <= version:
            return False
        return bool(found["spec"] == spec)

    return is_mended


@pytest.mark.scenario(16)
async def test_a_child_that_somebody_deletes_is_not_made_again_while_its_job_is_deleted(
    cluster: Cluster,
) -> None:
    """A finalizer holds the Job, which says that it is being deleted."""
    async with cluster.job("goes") as job:
        await with_example(cluster, job, 2)
        await edit(cluster, job, {"metadata": {"finalizers": ["example.com/hold"]}})
        await cluster.api.call("DELETE", job.path)
        await job.until("nothing left", lambda: {key[0] for key in job.versions()} <= {"jobs"})
        await job.until("told", lambda: job.phase == "Deleting")
        await edit(cluster, job, {"metadata": {"finalizers": None}})
        await job.until("gone", lambda: not job.versions())


@pytest.mark.scenario(19)
async def test_of_quick_widths_of_two_regions_the_last_wins_also_during_the_submission(
    cluster: Cluster,
) -> None:
    """Three times in a row, up and down, while objects are being created."""
    async with cluster.job("quick") as job:
        await submit_row(cluster, job, {"legacy": True})
        await job.until("regions", lambda: len(job.of("regions")) == 3)
        for region, width in ((FIRST, 5), (SECOND, 4), (FIRST, 2), (SECOND, 1), (FIRST, 3)):
            await cluster.resize(job, region, width)
        await until_widths(job, 2 + 3 + 1 + 1, {FIRST: 3, SECOND: 1, THIRD: 1})
        for region, width in ((SECOND, 4), (FIRST, 1), (SECOND, 2)):
            await cluster.resize(job, region, width)
        await until_widths(job, 2 + 1 + 2 + 1, {FIRST: 1, SECOND: 2, THIRD: 1})


@pytest.mark.scenario(20)
async def test_a_width_over_the_limit_is_reported_touches_nothing_and_heals(
    cluster: Cluster,
) -> None:
    """Also when another region asks for what can be, which is then in force."""
    async with cluster.job("too-wide") as job:
        await with_example(cluster, job, 3)
        before = job.versions()
        with pytest.raises(Refused, match=f"less than or equal to {WIDTH_MAX}"):
            await cluster.resize(job, REGION, WIDTH_MAX + 1)
        await cluster.resize(job, REGION, TOO_WIDE)

        def region() -> Obj:
            (only,) = job.of("regions").values()
            return only

        await job.until("refused", lambda: region()["status"].get("reason") == "WidthRefused")
        assert region()["status"]["width"] == region()["status"]["replicas"] == 3
        refused = region()["status"]["refused"]
        assert (refused["width"], refused["generation"]) == (TOO_WIDE, 0)
        assert refused["reason"] == "PeTooLarge"
        assert refused["message"] in region()["status"]["message"]
        assert job.phase == "Submitted"
        assert but(job.versions(), "regions") == but(before, "regions")
        await cluster.resize(job, REGION, 3)
        await job.until("healed", lambda: region()["status"]["reason"] == "WidthInForce")
        assert "refused" not in region()["status"]
        accepted, _ = region()["status"]["conditions"]
        assert accepted["status"] == "True"
        assert but(job.versions(), "regions") == but(before, "regions")


@pytest.mark.scenario(29)
async def test_an_annotated_host_pool_launches_nothing(cluster: Cluster) -> None:
    async with cluster.job("annotated") as job:
        await with_example(cluster, job, 2)
        before = job.versions()
        (pool,) = job.of("pools")
        note: Obj = {"metadata": {"annotations": {"note": "of a person"}}}
        await cluster.api.call("PATCH", f"{PATHS['pools']}/{pool}", note, MERGE)
        await cluster.resize(job, REGION, 3)
        await until_width(job, 3)
        pods = job.pods_of_pes()
        assert {len(each) for each in pods.values()} == {1}
        assert but(job.versions(), "jobs").keys() >= {
            key for key in before if key[0] in ("pools", "pes")
        }
        launches = {pe: each["status"]["launchCount"] for pe, each in job.of("pes").items()}
        assert max(launches.values()) == 2
        assert launches[f"{job.job}-{OUTSIDE}"] == 1


async def test_an_edit_of_a_running_job_is_taken_up_by_the_next_resize_or_refused(
    cluster: Cluster,
) -> None:
    """What is refused is named with its field, its value and what to do, and heals."""
    async with cluster.job("edited") as job:
        await with_example(cluster, job, 2)
        before = job.versions()
        another: Obj = {"bundle": {"name": "another.sab"}, "imagePullPolicy": "Never"}
        await edit(cluster, job, {"spec": another})
        await job.until(
            "refused", lambda: condition(job, "Accepted").get("reason") == "EditRefused"
        )
        for told in ("spec.bundle.name", "another.sab", "set it back"):
            assert told in condition(job, "Accepted")["message"]
        await edit(cluster, job, {"spec": {"bundle": {"name": "wordcount.sab"}}})
        await job.until(
            "accepted", lambda: condition(job, "Accepted")["reason"] == "EditTakenUpLater"
        )
        assert but(job.versions(), "jobs") == but(before, "jobs")
        await cluster.resize(job, REGION, 3)
        await until_width(job, 3)
        policies = {n: each["spec"]["imagePullPolicy"] for n, each in job.of("pes").items()}
        touched = {n for n, each in job.of("pes").items() if ("pes", n) not in before}
        assert touched
        assert all(policies[name] == "Never" for name in touched)
        assert {"Always", "Never"} == set(policies.values())
        await job.until("healed", lambda: condition(job, "Accepted")["reason"] == "Accepted")


async def test_a_job_is_completed_when_every_pe_is_and_submitted_when_one_works_again(
    cluster: Cluster,
) -> None:
    async with cluster.job("done") as job:
        (cluster.system.bundles / "done.sab").write_bytes(example_bundle())
        await cluster.submit(job.job, {"bundle": {"name": "done.sab"}, "fusion": {"manual": 2}})
        await job.until("settled", job.is_settled)
        for pod in job.live_pods().values():
            path = f"{CORE}/pods/{pod['metadata']['name']}/status"
            await cluster.api.call("PATCH", path, {"status": {"phase": "Succeeded"}}, MERGE)
        await job.until("completed", lambda: job.phase == "Completed")
        path = f"{STREAMS}/streamspes/{job.job}-0"
        await cluster.api.call("PATCH", path, {"spec": {"launchCount": 2}}, MERGE)
        await job.until("works again", lambda: job.phase == "Submitted")
