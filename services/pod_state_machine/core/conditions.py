"""The conditions of a PE's status, and the one way to change them.

A condition is written when it comes to hold, and again when it no longer does; one that never held
is not there. Saying the same again gives the same value, so that nothing is written.
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
    """That a condition holds, and why."""

    reason: str
    message: str


def with_conditions(
    status: PeStatus, holding: Mapping[str, Holding], now: float, *, kept: tuple[str, ...] = ()
) -> tuple[Condition, ...]:
    """The conditions when exactly these hold; those in `kept` stay as they are.

    One that held before is called False, with the reason that it held for.
    """
    found = {each.type: each for each in status.conditions}
    for type_ in ALL:
        before = found.get(type_)
        if type_ in holding:
            said = holding[type_]
            found[type_] = _changed(before, type_, _TRUE, said.reason, said.message, now)
        elif before is not None and before.status == _TRUE and type_ not in kept:
            found[type_] = _changed(before, type_, _FALSE, before.reason, "It is over.", now)
    return tuple(found[type_] for type_ in sorted(found))


def with_restart(
    conditions: tuple[Condition, ...], reason: Reason, message: str, now: float
) -> tuple[Condition, ...]:
    """The conditions when a policy restarts the PE: the back-off is over, and why it was there."""
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
