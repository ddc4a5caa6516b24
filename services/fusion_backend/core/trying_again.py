"""Widths that are taken up later: those that gather, and those that are tried again.

1. The first new width is taken up at once. Those that follow within `scaling.settleSeconds` of the
   start of a generation gather, and the newest ones make the next. When a generation was begun
   is recorded in its plan record. A submission is not a resize: what follows it does not gather.
2. A width without a placement is tried again, each time later, for as long as a submission may
   take; at once when nodes appear that it lacked (appearing.py). `status.refused` of the region
   counts the attempts, says when they ended and what the last one lacked. When one has ended, the
   Placement requests the plan in force again.

Then the width is refused for good, until somebody sets a width of the region: hours later it would
surprise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from contracts import labels
from contracts.moments import past_s, unix_s_of
from contracts.reasons import UNPLACEABLE
from contracts.resources.scaling import SETTLE_SECONDS
from planner.refusals import PlanRefused
from services.chassis.table.entries import annotation
from services.fusion_backend.core.seen import RefusedWidth, RegionSeen
from services.fusion_backend.core.snapshot import JobSeen, KnownPlan, Snapshot

TIME_OUT: Final = "spec.submissionTimeOutInSeconds"
"""The field of a refusal of widths that have waited for their placement as long as they may."""
_FIRST_DELAY_S: Final = 5.0
_DELAY_S_MAX: Final = 40.0


# --------------------------------------------------------------------------- gathering


def gathers_until(snapshot: Snapshot, plan: KnownPlan, now: float) -> float | None:
    """Until when new widths gather; None if they are taken up at once.

    A moment that is still to come is one of another clock: it holds up nothing.
    """
    head, settle_s = snapshot.heads.get(plan.record.generation), _settle_s(snapshot.job)
    begun = annotation(head, labels.BEGUN) if head is not None else ""
    if plan.record.generation < 1 or not begun:
        return None
    begun_s = unix_s_of(begun)
    return begun_s + settle_s if begun_s <= now < begun_s + settle_s else None


def settle_text(snapshot: Snapshot) -> str:
    """What gathering widths wait for."""
    field = f"spec.scaling.settleSeconds ({_settle_s(snapshot.job)})"
    return f"follows the last resize within {field} and waits for their end"


def _settle_s(job: JobSeen | None) -> int:
    return settle_s(job.spec_field("scaling") if job is not None else None)


def settle_s(scaling: Mapping[str, Any] | None) -> int:
    """How long new widths gather after the start of a generation, as `spec.scaling` says."""
    return int((scaling or {}).get("settleSeconds", SETTLE_SECONDS))


# --------------------------------------------------------------------------- trying again


def is_unplaceable(refusal: PlanRefused) -> bool:
    """Whether a refusal is for the nodes that there are: other nodes may help."""
    return refusal.reason in UNPLACEABLE


def first_tried(refused: RefusedWidth) -> float | None:
    """When the first attempt ended (unix seconds); None before it is written."""
    return unix_s_of(refused.since) if refused.since else None


def look_again_at(refused: RefusedWidth, job: JobSeen, now: float) -> float | None:
    """When the next attempt begins, or the last one was; None without another one."""
    ends = _ends_at(refused, job)
    return None if not refused.waits or ends is None else min(_next_at(refused, now), ends)


def attempted(
    seen: RegionSeen,
    found: RefusedWidth,
    refusal: PlanRefused,
    job: JobSeen,
    *,
    in_force: int,
    now: float,
) -> RefusedWidth:
    """The refusal of a width of a region after one attempt more to place it."""
    before = seen.refused if seen.attempts else None
    since = before.since if before is not None else ""
    found = replace(found, message=refusal.message, attempts=seen.attempts + 1, since=since)
    ends = _ends_at(found, job)
    if refusal.field == TIME_OUT or (ends is not None and now >= ends):
        return _ended(found, job, in_force)
    limit = f"{TIME_OUT} ({job.time_out_s:g})"
    waits = f"width {found.width} waits for a placement, and is tried again within {limit}: "
    return replace(found, waits=True, text=f"{stays(in_force)}{waits}{found.message}")


@dataclass(frozen=True, slots=True)
class LastAttempt:
    """What a region reports of its last attempt, beside the plan that is in force now.

    `digest`: of the inputs of the plan with the requested width. `has_appeared`: nodes that the
    attempt lacked are there.
    """

    region: RegionSeen
    in_force: int
    generation: int
    digest: str
    has_appeared: bool = False


def of_last_attempt(last: LastAttempt, job: JobSeen, now: float) -> RefusedWidth | None:
    """The refusal that still counts; None if it is time for another attempt.

    A newer plan, newer inputs of it, or the nodes that lacked are a reason to try at once.
    """
    found = last.region.refused
    assert found is not None, "an attempt is recorded"
    ends = _ends_at(found, job)
    if not found.waits or ends is None or now >= ends:
        return _ended(replace(found, generation=last.generation), job, last.in_force)
    is_same = (found.generation, found.inputs_digest) == (last.generation, last.digest)
    is_early = now < _next_at(found, now) and not last.has_appeared
    return found if is_same and is_early else None


def _ended(found: RefusedWidth, job: JobSeen, in_force: int) -> RefusedWidth:
    why = f"no placement within {TIME_OUT} ({job.time_out_s:g}): {found.message}"
    return replace(found, waits=False, awaited=(), text=f"{stays(in_force)}{why}")


def _ends_at(refused: RefusedWidth, job: JobSeen) -> float | None:
    since_s = first_tried(refused)
    return None if since_s is None else since_s + job.time_out_s


def _next_at(refused: RefusedWidth, now: float) -> float:
    """Each attempt waits twice as long as the one before, up to a limit."""
    delay_s = min(_FIRST_DELAY_S * 2.0 ** min(refused.attempts - 1, 10), _DELAY_S_MAX)
    return (past_s(unix_s_of(refused.tried_at), now) if refused.tried_at else 0.0) + delay_s


def stays(width: int) -> str:
    """The beginning of what is reported of a width that is not put in force."""
    return f"width {width} stays in force: "
