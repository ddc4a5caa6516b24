"""The conditions of a PE's status, and the only functions that change them.

A condition is written when it becomes True, and again when it becomes False; one that never was
True does not exist. Setting the same condition again gives an equal value: nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from contracts.moments import moment_of
from contracts.reasons import Reason
from contracts.resources.fields import MESSAGE_CHARS_MAX
from contracts.showing import shown
from services.pod_state_machine.core.snapshot import Condition, PeStatus

BACKING_OFF = "BackingOff"
RESTARTS_EXHAUSTED = "RestartsExhausted"
STUCK_TERMINATING = "StuckTerminating"
POD_BLOCKED = "PodBlocked"
ALL = (BACKING_OFF, POD_BLOCKED, RESTARTS_EXHAUSTED, STUCK_TERMINATING)

_TRUE, _FALSE = "True", "False"


@dataclass(frozen=True, slots=True)
class Holding:
    """Reason and message of a condition that holds."""

    reason: str
    message: str


def with_conditions(
    status: PeStatus, holding: Mapping[str, Holding], now: float, *, kept: tuple[str, ...] = ()
) -> tuple[Condition, ...]:
    """The conditions when exactly those in `holding` (by type) hold; types in `kept` do not change.

    One that held before becomes False and keeps its reason.
    """
    found = {each.type: each for each in status.conditions}
    for type_ in ALL:
        before = found.get(type_)
        if type_ in holding:
            held = holding[type_]
            found[type_] = _changed(before, type_, _TRUE, held.reason, held.message, now)
        elif before is not None and before.status == _TRUE and type_ not in kept:
            found[type_] = _changed(before, type_, _FALSE, before.reason, "It is over.", now)
    return tuple(found[type_] for type_ in sorted(found))


def with_restart(
    conditions: tuple[Condition, ...], reason: Reason, message: str, now: float
) -> tuple[Condition, ...]:
    """The conditions when a policy restarts the PE: BackingOff is False, with the last reason."""
    found = {each.type: each for each in conditions}
    before = found.get(BACKING_OFF)
    found[BACKING_OFF] = _changed(before, BACKING_OFF, _FALSE, reason.value, message, now)
    return tuple(found[type_] for type_ in sorted(found))


def _changed(
    before: Condition | None, type_: str, status: str, reason: str, message: str, now: float
) -> Condition:
    same = before is not None and before.status == status
    since = before.last_transition_time if before and same else moment_of(now)
    return Condition(type_, status, reason, shown(message, MESSAGE_CHARS_MAX), since)
