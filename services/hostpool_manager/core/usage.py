"""The resources of nodes that pods and promises use, updated one pod at a time.

A cluster has tens of thousands of pods. When one changes, its old requests are subtracted and its
new ones added; the others are not counted again. Sums are unbounded integers, so that subtraction
is exact; the arrays made of them are capped at TOTAL_MAX.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np

from placement.cluster import PODS, TOTAL_MAX, Ints, Pod, capped

_STREAMS_PODS = ""
"""The key of the number of Streams pods, among the names of resources."""


class Taken:
    """Sums by resource and node, and the pods of each job."""

    def __init__(self) -> None:
        self._used: dict[str, dict[str, int]] = {PODS: {}, _STREAMS_PODS: {}}
        self._pods: dict[tuple[str, ...], tuple[Pod, ...]] = {}
        self._of_jobs: dict[str, dict[tuple[str, ...], tuple[Pod, ...]]] = defaultdict(dict)
        self._index: Mapping[str, int] = {}
        self._columns: dict[str, Ints] = {}
        self._in_order: dict[str, tuple[Pod, ...]] = {}
        self._changed_nodes: set[str] = set()
        self._changed_jobs: set[str] = set()

    def put(self, key: tuple[str, ...], pods: Iterable[Pod]) -> set[str]:
        """Replace the pods under a key; returns the nodes that this concerns."""
        before, found = self._pods.pop(key, ()), tuple(pods)
        if found:
            self._pods[key] = found
        if found == before:
            return set()
        for pod in before:
            self._add(pod, -1)
            self._leave(pod.job, key)
        for pod in found:
            self._add(pod, 1)
            if pod.job:
                self._of_jobs[pod.job][key] = found
        self._changed_jobs.update(pod.job for pod in (*before, *found) if pod.job)
        nodes = {pod.node for pod in (*before, *found)}
        self._changed_nodes |= nodes
        return nodes

    def of_jobs(self) -> dict[str, tuple[Pod, ...]]:
        """The pods of each job, in order of their keys."""
        for job in self._changed_jobs:
            keyed = self._of_jobs.get(job, {})
            self._in_order.pop(job, None)
            if keyed:
                self._in_order[job] = tuple(pod for key in sorted(keyed) for pod in keyed[key])
        self._changed_jobs.clear()
        return dict(self._in_order)

    def columns(self, index: Mapping[str, int]) -> tuple[dict[str, Ints], Ints]:
        """The use of each node, by resource, and the number of Streams pods on each node."""
        if index is not self._index:
            self._index, self._columns = index, {}
        at = {node: index[node] for node in self._changed_nodes if node in index}
        self._columns = {
            name: self._column(name, of_nodes, at) for name, of_nodes in self._used.items()
        }
        self._changed_nodes.clear()
        used = {name: each for name, each in self._columns.items() if name != _STREAMS_PODS}
        return used, self._columns[_STREAMS_PODS]

    def _column(self, name: str, of_nodes: Mapping[str, int], changed: Mapping[str, int]) -> Ints:
        before = self._columns.get(name)
        if before is None:
            numbers = (min(of_nodes.get(node, 0), TOTAL_MAX) for node in self._index)
            return np.fromiter(numbers, np.int64, len(self._index))
        found = before.copy()
        for node, at in changed.items():
            found[at] = min(of_nodes.get(node, 0), TOTAL_MAX)
        return found

    def _leave(self, job: str, key: tuple[str, ...]) -> None:
        keyed = self._of_jobs.get(job, {})
        keyed.pop(key, None)
        if not keyed:
            self._of_jobs.pop(job, None)

    def _add(self, pod: Pod, sign: int) -> None:
        own = (_STREAMS_PODS, 1) if pod.job else (PODS, 0)
        for name, amount in ((PODS, 1), own, *pod.requests.items()):
            of_nodes = self._used.setdefault(name, {})
            of_nodes[pod.node] = of_nodes.get(pod.node, 0) + sign * capped(amount)
