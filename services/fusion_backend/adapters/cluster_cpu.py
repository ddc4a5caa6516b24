"""Reads from metrics.k8s.io how much CPU nodes use, and how much of that the pods of a job use.

Nothing depends on the answer but the number of PEs of automatic fusion, so little is done for it:

1. One LIST of the nodes and, if the job has pods, one of its pods; both within `ANSWER_S_MAX`.
2. A cluster without the API (no metrics server) gets the next request after `ABSENT_S`, one that
   refused or did not answer after `REFUSED_S`. What nodes use is read every `FRESH_S` at most: the
   metrics server measures no more often.
3. What goes wrong delays and fails nothing: the plan is made as without the API, and has a warning.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from contracts.scheduling.quantities import quantity_of
from planner.numbering.measured import MeasuredCpu
from planner.refusals import shown
from services.chassis.kube.port import Kube, Resource
from services.chassis.process.clock import Clock
from services.chassis.process.errors import ChassisError, NotAllowed, NotFound
from services.fusion_backend.core.spec.dividing import mcpu_of

ANSWER_S_MAX: Final = 1.5
ABSENT_S: Final = 300.0
REFUSED_S: Final = 60.0
FRESH_S: Final = 10.0
PROBLEM_CHARS_MAX: Final = 300
NODE_METRICS: Final = Resource(
    "metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", namespaced=False
)
POD_METRICS: Final = Resource("metrics.k8s.io", "v1beta1", "pods", "PodMetrics")


@dataclass(frozen=True, slots=True)
class JobPods:
    """The pods of a job: all by a selector, and the names of those on nodes that count."""

    namespace: str
    selector: str
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class CpuFound:
    """What was measured, if anything; `problem` is a sentence on why not, and what to do."""

    measured: MeasuredCpu | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Nodes:
    """CPU in use by node; or why it is not known. It counts until `until` (unix seconds)."""

    until: float
    used_mcpu: Mapping[str, int] | None = None
    problem: str = ""


class NotUsable(Exception):
    """An answer that no metrics server gives; the message says what is wrong with it."""


class ClusterCpu:
    """Measures for one plan at a time; what nodes use is shared by plans that are made together."""

    def __init__(self, kube: Kube, clock: Clock) -> None:
        self._kube = kube
        self._clock = clock
        self._nodes: _Nodes | None = None

    async def measured(self, nodes: Mapping[str, int], pods: JobPods) -> CpuFound:
        """The CPU in use on these nodes, which have so much for pods (in thousandths)."""
        known = self._nodes
        if known is not None and known.used_mcpu is None and known.until > self._clock.now():
            return CpuFound(problem=known.problem)
        try:
            async with asyncio.timeout(ANSWER_S_MAX):
                used = await self._used()
                own = await self._own(pods) if pods.names else 0
        except NotFound:
            return self._forgo(ABSENT_S, "")
        except (ChassisError, NotUsable, TimeoutError) as problem:
            return self._forgo(REFUSED_S, _sentence(problem))
        of_nodes = {name: used[name] for name in nodes if name in used}
        if not of_nodes:
            return CpuFound()  # they are too new to have been measured
        of_mcpu = sum(nodes[name] for name in of_nodes)
        return CpuFound(MeasuredCpu(sum(of_nodes.values()), of_mcpu, own))

    def _forgo(self, for_s: float, problem: str) -> CpuFound:
        self._nodes = _Nodes(self._clock.now() + for_s, problem=problem)
        return CpuFound(problem=problem)

    async def _used(self) -> Mapping[str, int]:
        known, now = self._nodes, self._clock.now()
        if known is not None and known.used_mcpu is not None and known.until > now:
            return known.used_mcpu
        items = await self._kube.list_whole(NODE_METRICS, "")
        used = {_name(item): _mcpu(item, item.get("usage")) for item in items}
        self._nodes = _Nodes(self._clock.now() + FRESH_S, used)
        return used

    async def _own(self, pods: JobPods) -> int:
        items = await self._kube.list_whole(
            POD_METRICS, pods.namespace, label_selector=pods.selector
        )
        return sum(
            _mcpu(item, container.get("usage"))
            for item in items
            if _name(item) in pods.names
            for container in _containers(item)
        )


def _name(item: Mapping[str, Any]) -> str:
    metadata = item.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    if not isinstance(name, str):
        raise NotUsable("an item has no name")
    return name


def _containers(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = item.get("containers")
    if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
        raise NotUsable(f"{shown(_name(item))} has no containers")
    return found


def _mcpu(item: Mapping[str, Any], usage: object) -> int:
    cpu = usage.get("cpu") if isinstance(usage, Mapping) else None
    if quantity_of(cpu) is None:
        raise NotUsable(f"usage.cpu of {shown(_name(item))} is {shown(cpu)}")
    return mcpu_of(cpu)


def _sentence(problem: Exception) -> str:
    """What goes wrong, and what to do."""
    text = "the CPU that the cluster uses is not known: "
    if isinstance(problem, NotAllowed):
        why = f"{problem}; apply deploy/rbac/fusion-backend.yaml of this release"
    elif isinstance(problem, TimeoutError):
        why = f"metrics.k8s.io did not answer within {ANSWER_S_MAX:g} s; look at the metrics server"
    else:
        why = f"metrics.k8s.io: {problem}; look at the metrics server"
    return shown(text + why, PROBLEM_CHARS_MAX)
