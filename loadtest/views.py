"""The part of `make bench` about views: a change of one object among 5,000 nodes and 50,000 pods.

Measured are the cluster of hostpool-manager and the room of nodes of fusion-backend.

The unit is the time in which the same fact enters a table without a view, in the same process. A
turn is the CPU time between two awaits; the collector of Python runs in it.
"""

from __future__ import annotations

import asyncio
import gc
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from cli.showing import answer, answer_lines
from contracts import labels
from contracts.facts import Epoch, Fact, FactType, project
from contracts.resources import JOB
from contracts.topics import CLUSTER
from services.chassis.log.bus import Partition
from services.chassis.process.collecting import Freezing, freeze
from services.chassis.process.metrics import Metrics
from services.chassis.table.reading import BATCH_RECORDS_MAX
from services.chassis.table.table import Table
from services.chassis.table.viewing import View, Views
from services.fusion_backend.adapters.folding import RoomFold
from services.hostpool_manager.adapters.folding import ClusterFold
from services.hostpool_manager.adapters.intake import cluster_snapshot

NODES, PODS, JOBS, PES = 5_000, 50_000, 200, 50
"""PES are those of each job; their pods are among PODS."""
BATCH, BATCHES = 500, 6
AIMED_CHANGE_US, AIMED_TURN_MS = 50.0, 20.0
"""Reported, not asserted: they are times of a machine."""
RATIO_MAX: Final = 12.0
"""The most that a change of a pod may cost, in units: asserted. 5 to 7 on the machine of
2026-11-25, whose unit was 4 µs."""

_A_POD: Final = "a pod"

Obj = Mapping[str, Any]
_HERE: Final = Partition(CLUSTER.name("bench"), 0)
_EPOCH: Final = Epoch(1, 1, "bench")


@dataclass(frozen=True, slots=True)
class Change:
    """What one kind of change costs: `us` of CPU in the view, and how many units that is."""

    name: str
    us: float
    ratio: float
    is_bounded: bool


@dataclass(frozen=True, slots=True)
class Turns:
    """The turns of the event loop while something is folded, in milliseconds."""

    name: str
    median_ms: float
    worst_ms: float


class _Bench:
    """A table with its view, and the facts that change it."""

    def __init__(self, view: View) -> None:
        self.table, self.plain = Table(), Table()
        self.freezing = Freezing(freeze)
        self.views = Views(self.table, (view,), _crashed, self.freezing.note_kept)
        self._version = 0

    def fact(self, kind: str, name: str, obj: Obj | None) -> Fact:
        """A fact of an object; None: it is gone."""
        self._version += 1
        namespace = "" if kind == "Node" else "load"
        has_gone = obj is None
        return Fact(
            FactType.DELETION if has_gone else FactType.ADDITION,
            kind,
            namespace,
            name,
            f"uid-{kind}-{name}",
            self._version,
            _EPOCH,
            data=None if obj is None else project(kind, obj),
        )

    def apply(self, facts: Iterable[Fact]) -> float:
        """Let facts enter both tables; returns the seconds that one without a view takes."""
        facts = list(facts)
        start = time.process_time()
        for fact in facts:
            self.plain.apply(fact, _HERE)
        taken = time.process_time() - start
        for fact in facts:
            self.table.apply(fact, _HERE)
        self.freezing.note_kept(len(facts))
        return taken

    def measured(self, name: str, of_batch: Callable[[int], Iterable[Fact]]) -> Change:
        """The median cost of a kind of change, from some batches. One of a pod is bounded."""
        costs, ratios = [], []
        for batch in range(BATCHES):
            facts = list(of_batch(batch))
            gc.disable()
            unit_s = self.apply(facts)
            freeze()  # what the benchmark itself made is no part of a change
            start = time.process_time()
            self.views.fold_all()
            cost_s = time.process_time() - start
            gc.enable()
            asyncio.run(self.views.catch_up())  # what is left to check is not part of a change
            costs.append(cost_s / len(facts))
            ratios.append(cost_s / unit_s)
        is_bounded = name.startswith(_A_POD)
        return Change(name, 1e6 * statistics.median(costs), statistics.median(ratios), is_bounded)


