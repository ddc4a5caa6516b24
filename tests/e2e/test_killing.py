"""SIGKILL in the middle of a large resize: it converges, nothing is launched twice, and how fast.

`MILLRACE_KILLED_PES` says how large. Times are reported, not judged: machines differ and are
shared. Beside each stands that of a resize of the same job in the same run that nobody disturbed.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

import pytest

from contracts import labels
from tests.e2e.examples import OUTSIDE, example_bundle
from tests.e2e.following import Ordeal, ordeal
from tests.e2e.killing import end, running_pids, start_again
from tests.e2e.watching import Cluster, JobObjects
from tests.patience import patient

COVERS = (
    "services/chassis/running/own_part.py",
    "services/chassis/running/confirming.py",
    "services/chassis/table/epochs.py",
    "services/launching/core/rules.py",
    "services/launching/core/recording.py",
    "services/fusion_backend/core/generation_rules.py",
)

SIZE_SETTING = "MILLRACE_KILLED_PES"
PES = int(os.environ.get(SIZE_SETTING, "100"))
WAIT_S = patient(60.0 + PES)
"""A guard against hanging: half a second a PE and step would be slow on any machine."""
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(8 * WAIT_S)]


def planned(job: JobObjects, generation: int) -> int:
    """How many PEs fusion-backend has brought to a generation."""
    wanted = str(generation)
    pes = job.of("pes").values()
    return sum(pe["metadata"]["labels"][labels.GENERATION] == wanted for pe in pes)


def launched(job: JobObjects, generation: int) -> int:
    """How many PEs have a pod of a generation."""
    wanted = str(generation)
    pods = job.live_pods().values()
    return sum(pod["metadata"]["labels"][labels.GENERATION] == wanted for pod in pods)


MIDDLES: dict[str, Callable[[JobObjects, int], int]] = {
    "fusion-backend": planned,
    "pod-state-machine": launched,
    "watch-ingest": planned,
}
"""What is a third done when a service is killed."""


async def test_a_service_killed_in_the_middle_of_a_large_resize_converges_and_repeats_nothing(
    cluster: Cluster, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """One service after the other, each in a resize of its own; the first resize is undisturbed."""
    (cluster.system.bundles / "wordcount.sab").write_bytes(example_bundle())
    backend = request.node.callspec.params["system"]
    async with ordeal(cluster, "large", PES - OUTSIDE, WAIT_S) as job:
        undisturbed_s = await _resized(job, PES + 1)
        lines = [f"{backend}: a resize of {PES} PEs, nobody killed, took {undisturbed_s:.1f} s"]
        for number, service in enumerate(MIDDLES, 2):
            lines.append(await _resized_with_a_kill(cluster, job, PES + number, service))
    with capsys.disabled():
        sys.stdout.write("\n" + "".join(f"{line}\n" for line in lines))


async def _resized(job: Ordeal, pes: int) -> float:
    """Resize to that many PEs; how many seconds it took."""
    began_s = time.monotonic()
    await job.resize(pes - OUTSIDE)
    await job.converge("a resize", pes - OUTSIDE, pes, WAIT_S)
    return time.monotonic() - began_s


async def _resized_with_a_kill(cluster: Cluster, job: Ordeal, pes: int, service: str) -> str:
    """Resize, kill when a third is done, start again; says how long each took."""
    generation = int(job.job.status["generation"]) + 1
    done, pids = MIDDLES[service], running_pids(cluster.system, service)
    began_s = time.monotonic()
    await job.resize(pes - OUTSIDE)
    await job.job.until("the middle", lambda: done(job.job, generation) > pes // 3, WAIT_S)
    end(pids)
    killed_s = time.monotonic()
    at_kill = f"{planned(job.job, generation)} planned, {launched(job.job, generation)} launched"
    started_s = await start_again(cluster.system, service)
    ready_s = time.monotonic()
    await job.converge(f"{service} killed", pes - OUTSIDE, pes, WAIT_S)
    end_s = time.monotonic()
    return (
        f"  {service} killed after {killed_s - began_s:.1f} s ({at_kill}): converged "
        f"{end_s - started_s:.1f} s after its restart, which took {ready_s - started_s:.1f} s"
    )
