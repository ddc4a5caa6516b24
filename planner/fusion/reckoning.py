"""How many PEs automatic fusion makes: from the threads of the application and the cluster's CPU.

1. Threads that are needed: one for each source operator, for each queue before an input port (the
   user's, that of a dedicated operator, and that which a channel of a splitter needs) and for each
   input port that must be run by a dynamic scheduler.
2. Threads at most: these, and one for each operator that a dynamic scheduler may run.
3. A PE's pod can use its CPU limit, and never more than the largest node has. So the application
   keeps between `least` PEs (every needed thread busy) and `most` (every thread busy).
4. Nobody knows yet how busy they will be: the geometric mean of the two is wrong by the same factor
   in either direction. An operator whose CPU was measured counts with that, in both.
5. The cluster bounds it: the pods' requests must fit, and PEs beyond the number of CPUs cost
   connections and win nothing; a CPU that others use already does not count. A limit that the PEs
   share bounds it in the same way; a request that they share must be cut into parts that a node can
   take.

The answer is for life: it is recorded with all that it was made from, and a job that runs keeps it.
At a resize, it is reckoned for the new widths only to know how much a PE has room for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import isqrt

from planner.graph.threading_models import Threading, choose_model
from planner.graph.topology import Operator, Topology
from planner.numbering.measured import MeasuredCpu
from planner.numbering.records import Fusion

CPU_MCPU = 1000
UNKNOWN_NODE_MCPU = 4000
"""What a node is taken to have where nothing says it, as when planning without a cluster."""


@dataclass(frozen=True, slots=True)
class Threads:
    """How many threads an application needs, and can use."""

    least: int
    most: int

    def times(self, factor: int) -> Threads:
        """So many of each."""
        return Threads(self.least * factor, self.most * factor)


@dataclass(frozen=True, slots=True)
class CpuUsage:
    """Measured CPU: what the nodes use already, and operators by name (in thousandths).

    A name without a channel is that of each replica.
    """

    cluster: MeasuredCpu | None = None
    operators: Mapping[str, int] = field(default_factory=dict)

    def of(self, operator: Operator) -> int | None:
        """What one operator uses, if it was measured."""
        return self.operators.get(operator.name, self.operators.get(operator.logical_name))

    def unknown(self, topology: Topology) -> tuple[str, ...]:
        """The names that no operator has, in their order."""
        known = {
            name for each in topology.operators.values() for name in (each.name, each.logical_name)
        }
        return tuple(name for name in self.operators if name not in known)


NOT_MEASURED = CpuUsage()


def reckoned(
    fusion: Fusion, topology: Topology, job: Threading | None, usage: CpuUsage = NOT_MEASURED
) -> Fusion:
    """Automatic fusion with the number of PEs, and with the threads that it was chosen from."""
    threads = count_threads(topology, job)
    demand = _demand(topology, job, usage) if usage.operators else threads.times(CPU_MCPU)
    pes = min(_pes(fusion, demand, usage.cluster), len(topology.operators))
    return replace(fusion, pes_max=max(1, pes), threads_min=threads.least, threads_max=threads.most)


def count_threads(topology: Topology, job: Threading | None) -> Threads:
    """Steps 1 and 2. `job`: the threading model of the job."""
    least, most = 0, 0
    for operator in topology.operators.values():
        needed, at_most = _threads_of(operator, topology, job)
        least, most = least + needed, most + at_most
    return Threads(least, most)


def _demand(topology: Topology, job: Threading | None, usage: CpuUsage) -> Threads:
    """Steps 1 and 2 in thousandths of a CPU; what was measured of an operator counts instead."""
    least, most = 0, 0
    for operator in topology.operators.values():
        measured = usage.of(operator)
        needed, at_most = _threads_of(operator, topology, job)
        least += needed * CPU_MCPU if measured is None else measured
        most += at_most * CPU_MCPU if measured is None else measured
    return Threads(least, most)


def _threads_of(operator: Operator, topology: Topology, job: Threading | None) -> tuple[int, int]:
    """How many threads one operator needs, and can use."""
    if not operator.item.inputs:
        return 1, 1
    chosen = choose_model(operator, job)
    model = chosen.model if chosen else "automatic"
    needed = sum(_needed(operator, topology, model))
    return needed, needed + (model in ("automatic", "dynamic"))


def _needed(operator: Operator, topology: Topology, model: str) -> Iterator[bool]:
    for port in operator.item.inputs:
        is_queued = port.threaded is not None or model in ("dedicated", "dynamic")
        yield is_queued or _is_channel(topology, operator.index, port.index)


def _is_channel(topology: Topology, operator: int, port: int) -> bool:
    return any(edge.splitter >= 0 for edge in topology.edges_into((operator, port)))


def allocatable_of(fusion: Fusion) -> int:
    """What all nodes have for pods."""
    largest = fusion.largest_node_mcpu or UNKNOWN_NODE_MCPU
    return fusion.allocatable_mcpu or max(1, fusion.nodes or 1) * largest


def _pes(fusion: Fusion, demand: Threads, measured: MeasuredCpu | None) -> int:
    largest = fusion.largest_node_mcpu or UNKNOWN_NODE_MCPU
    allocatable = allocatable_of(fusion)
    busy = measured.busy_mcpu(allocatable) if measured else 0
    shared_limit = fusion.limit_mcpu if fusion.is_divided else 0
    usable = largest if shared_limit else min(largest, fusion.limit_mcpu or largest)
    least = max(1, _parts(demand.least, usable))
    most = max(least, _parts(demand.most, usable))
    bound = max(0, allocatable - busy) // CPU_MCPU
    if fusion.is_divided:
        least_parts = _parts(fusion.request_mcpu, largest)
    else:
        least_parts = 1
        bound = min(bound, allocatable // fusion.request_mcpu if fusion.request_mcpu else bound)
    if shared_limit:
        bound = min(bound, shared_limit // CPU_MCPU)
    return max(1, least_parts, min(bound, isqrt(least * most)))


def _parts(whole: int, part: int) -> int:
    """How many parts of a size hold the whole."""
    return -(-whole // max(1, part))
