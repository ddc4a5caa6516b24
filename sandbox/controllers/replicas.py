"""How many replicas a metric of pods recommends: the arithmetic of kube-controller-manager.

Pure. Amounts are whole thousandths, averages are rounded down and ratios are floats, as there, so
that both come to the same number.
https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#algorithm-details
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

FULL_PERCENT = 100
MATCHES_NOTHING = "no metrics returned matched known pods"
UNREADY = "did not receive metrics for targeted pods (pods might be unready)"


class NoMetricError(Exception):
    """Why a metric has no value, in the words of Kubernetes."""


@dataclass(frozen=True)
class PodUse:
    """A pod that counts: `used_m` is None where nothing is measured, both in thousandths."""

    is_ready: bool
    used_m: int | None
    requested_m: int


@dataclass(frozen=True)
class Goal:
    """What an average pod is to use: percent of its request, or thousandths."""

    amount: int
    is_utilization: bool


@dataclass(frozen=True)
class Tolerance:
    """By how much the ratio may differ from 1 without a change."""

    down: float = 0.1
    up: float = 0.1

    def holds(self, ratio: float) -> bool:
        return 1.0 - self.down <= ratio <= 1.0 + self.up


@dataclass(frozen=True)
class Recommended:
    """Replicas, and the averages that they follow from; `percent` is None for an amount."""

    replicas: int
    average_m: int
    percent: int | None


def recommended(
    pods: Sequence[PodUse], current: int, goal: Goal, tolerance: Tolerance
) -> Recommended:
    """What follows from the metrics of ready pods. Raises NoMetricError without one.

    1. Ready pods with a metric give the ratio of their average to the goal.
    2. Pods without a metric, and unready ones before a step up, are then assumed to use what
       makes the step smaller. A step that would turn around, or back, is not made.
    """
    measured = [(pod.used_m, pod.requested_m) for pod in pods if pod.is_ready]
    known = [(used, requested) for used, requested in measured if used is not None]
    missing = [requested for used, requested in measured if used is None]
    unready = [pod.requested_m for pod in pods if not pod.is_ready]
    if not known:
        raise NoMetricError(UNREADY)
    ratio, average_m, percent = _ratio(known, goal)

    def answer(replicas: int) -> Recommended:
        return Recommended(replicas, average_m, percent)

    counts_unready = bool(unready) and ratio > 1.0
    if not missing and not counts_unready:
        return answer(current if tolerance.holds(ratio) else math.ceil(ratio * len(known)))
    assumed = [*known, *_assumed(missing, ratio, goal)]
    if counts_unready:
        assumed += [(0, requested) for requested in unready]
    with_them, _, _ = _ratio(assumed, goal)
    turns = (ratio - 1.0) * (with_them - 1.0) < 0.0
    if tolerance.holds(with_them) or turns:
        return answer(current)
    replicas = math.ceil(with_them * len(assumed))
    is_back = replicas > current if with_them < 1.0 else replicas < current
    return answer(current if is_back else replicas)


def _assumed(missing: Sequence[int], ratio: float, goal: Goal) -> list[tuple[int, int]]:
    """What pods without a metric are taken to use: all of it before a step down, else nothing."""
    if ratio > 1.0:
        return [(0, requested) for requested in missing]
    if ratio == 1.0:
        return []
    if not goal.is_utilization:
        return [(goal.amount, requested) for requested in missing]
    percent = max(FULL_PERCENT, goal.amount)
    return [(requested * percent // FULL_PERCENT, requested) for requested in missing]


def _ratio(known: Sequence[tuple[int, int]], goal: Goal) -> tuple[float, int, int | None]:
    """Of used and requested amounts: the ratio, the average, and the average in percent."""
    used = sum(each for each, _ in known)
    average = used // len(known)
    if not goal.is_utilization:
        return average / goal.amount, average, None
    requested = sum(each for _, each in known)
    if not requested:
        raise NoMetricError(MATCHES_NOTHING)
    percent = used * FULL_PERCENT // requested
    return percent / goal.amount, average, percent
