"""Automatic fusion counts with the CPU that nodes use, where the metrics server measures it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from planner.numbering.measured import MeasuredCpu
from planner.numbering.records import PlanRecord
from sandbox.http.in_process import Fault
from sandbox.store.resources import NODE, POD
from sandbox.store.steering import CPU
from services.fusion_backend.adapters.cluster_cpu import ABSENT_S, ANSWER_S_MAX
from services.fusion_backend.core.recording import plan_of
from tests.sandboxed import MERGE
from tests.simulation.applications import submit_example
from tests.simulation.hands import cordon
from tests.simulation.remaking import differing, log_of
from tests.simulation.world import Request, World, simulate

AUTOMATIC = {
    "fusion": {"automatic": True},
    "processingElement": {"resources": {"limits": {"cpu": "1"}}},
}
WIDTH, PES = 12, 16
"""Of the example; one CPU a pod gives each operator a PE of its own where nothing is in use."""
NODES = 4
NODE_CPUS = 32


def plays(world: World, **cpus: str | None) -> None:
    """Let nodes use so much CPU beside their pods; the name of a node without its prefix."""
    for name, cpu in cpus.items():
        patch = {"metadata": {"annotations": {CPU: cpu}}}
        world.store.patch(NODE, None, name.replace("n", "node-"), patch, MERGE)


def record_of(world: World, job: str, generation: int = 0) -> PlanRecord:
    return plan_of(world.objects("configmaps", job)[f"{job}.plan.{generation}"], []).record


def metrics_requests(world: World) -> list[Request]:
    return [each for each in world.requests if "metrics.k8s.io" in each.path]


def fused(world: World, job: str) -> str:
    conditions = world.objects("streamsjobs")[job]["status"]["conditions"]
    return str(next(each["message"] for each in conditions if each["type"] == "Fused"))


async def submitted(world: World, job: str, spec: Mapping[str, object] = AUTOMATIC) -> PlanRecord:
    submit_example(world, job, width=WIDTH, more=spec)
    await world.until("running", lambda: world.is_running(job))
    return record_of(world, job)


def test_cpu_that_nodes_use_leaves_less_for_a_job_and_the_plan_records_it(tmp_path: Path) -> None:
    """A node that takes no pods counts in neither number."""

    async def test(world: World) -> None:
        world.start()
        await world.settle()
        cordon(world, "node-3")
        plays(world, n0="31", n1="30500m", n2="30", n3="9")
        await world.settle()
        record = await submitted(world, "j")
        assert record.measured == MeasuredCpu(91_500, 96_000)
        assert len(record.pes) == record.fusion.pes_max == 4
        assert "on 3 nodes with 96 CPUs; the cluster uses 91.5 of 96 CPUs" in fused(world, "j")
        await world.settle()
        log = await log_of(world)
        for start in log.starts("fusion-backend"):
            assert await differing(log, start) == []

    simulate(tmp_path, test, nodes=NODES)


def test_only_automatic_fusion_looks_for_metrics_and_seldom_without_them(
    tmp_path: Path,
) -> None:
    async def test(world: World) -> None:
        world.start()
        await submitted(world, "legacy", {"fusion": {"legacy": True}})
        await submitted(world, "manual", {"fusion": {"manual": 3}})
        assert metrics_requests(world) == []
        for job in ("j", "k"):
            record = await submitted(world, job)
            assert (record.measured, len(record.pes)) == (None, PES)
            assert "uses" not in fused(world, job)
        (only,) = metrics_requests(world)
        assert (only.method, only.path) == ("GET", "/apis/metrics.k8s.io/v1beta1/nodes")
        await world.settle(quiet_s=ABSENT_S)
        plays(world, n0="4")
        assert (await submitted(world, "l")).measured == MeasuredCpu(4_000, NODES * 32_000)

    simulate(tmp_path, test, nodes=NODES)


@pytest.mark.parametrize(
    ("fault", "advice"),
    [
        (Fault(status=403), "apply deploy/rbac/fusion-backend.yaml of this release"),
        (Fault(status=503), "look at the metrics server"),
        (Fault(delay_s=3600.0), f"did not answer within {ANSWER_S_MAX:g} s"),
    ],
    ids=["refused", "down", "silent"],
)
def test_metrics_that_cannot_be_read_delay_no_submission_and_are_reported(
    tmp_path: Path, fault: Fault, advice: str
) -> None:
    async def test(world: World) -> None:
        world.start()
        await world.settle()
        plays(world, n0="32")
        world.faults = lambda request: fault if "metrics.k8s.io" in request.path else None
        began = world.clock.now()
        record = await submitted(world, "j")
        assert world.clock.now() - began < ANSWER_S_MAX + 2.0
        assert (record.measured, len(record.pes)) == (None, PES)
        assert "the CPU that the cluster uses is not known" in fused(world, "j")
        assert advice in fused(world, "j")
        count = len(metrics_requests(world))
        await submitted(world, "k")
        assert len(metrics_requests(world)) == count, "it does not try again at once"

    simulate(tmp_path, test, nodes=NODES)


def _use(world: World, cpu: str) -> None:
    for pod in world.live_pods("j").values():
        patch = {"metadata": {"annotations": {CPU: cpu}}}
        world.store.patch(POD, "default", pod["metadata"]["name"], patch, MERGE)


def test_what_the_pes_of_a_job_use_is_not_counted_against_it_at_a_resize(tmp_path: Path) -> None:
    """Four PEs that use all that they found free: of the next channels, each PE has a share."""

    async def test(world: World) -> None:
        world.start()
        await world.settle()
        plays(world, n0="31", n1="31", n2="31", n3="31")
        before = await submitted(world, "j")
        assert len(before.pes) == 4
        _use(world, "1")
        await world.settle()
        world.resize("j", "Counted", 2 * WIDTH)
        await world.until("wider", lambda: "j.plan.1" in world.objects("configmaps", "j"))
        record = record_of(world, "j", 1)
        assert record.measured == MeasuredCpu(128_000, 128_000, 4_000)
        assert record.fusion == before.fusion
        sizes = [len(pe.operators) for pe in record.pes]
        assert max(sizes) <= 10, "28 operators in at least three PEs, and not all in one"
        await world.until("running", lambda: world.is_running("j"))
        assert "the cluster uses 128 of 128 CPUs, 4 of them for this job" in fused(world, "j")

    simulate(tmp_path, test, nodes=NODES)


def test_a_job_that_lost_its_records_is_planned_beside_what_it_uses_itself(
    tmp_path: Path,
) -> None:
    async def test(world: World) -> None:
        world.start()
        await world.settle()
        plays(world, n0="31", n1="31", n2="31", n3="31")
        await submitted(world, "j")
        _use(world, "1")
        await world.settle()
        await world.kill("fusion-backend")
        world.store.delete(world.kind("configmaps"), "default", "j.plan.0")
        world.start("fusion-backend")
        await world.until("planned", lambda: "j.plan.1" in world.objects("configmaps", "j"))
        await world.until("running", lambda: world.is_running("j"))
        record = record_of(world, "j", 1)
        assert record.measured == MeasuredCpu(128_000, 128_000, 4_000)
        assert len(record.pes) == 4

    simulate(tmp_path, test, nodes=NODES)
