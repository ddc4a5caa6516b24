"""The conditions of an owner's status: which of them hold.

A condition is written when it becomes True, and again when it becomes False; one that never was
True does not exist. Setting the same condition again gives an equal value: nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from contracts.moments import moment_of
from contracts.reasons import Reason
from contracts.resources import StatedCondition, with_stated
from services.launching.core.owners import LaunchStatus

BACKING_OFF = "BackingOff"
RESTARTS_EXHAUSTED = "RestartsExhausted"
STUCK_TERMINATING = "StuckTerminating"
POD_BLOCKED = "PodBlocked"
ALL = (BACKING_OFF, POD_BLOCKED, RESTARTS_EXHAUSTED, STUCK_TERMINATING)

_TRUE, _FALSE = "True", "False"
_IS_OVER = "It is over."


@dataclass(frozen=True, slots=True)
class Holding:
    """Reason and message of a condition."""

    reason: str
    message: str


def with_conditions(
    status: LaunchStatus, holding: Mapping[str, Holding], now: float, *, kept: tuple[str, ...] = ()
) -> tuple[StatedCondition, ...]:
    """The conditions when exactly those in `holding` (by type) hold; types in `kept` do not change.

    One that held before becomes False and keeps its reason.
    """
    conditions = status.conditions
    for type_ in ALL:
        before = status.condition(type_)
        if type_ in holding:
            held = holding[type_]
            conditions = _with(conditions, type_, _TRUE, held, now)
        elif before is not None and before.status == _TRUE and type_ not in kept:
            conditions = _with(conditions, type_, _FALSE, Holding(before.reason, _IS_OVER), now)
    return conditions


def any_holds(status: LaunchStatus) -> bool:
    """Whether the status says that something is wrong, or is waited for."""
    return any(each.type in ALL and each.status == _TRUE for each in status.conditions)


def with_restart(
    conditions: tuple[StatedCondition, ...], reason: Reason, message: str, now: float
) -> tuple[StatedCondition, ...]:
    """The conditions when a policy restarts it: BackingOff is False, with the last reason."""
    return _with(conditions, BACKING_OFF, _FALSE, Holding(reason.value, message), now)


def _with(
    conditions: tuple[StatedCondition, ...], type_: str, status: str, why: Holding, now: float
) -> tuple[StatedCondition, ...]:
    desired = StatedCondition(type_, status, why.reason, why.message, moment_of(now))
    return with_stated(conditions, desired)
