"""What pods and promises take of the nodes, kept one pod at a time.

A cluster has tens of thousands of pods, and one of them changes: what it took is given back, what
it takes is added, and nobody counts the others again. Sums are whole numbers without a limit, so
that what was added can be given back exactly; `placing/cluster.py` limits them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from services.hostpool_manager.core.placing.cluster import PODS, Pod, capped


class Taken:
    """Sums by resource and node, and the pods of each job."""

    def __init__(self) -> None:
        self.used: dict[str, dict[str, int]] = {PODS: {}}
        self.streams_pods: dict[str, int] = {}
        self._pods: dict[tuple[str, ...], tuple[Pod, ...]] = {}
        self._of_jobs: dict[str, dict[tuple[str, ...], tuple[Pod, ...]]] = defaultdict(dict)

    def put(self, key: tuple[str, ...], pods: Iterable[Pod]) -> set[str]:
        """The pods under a key, in place of those that were under it; the nodes this concerns."""
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
        return {pod.node for pod in (*before, *found)}

    def of_jobs(self) -> dict[str, tuple[Pod, ...]]:
        """The pods of each job, in order of their keys."""
        return {
            job: tuple(pod for key in sorted(keyed) for pod in keyed[key])
            for job, keyed in self._of_jobs.items()
        }

    def _leave(self, job: str, key: tuple[str, ...]) -> None:
        keyed = self._of_jobs.get(job, {})
        keyed.pop(key, None)
        if not keyed:
            self._of_jobs.pop(job, None)

    def _add(self, pod: Pod, sign: int) -> None:
        for name, amount in ((PODS, 1), *pod.requests.items()):
            of_nodes = self.used.setdefault(name, {})
            of_nodes[pod.node] = of_nodes.get(pod.node, 0) + sign * capped(amount)
        if pod.job:
            self.streams_pods[pod.node] = self.streams_pods.get(pod.node, 0) + sign


def in_order(of_nodes: Mapping[str, int], names: Sequence[str]) -> list[int]:
    """The numbers of these nodes."""
    return [of_nodes.get(name, 0) for name in names]
