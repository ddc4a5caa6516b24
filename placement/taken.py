"""What pods take of nodes: one account, in which one pod at a time is added or removed.

A cluster has tens of thousands of pods. When one changes, its old requests are subtracted and its
new ones added; the others are not counted again. Sums are unbounded integers, so that subtraction
is exact: the account is a function of the pods, whatever the order in which they came. Pods count
on unknown nodes, too. Arrays of it are in `columns.py`; this module needs no numpy.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Final, NamedTuple

from contracts.scheduling.nodes import Node
from contracts.scheduling.requests import PODS

Amounts = Mapping[str, int]
"""By resource: "cpu" in milli-CPU, "memory" in bytes, "pods" and others as they are counted."""

STREAMS_PODS: Final = ""
"""The key of the number of pods of jobs, among the names of resources."""
_NOTHING: Final[Amounts] = {}


class Pod(NamedTuple):
    """A pod that is bound to a node; or one that will be, of a PE whose job has been placed there.

    `job` (namespace/name) is empty if no job owns the pod; `is_bound` tells the two
    apart: what is bound stays where it is. `requests` does not count the pod itself.
    """

    node: str
    requests: Amounts
    job: str = ""
    pe: int = -1
    is_bound: bool = True


class Taken:
    """Sums by node and resource; each pod is under a key."""

    def __init__(self) -> None:
        self._pods: dict[Hashable, Pod] = {}
        self._sums: dict[str, dict[str, int]] = {}

    def put(self, key: Hashable, pod: Pod | None) -> tuple[str, ...]:
        """Let a pod count instead of the one before under its key; None: none does.

        Returns the nodes of which something else is taken now, or by another pod.
        """
        before = self._pods.get(key)
        if pod == before:
            return ()
        if pod is None:
            del self._pods[key]
        else:
            self._pods[key] = pod
            self._add(pod, 1)
            if before is None:
                return (pod.node,)
        assert before is not None, "they differ"
        self._add(before, -1)
        if pod is None or pod.node == before.node:
            return (before.node,)
        return before.node, pod.node

    def on(self, node: str) -> Amounts:
        """What is taken of a node, by resource; do not change it."""
        return self._sums.get(node, _NOTHING)

    def free_on(self, node: Node) -> dict[str, int]:
        """What is left of a node; below 0 where more is taken than there is."""
        taken = self.on(node.name)
        return {name: amount - taken.get(name, 0) for name, amount in node.allocatable.items()}

    def _add(self, pod: Pod, sign: int) -> None:
        node, requests, job, _, _ = pod
        sums = self._sums.get(node)
        if sums is None:
            sums = self._sums[node] = {PODS: 0, STREAMS_PODS: 0}
        sums[PODS] += sign
        if job:
            sums[STREAMS_PODS] += sign
        for name, amount in requests.items():
            sums[name] = sums.get(name, 0) + sign * amount
        if not sums[PODS]:
            del self._sums[node]
