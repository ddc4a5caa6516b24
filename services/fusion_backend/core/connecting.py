"""Which PEs are kept by a tuple, have failed, or are not connected to all of their neighbours.

A PE that reports nothing counts as connected: an image need not report. What a PE reported in an
older launch is not in its status any more, or names that launch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from contracts.failures import ended_with, fails_at, hangs_at, reported
from contracts.failures import passed_at as passed_at_of
from contracts.reasons import Reason
from contracts.resources import Connectivity, PePhase
from services.fusion_backend.core.seen import PeSeen
from services.fusion_backend.core.situation import Situation

_PE: Final = "ProcessingElement"
_WHY: Final = {
    Connectivity.NONE.value: "is connected to none of its neighbours",
    Connectivity.PARTIAL.value: "is connected to some of its neighbours only",
    "": "has not reported its connections yet",
}
_HANGS: Final = Reason.OPERATOR_HANGS.value
_UNSAVED: Final = Reason.CHECKPOINT_FAILED.value
AGAIN: Final = 2
"""Failures in a row after which the next one is expected, until a launch is past it."""


class Reporting(NamedTuple):
    """A PE that is not well, and why, as a predicate or in its own words."""

    pe: int
    why: str


def unconnected(at: Situation) -> list[Reporting]:
    """The PEs of the newest plan that run and report that connections are missing.

    A job that has ended needs none: its PEs end one after the other, and the last ones see it.
    """
    return [] if at.job.has_ended else _of_running(at, _missing)


def failing(at: Situation) -> list[Reporting]:
    """The PEs of the newest plan that an operator keeps at a tuple, whether they run or not."""
    return _of_launched(at, lambda seen: fails_at(seen.status, at.now))


def passed_at(at: Situation) -> float | None:
    """When the next PE is past what its launch before failed at, if that is to come (unix seconds);
    no fact says it."""
    found = (passed_at_of(PeSeen(each).status) for each in at.snapshot.of(_PE).values())
    return min((each for each in found if each is not None and each > at.now), default=None)


def ended(at: Situation) -> list[Reporting]:
    """The PEs of the newest plan that do not run since their last launch failed."""
    found = _of_launched(at, lambda seen: ended_with(seen.status, at.now))
    return [each for each in found if each.pe in at.not_running]


def failing_again(at: Situation) -> list[Reporting]:
    """The PEs that run for now, after `AGAIN` launches or more in a row that failed."""

    def says(seen: PeSeen) -> str:
        is_again = int(seen.status.get("restarts") or 0) >= AGAIN
        why = ended_with(seen.status, at.now) if is_again else ""
        return f"({why})" if why else ""

    return [each for each in _of_launched(at, says) if each.pe not in at.not_running]


def hanging(at: Situation) -> list[Reporting]:
    """The PEs of the newest plan that run, and whose function does not return from a tuple."""
    return _of_running(at, lambda seen: hangs_at(seen.status))


def unsaved(at: Situation) -> list[Reporting]:
    """The PEs of the newest plan that run, and cannot keep their checkpoints."""

    def says(seen: PeSeen) -> str:
        runtime = reported(seen.status)
        return str(runtime.get("message") or "") if runtime.get("reason") == _UNSAVED else ""

    return _of_running(at, says)


def _of_running(at: Situation, says: Callable[[PeSeen], str]) -> list[Reporting]:
    return _of_launched(at, lambda seen: says(seen) if seen.phase == PePhase.RUNNING else "")


def _of_launched(at: Situation, says: Callable[[PeSeen], str]) -> list[Reporting]:
    """The PEs whose newest launch has the content of the plan, and what they say; if they do."""
    entries = at.snapshot.of(_PE)
    found = []
    for pe in at.plan.record.pes:
        entry = entries.get(pe.name)
        if entry is None:
            continue
        seen = PeSeen(entry)
        if seen.launched_content_id == pe.content_id and (why := says(seen)):
            found.append(Reporting(pe.id, why))
    return found


def _missing(seen: PeSeen) -> str:
    """What is missing; empty where nothing is, or nothing was reported by the running launch."""
    connectivity = str(seen.status.get("connectivity") or "")
    runtime = reported(seen.status)
    if connectivity == Connectivity.FULL or not (connectivity or runtime):
        return ""
    is_of_connections = runtime.get("reason") not in (_HANGS, _UNSAVED)
    message = str(runtime.get("message") or "") if is_of_connections else ""
    return f"reports: {message}" if message else _WHY.get(connectivity, _WHY[""])
