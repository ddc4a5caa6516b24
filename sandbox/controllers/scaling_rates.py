"""How fast an autoscaler goes where its metrics lead: windows, policies and bounds.

Pure; what kube-controller-manager does with and without `spec.behavior`. Of the past it keeps what
was recommended and how replicas changed; `Past` is a value, the controller holds the newest one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sandbox.controllers.replicas import Tolerance
from sandbox.store.quantities import amount

DOWN_WINDOW_S = 300
WINDOW_S_MAX, PERIOD_S_MAX = 3_600, 1_800
UP_FACTOR, UP_MIN = 2, 4
"""Without a behavior: at most twice as many, or 4, in one step."""
_READY = ("ReadyForNewScale", "recommended size matches current size")
_IN_RANGE = ("DesiredWithinRange", "the desired count is within the acceptable range")
_TOO_FEW = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")
_TOO_MANY = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
_UP_LIMIT = (
    "ScaleUpLimit",
    "the desired replica count is increasing faster than the maximum scale rate",
)
_DOWN_LIMIT = (
    "ScaleDownLimit",
    "the desired replica count is decreasing faster than the maximum scale rate",
)
_UP_STABILIZED = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
)
_DOWN_STABILIZED = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent "
    "recommendation",
)
Why = tuple[str, str]
Moment = tuple[float, int]
"""When (unix seconds), and how many replicas were recommended, or by how many they changed."""


@dataclass(frozen=True)
class Past:
    """What counts of the past of one autoscaler; changes are positive up and negative down."""

    recommendations: tuple[Moment, ...] = ()
    changes: tuple[Moment, ...] = ()

    def with_change(self, now: float, by: int) -> Past:
        """With a rescale; what no policy looks at any more is forgotten."""
        kept = [each for each in self.changes if each[0] > now - PERIOD_S_MAX]
        return replace(self, changes=(*kept, (now, by)))

    def with_recommendation(self, now: float, replicas: int) -> Past:
        """With a recommendation; what no window looks at any more is forgotten."""
        kept = [each for each in self.recommendations if each[0] >= now - WINDOW_S_MAX]
        return replace(self, recommendations=(*kept, (now, replicas)))


@dataclass(frozen=True)
class Rules:
    """One direction of `spec.behavior`, complete."""

    window_s: int
    select: str
    policies: tuple[tuple[str, int, int], ...]  # type, value, periodSeconds


@dataclass(frozen=True)
class Bounds:
    """What the spec says beside its metrics; `behavior` are the rules up and down."""

    replicas_min: int
    replicas_max: int
    behavior: tuple[Rules, Rules] | None = None


@dataclass(frozen=True)
class Normalized:
    """Replicas, with the reasons and messages of AbleToScale and ScalingLimited."""

    replicas: int
    able: Why
    limit: Why
    is_limited: bool


def bounds_of(spec: Mapping[str, Any]) -> Bounds:
    """Of a spec that the API server has completed."""
    behavior = spec.get("behavior")
    bounds = Bounds(int(spec.get("minReplicas", 1)), int(spec["maxReplicas"]))
    if not behavior:
        return bounds
    return replace(bounds, behavior=(_rules(behavior["scaleUp"]), _rules(behavior["scaleDown"])))


def tolerance_of(spec: Mapping[str, Any]) -> Tolerance:
    """The default one, or that of the behavior."""
    behavior = spec.get("behavior") or {}
    given = {
        way: float(amount(rules["tolerance"]))
        for way, field in (("up", "scaleUp"), ("down", "scaleDown"))
        if "tolerance" in (rules := behavior.get(field) or {})
    }
    return replace(Tolerance(), **given)


def _rules(rules: Mapping[str, Any]) -> Rules:
    policies = [(each["type"], each["value"], each["periodSeconds"]) for each in rules["policies"]]
    window_s = rules.get("stabilizationWindowSeconds", DOWN_WINDOW_S)
    return Rules(window_s, rules["selectPolicy"], tuple(policies))


def normalized(bounds: Bounds, past: Past, current: int, desired: int, now: float) -> Normalized:
    """What windows, policies and bounds leave of the desired replicas."""
    if bounds.behavior is None:
        stable = max([desired, *_since(past, now - DOWN_WINDOW_S)])
        able = _READY if stable == desired else _DOWN_STABILIZED
        replicas, limit = _within(bounds, current, stable)
    else:
        up, down = bounds.behavior
        stable = _stable(up, down, past, current, desired, now)
        able = _UP_STABILIZED if desired >= current else _DOWN_STABILIZED
        able = _READY if stable == desired else able
        rules = up if stable > current else down
        furthest = _limit(rules, past, current, now, is_up=stable > current)
        replicas, limit = _at_rate(bounds, current, stable, furthest)
    return Normalized(replicas, able, limit, is_limited=replicas != stable)


def _since(past: Past, moment: float) -> list[int]:
    return [replicas for at, replicas in past.recommendations if at > moment]


def _stable(up: Rules, down: Rules, past: Past, current: int, desired: int, now: float) -> int:
    """Between the least of the window up and the most of the window down."""
    least = min([desired, *_since(past, now - up.window_s)])
    most = max([desired, *_since(past, now - down.window_s)])
    return min(max(current, least), most)


def _within(bounds: Bounds, current: int, stable: int) -> tuple[int, Why]:
    """Without a behavior."""
    at_most, why = bounds.replicas_max, _TOO_MANY
    if at_most > (limit := max(UP_FACTOR * current, UP_MIN)):
        at_most, why = limit, _UP_LIMIT
    if stable < bounds.replicas_min:
        return bounds.replicas_min, _TOO_FEW
    return (at_most, why) if stable > at_most else (stable, _IN_RANGE)


def _at_rate(bounds: Bounds, current: int, stable: int, furthest: int) -> tuple[int, Why]:
    """With a behavior, whose policies let replicas go as far as `furthest`."""
    if stable > current:
        at_most, why = bounds.replicas_max, _TOO_MANY
        if at_most > (limit := max(current, furthest)):
            at_most, why = limit, _UP_LIMIT
        if stable > at_most:
            return at_most, why
    elif stable < current:
        at_least, why = bounds.replicas_min, _TOO_FEW
        if at_least < (limit := min(current, furthest)):
            at_least, why = limit, _DOWN_LIMIT
        if stable < at_least:
            return at_least, why
    return stable, _IN_RANGE


def _limit(rules: Rules, past: Past, current: int, now: float, *, is_up: bool) -> int:
    """How far the policies let replicas go now."""
    if rules.select == "Disabled":
        return current
    limits = [_of_policy(each, past.changes, current, now, is_up=is_up) for each in rules.policies]
    return max(limits) if (rules.select != "Min") is is_up else min(limits)


def _of_policy(
    policy: tuple[str, int, int],
    changes: Sequence[Moment],
    current: int,
    now: float,
    *,
    is_up: bool,
) -> int:
    """From where the period of the policy began; percents round to the larger step up."""
    kind, value, period_s = policy
    start = current - sum(by for at, by in changes if at > now - period_s)
    if kind == "Pods":
        return start + value if is_up else start - value
    percent = Fraction(100 + value if is_up else 100 - value, 100)
    return math.ceil(start * percent) if is_up else int(start * percent)