def measure_all(report: Callable[[str], None]) -> tuple[list[Change], list[Turns]]:
    """Measure changes of each kind, and the longest turns."""
    report("views")
    fold = ClusterFold(Metrics())
    bench = _Bench(fold)
    freeze()
    turns = asyncio.run(_turns_of_restore(bench))
    changes = [bench.measured(name, make) for name, make in _changes(bench)]
    turns += [asyncio.run(_turns_of(bench, name, make)) for name, make in _changes(bench)]
    turns.append(_snapshots(bench, fold))
    gc.unfreeze()
    changes += _changes_of_room()
    return changes, turns


def _changes_of_room() -> list[Change]:
    """What pods and nodes cost in the room of nodes, which has no Placements."""
    bench = _Bench(RoomFold())
    freeze()
    asyncio.run(_turns_of_restore(bench))
    changes = [
        replace(bench.measured(name, make), name=f"{name}, in fusion-backend")
        for name, make in _changes(bench)
        if not name.startswith("a Placement")
    ]
    gc.unfreeze()
    return changes


def _crashed(ref: object) -> None:
    raise AssertionError(f"{ref} cannot be folded")


# --------------------------------------------------------------------------- the cluster


def _objects() -> Iterator[tuple[str, str, Obj]]:
    for at in range(NODES):
        yield "Node", _node_name(at), _node(at)
    for job in range(JOBS):
        yield "Placement", _job_name(job), _placement(job)
        for pe in range(PES):
            yield "BoundPod", f"{_job_name(job)}-{pe}", _pod_of_job(job, pe)
    for at in range(PODS - JOBS * PES):
        yield "BoundPod", f"other-{at}", _pod(at % NODES)


def _node_name(at: int) -> str:
    return f"node-{at:04}"


def _job_name(job: int) -> str:
    return f"job-{job:03}"


