"""What PEs request and what nodes have free for a job, in numbers that no sum of them exceeds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from contracts.scheduling.requests import AMOUNT_MAX, PODS
from placement.cluster import Cluster
from placement.columns import Ints, capped
from placement.job import Job, Pe
from placement.problem import NONE
from placement.taken import Amounts

Rows = dict[int, list[int]]


def amounts_of(pe: Pe, resources: tuple[str, ...]) -> list[int]:
    """What a PE requests of each resource, and its pod as one."""
    return _amounts(pe.requests, resources)


def _amounts(requests: Amounts, resources: tuple[str, ...]) -> list[int]:
    return [capped(requests.get(name, int(name == PODS))) for name in resources]


def free_beside(
    cluster: Cluster, job: Job, fixed: Mapping[int, int], resources: tuple[str, ...]
) -> tuple[Ints, bool]:
    """What is left beside what stays; and whether that asks for more than it did and there is."""
    free = _free(cluster, resources)
    pods = cluster.pods.get(job.name, ())
    if not pods:
        return cluster.remember(("room", resources), lambda: np.clip(free, 0, AMOUNT_MAX)), False
    had: Rows = {}
    before: Rows = {}
    now: Rows = {}
    for pod in pods:
        node = cluster.index.get(pod.node, NONE)
        if node != NONE:
            amounts = _amounts(pod.requests, resources)
            _add(had, node, amounts)
            if fixed.get(pod.pe) == node and pod.is_bound:
                _add(before, node, amounts)
    for pe, node in fixed.items():
        if node != NONE:
            _add(now, node, amounts_of(job.by_id[pe], resources))
    return _beside(free.copy(), had, before, now)


def _beside(free: Ints, had: Rows, before: Rows, now: Rows) -> tuple[Ints, bool]:
    nothing = [0] * free.shape[1]
    overfull = False
    for node in had.keys() | now.keys():
        own = zip(
            free[node].tolist(),
            had.get(node, nothing),
            before.get(node, nothing),
            now.get(node, nothing),
            strict=True,
        )
        left = []
        for is_free, was, kept, is_now in own:
            left.append(is_free + was - is_now)
            overfull |= left[-1] < 0 and is_now > kept
        free[node] = [min(max(each, 0), AMOUNT_MAX) for each in left]
    return np.clip(free, 0, AMOUNT_MAX), overfull


def _free(cluster: Cluster, resources: tuple[str, ...]) -> Ints:
    def made() -> Ints:
        found = np.zeros((len(cluster), len(resources)), np.int64)
        for at, name in enumerate(resources):
            found[:, at] = cluster.free(name)
        return found

    found: Ints = cluster.remember(("free of all", resources), made)
    return found


def _add(rows: Rows, node: int, amounts: list[int]) -> None:
    before = rows.get(node, [0] * len(amounts))
    rows[node] = [sum(pair) for pair in zip(before, amounts, strict=True)]


def total(amounts: Ints) -> int:
    """The sum of amounts, which may be more than 64 bits hold."""
    half = np.int64(1 << 32)
    return (int((amounts // half).sum()) << 32) + int((amounts % half).sum())
