"""SIGKILL to services while jobs are deleted, pods fail and nested regions are resized.

In the middle of a large resize: `test_killing.py`; of a submission: `test_faults.py`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping

import pytest

from tests.e2e.applications import INNER, OUTER, submit_nested
from tests.e2e.examples import OUTSIDE, submit_example, with_example
from tests.e2e.following import every_launch
from tests.e2e.killing import end, running_pids, start_again
from tests.e2e.resizing import moment_of, resized, until_widths
from tests.e2e.test_restarts import end as end_pod
from tests.e2e.test_restarts import until_runs
from tests.e2e.watching import TEST_S_MAX, Cluster, JobObjects
from tests.patience import patient

COVERS = (
    "services/fusion_backend/core/clean_up_rules.py",
    "services/fusion_backend/core/clearing.py",
    "services/pod_state_machine/core/clearing.py",
    "services/launching/core/ending.py",
    "services/launching/core/owners.py",
    "services/launching/adapters/launches.py",
)

SIZE_SETTING = "MILLRACE_DELETED_PES"
PES = int(os.environ.get(SIZE_SETTING, "24"))
WAIT_S = patient(120.0 + PES)
"""A guard against hanging."""
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX + patient(10 * PES))]

BEGUN: Mapping[str, Callable[[JobObjects], bool]] = {
    "fusion-backend": lambda job: len(job.of("pes")) < PES,
    "pod-state-machine": lambda job: len(job.live_pods()) < PES,
    "watch-ingest": lambda job: len(job.of("pods")) < PES,
}
"""What is seen of a deletion when a service is killed."""


async def test_a_service_killed_while_a_job_is_deleted_leaves_nothing_of_it_and_launches_nothing(
    cluster: Cluster, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """One service after the other, each at another job of the same name."""
    backend = request.node.callspec.params["system"]
    lines = []
    async with cluster.job("goes-down") as job, every_launch(job) as launches:
        for service, has_begun in BEGUN.items():
            await submit_example(cluster, job, PES - OUTSIDE)
            await job.until("running", job.all_running, WAIT_S)
            launched, pids = set(launches.uids), running_pids(cluster.system, service)
            await cluster.api.call("DELETE", job.path)
            await job.until("begun", lambda has_begun=has_begun: has_begun(job))  # type: ignore[misc]
            end(pids)
            began_s = await start_again(cluster.system, service)
            await job.until("nothing left", lambda: not job.versions(), WAIT_S)
            took_s = time.monotonic() - began_s
            lines.append(f"  {service} killed: nothing left {took_s:.1f} s after its restart\n")
            assert set(launches.uids) == launched
        assert {len(uids) for uids in launches.uids.values()} == {1}
    with capsys.disabled():
        sys.stdout.write(f"\n{backend}: deletions of {PES} PEs\n{''.join(lines)}")


async def test_pods_that_fail_while_watch_ingest_is_killed_are_each_launched_again_once(
    cluster: Cluster,
) -> None:
    """Some before and some after SIGKILL, unseen until it runs again; those that live stay."""
    async with cluster.job("unseen") as job, every_launch(job) as launches:
        await with_example(cluster, job, 4)
        before = moment_of(job)
        names = sorted(job.of("pes"))
        seen, unseen, alive = names[:2], names[2:5], names[5:]
        pids = running_pids(cluster.system, "watch-ingest")
        for pe in seen:
            await end_pod(cluster, before.pods[pe], "Failed")
        end(pids)
        for pe in unseen:
            await end_pod(cluster, before.pods[pe], "Failed")
        await start_again(cluster.system, "watch-ingest")
        for pe in (*seen, *unseen):
            await until_runs(job, pe, 2)
        await job.until("settled", job.is_settled)
        changes = resized(job, before)
        assert changes.untouched == {int(pe.removeprefix("unseen-")) for pe in alive}
        assert len(launches.uids) == len(names) + len(seen) + len(unseen)


async def test_nested_regions_are_resized_while_services_are_killed(cluster: Cluster) -> None:
    """The inner one, the one around it, and back; each PE that changes is launched once."""
    steps = (
        ("fusion-backend", INNER, 3),
        ("pod-state-machine", OUTER, 3),
        ("watch-ingest", INNER, 1),
    )
    async with cluster.job("nested-kills") as job, every_launch(job) as launches:
        await submit_nested(cluster, job)
        now = {OUTER: 2, INNER: 2}
        await until_widths(job, 4 + 2 + 4, now)
        for service, region, width in steps:
            before, pids = moment_of(job), running_pids(cluster.system, service)
            await cluster.resize(job, region, width)
            end(pids)
            await start_again(cluster.system, service)
            now = now | {region: width}
            await until_widths(job, 4 + now[OUTER] + now[OUTER] * now[INNER], now)
            changes = resized(job, before)
            assert {0, 3} <= changes.untouched
        assert {len(uids) for uids in launches.uids.values()} == {1}