def _node(at: int, *, unschedulable: bool = False) -> Obj:
    return {
        "metadata": {"name": _node_name(at), "labels": {labels.HOSTNAME: _node_name(at)}},
        "spec": {"unschedulable": unschedulable},
        "status": {
            "allocatable": {"cpu": "32", "memory": "128Gi", "pods": "110"},
            "addresses": [{"type": "InternalIP", "address": f"10.1.{at // 250}.{at % 250}"}],
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _pod(at: int, marks: Obj | None = None) -> Obj:
    requests = {"cpu": "250m", "memory": "256Mi"}
    return {
        "metadata": {"labels": marks or {}},
        "spec": {"nodeName": _node_name(at), "containers": [{"resources": {"requests": requests}}]},
    }


def _node_of_pe(job: int, pe: int) -> int:
    return (job * PES + pe) % NODES


def _pod_of_job(job: int, pe: int, node: int | None = None) -> Obj:
    marks = {
        labels.APP: labels.APP_VALUE,
        labels.JOB: _job_name(job),
        labels.JOB_UID: f"uid-{_job_name(job)}",
        labels.PE: str(pe),
    }
    return _pod(_node_of_pe(job, pe) if node is None else node, marks)


def _placement(job: int, *, message: str = "") -> Obj:
    owner = {
        "kind": JOB.kind,
        "name": _job_name(job),
        "uid": f"uid-{_job_name(job)}",
        "controller": True,
    }
    assignments = [{"node": _node_name(_node_of_pe(job, pe)), "pes": str(pe)} for pe in range(PES)]
    return {
        "metadata": {"ownerReferences": [owner], "generation": 1, "name": _job_name(job)},
        "spec": {
            "generation": 0,
            "classes": [{"pes": f"0-{PES - 1}", "requests": {"cpu": "250m"}}],
        },
        "status": {
            "phase": "Placed",
            "observedGeneration": 1,
            "generation": 0,
            "pools": [],
            "assignments": assignments,
            "message": message,
        },
    }


# --------------------------------------------------------------------------- what changes


def _changes(bench: _Bench) -> Iterator[tuple[str, Callable[[int], Iterable[Fact]]]]:
    """Each kind of change, with the facts of one batch of it."""
    draw = random.Random(5)
    nodes = [draw.randrange(NODES) for _ in range(BATCH)]
    jobs = [(at % JOBS, at // JOBS) for at in range(BATCH)]

    def pods(what: Callable[[int, int, int], tuple[str, Obj | None]]) -> Any:
        def of_batch(batch: int) -> Iterator[Fact]:
            for at, node in enumerate(nodes):
                name, obj = what(batch, at, node)
                yield bench.fact("BoundPod", name, obj)

        return of_batch

    def moved(batch: int, at: int, node: int) -> tuple[str, Obj]:
        job, pe = jobs[at]
        return f"{_job_name(job)}-{pe}", _pod_of_job(job, pe, (node + batch) % NODES)

    yield "a pod is bound", pods(lambda batch, at, node: (f"new-{batch}-{at}", _pod(node)))
    yield "a pod ends", pods(lambda batch, at, _: (f"new-{batch}-{at}", None))
    yield (
        "a pod of a job is bound elsewhere",
        pods(moved),
    )
    yield (
        "a node is cordoned, or open again",
        lambda batch: (
            bench.fact("Node", _node_name(at), _node(at, unschedulable=batch % 2 == 0))
            for at in dict.fromkeys(nodes)
        ),
    )
    yield (
        f"a Placement of {PES} PEs has a new message",
        lambda batch: (
            bench.fact("Placement", _job_name(job), _placement(job, message=f"{batch}"))
            for job in range(JOBS)
        ),
    )


# --------------------------------------------------------------------------- turns


async def _turns_of_restore(bench: _Bench) -> list[Turns]:
    """Read what exists in batches, as a stage does, and fold it."""
    read, objects = [], _objects()
    while batch := [bench.fact(*each) for each in islice(objects, BATCH_RECORDS_MAX)]:
        start = time.process_time()
        bench.apply(batch)
        read.append(1000 * (time.process_time() - start))
    return [
        Turns("the reading of all objects after a start", statistics.median(read), max(read)),
        await _watched("the first fold after a start", bench),
    ]


async def _turns_of(bench: _Bench, name: str, of_batch: Callable[[int], Iterable[Fact]]) -> Turns:
    bench.apply(of_batch(BATCHES))
    return await _watched(f"{BATCH} changes: {name}", bench)


async def _watched(name: str, bench: _Bench) -> Turns:
    """Catch up beside a task that measures how long it has to wait for its turn."""
    turns: list[float] = []

    async def watch() -> None:
        while True:
            start = time.process_time()
            await asyncio.sleep(0)
            turns.append(1000 * (time.process_time() - start))

    watcher = asyncio.create_task(watch())
    await asyncio.sleep(0)
    await bench.views.catch_up()
    await asyncio.sleep(0)
    watcher.cancel()
    return Turns(name, statistics.median(turns), max(turns))


def _snapshots(bench: _Bench, fold: ClusterFold) -> Turns:
    """The snapshot of the cluster after ten changed pods."""
    turns = []
    for at in range(50):
        bench.apply(
            bench.fact("BoundPod", f"snap-{at}-{each}", _pod(each * 7)) for each in range(10)
        )
        asyncio.run(bench.views.catch_up())
        start = time.process_time()
        cluster_snapshot(bench.table, fold.view)
        turns.append(1000 * (time.process_time() - start))
    return Turns("the snapshot after ten new pods", statistics.median(turns), max(turns))


# --------------------------------------------------------------------------- the report


def exceeded(changes: Sequence[Change]) -> list[str]:
    """What costs more than it may, as sentences."""
    return [
        f"{each.name}: {each.ratio:.1f} units, at most {RATIO_MAX:.0f} are allowed"
        for each in changes
        if each.is_bounded and each.ratio > RATIO_MAX
    ]


def render(changes: Sequence[Change], turns: Sequence[Turns]) -> str:
    """The tables for people."""
    about = f"{NODES} nodes, {PODS} pods, {JOBS} jobs"
    lines = [f"{about + ': a change costs':66} µs  units  aim µs"]
    lines += [
        f"{each.name:60} {each.us:8.1f} {each.ratio:6.1f} {AIMED_CHANGE_US:7.0f}"
        for each in changes
    ]
    lines.append(f"{'turns of the event loop':60} median ms  worst ms  aim ms")
    lines += [
        f"{each.name:60} {each.median_ms:9.2f} {each.worst_ms:9.2f} {AIMED_TURN_MS:7.0f}"
        for each in turns
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    answer_lines(render(*measure_all(answer)))
