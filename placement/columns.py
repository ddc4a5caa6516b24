"""The account of what is taken on nodes (`taken.py`) as arrays, and its pods by job.

Only what changed since the last call is computed again. Amounts are capped at TOTAL_MAX.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from contracts.scheduling.requests import AMOUNT_MAX, PODS
from placement.taken import STREAMS_PODS, Amounts, Pod, Taken

Ints = npt.NDArray[np.int64]
TOTAL_MAX: Final = 1 << 60
"""Limit for the requests on a node: its sum with an amount stays within 64 bits."""


class Columns(Taken):
    """An account, as arrays over the nodes of an index."""

    def __init__(self) -> None:
        super().__init__()
        self._of_jobs: dict[str, dict[Any, Pod]] = defaultdict(dict)
        self._index: Mapping[str, int] = {}
        self._columns: dict[str, Ints] = {PODS: np.zeros(0, np.int64)}
        self._in_order: dict[str, tuple[Pod, ...]] = {}
        self._changed_nodes: set[str] = set()
        self._changed_jobs: set[str] = set()

    def put(self, key: Hashable, pod: Pod | None) -> tuple[str, ...]:
        """As in every account; keys of pods of one job have an order."""
        before = self._pods.get(key)
        nodes = super().put(key, pod)
        self._changed_nodes.update(nodes)
        if nodes and before is not None and before.job:
            del self._of_jobs[before.job][key]
            self._changed_jobs.add(before.job)
        if nodes and pod is not None and pod.job:
            self._of_jobs[pod.job][key] = pod
            self._changed_jobs.add(pod.job)
        return nodes

    def of_jobs(self) -> dict[str, tuple[Pod, ...]]:
        """The pods of each job, in order of their keys."""
        for job in self._changed_jobs:
            keyed = self._of_jobs[job]
            self._in_order.pop(job, None)
            if keyed:
                self._in_order[job] = tuple(keyed[key] for key in sorted(keyed))
            else:
                del self._of_jobs[job]
        self._changed_jobs.clear()
        return dict(self._in_order)

    def arrays(self, index: Mapping[str, int]) -> tuple[dict[str, Ints], Ints]:
        """What is taken of each node, by resource, and the number of pods of jobs on each."""
        if index is not self._index:
            self._index, self._columns = index, {}
            changed: Mapping[str, int] = index
        else:
            changed = {node: index[node] for node in self._changed_nodes if node in index}
        where, sums = list(changed.values()), list(map(self.on, changed))
        names = dict.fromkeys((PODS, STREAMS_PODS, *self._columns))
        for of_node in sums:
            names.update(dict.fromkeys(of_node))
        self._columns = {name: self._column(name, where, sums) for name in names}
        self._changed_nodes.clear()
        used = {name: each for name, each in self._columns.items() if name != STREAMS_PODS}
        return used, self._columns[STREAMS_PODS]

    def _column(self, name: str, where: list[int], sums: list[Amounts]) -> Ints:
        before = self._columns.get(name)
        found = np.zeros(len(self._index), np.int64) if before is None else before.copy()
        amounts = (min(of_node.get(name, 0), TOTAL_MAX) for of_node in sums)
        found[where] = np.fromiter(amounts, np.int64, len(sums))
        return found


def capped(amount: int) -> int:
    """The amount, limited to the range from 0 to AMOUNT_MAX."""
    return min(max(amount, 0), AMOUNT_MAX)
