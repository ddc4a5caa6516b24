"""What ParallelRegions report: the width in force, what becomes of a new one, what can be counted.

Which widths are requested, refused or wait is decided in `widths.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from contracts.moments import moment_of
from contracts.reasons import Reason
from contracts.resources.fields import MESSAGE_CHARS_MAX
from planner.numbering.records import PeRecord, RegionRecord
from services.fusion_backend.core.conditions import condition, is_current, patched_conditions
from services.fusion_backend.core.counting import Counting, counting
from services.fusion_backend.core.effects import (
    ConditionState,
    DesiredCondition,
    WriteRegionStatus,
)
from services.fusion_backend.core.loading import Loading
from services.fusion_backend.core.naming_pes import do_not_run
from services.fusion_backend.core.references import wrong_region
from services.fusion_backend.core.seen import RefusedWidth, RegionSeen
from services.fusion_backend.core.snapshot import KnownPlan, Snapshot
from services.fusion_backend.core.trying_again import settle_text, stays
from services.fusion_backend.core.widths import WidthRequests, region_seen

_WAITS: Final = re.compile(r"waits for .*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Waiting:
    """What wanted widths wait for, as a sentence without its subject, and why."""

    reason: Reason
    text: str


def outdated_statuses(
    snapshot: Snapshot,
    plan: KnownPlan,
    widths: WidthRequests,
    waiting: Waiting | None,
    *,
    is_settled: bool,
    without_node: Sequence[PeRecord] = (),
) -> tuple[WriteRegionStatus, ...]:
    """Statuses of ParallelRegions that do not say what is so.

    A new width is reported in force only when the generation is complete (`is_settled`), with those
    of its PEs that have not been on a node. Nothing is reported of a width that is being decided
    on, and of one that gathers only beside the width in force: a moment later it is taken up.
    """
    statuses = []
    counted = counting(snapshot, plan.record)
    requested = {name for name, *_ in widths.requested} if waiting is not None else set()
    for region in plan.record.regions:
        seen = region_seen(snapshot, region)
        if seen is None or seen.is_deleting:
            continue
        status = _in_force(seen, region, plan.record.generation, counted[region.index])
        status = _with_idle(status, [pe for pe in without_node if region.index in pe.regions])
        if (refusal := widths.refused.get(region.name)) is not None:
            status = _refused(status, refusal)
        elif waiting is not None and region.name in requested:
            status = _waits(status, region, seen, waiting)
        elif not is_settled:
            continue
        elif region.name in widths.gathering and seen.reported[-1] != region.width:
            status = _waits(status, region, seen, Waiting(Reason.GATHERING, settle_text(snapshot)))
        elif region.name in widths.waiting:
            status = _waits(status, region, seen, _for_state(seen, widths.loading))
        elif seen.width(region.width) != region.width:
            continue
        wrong = wrong_region(seen.entry, region, snapshot.name, plan.record)
        if not _is_current(seen, status := replace(status, wrong=wrong)):
            statuses.append(status)
    return tuple(statuses)


def _with_idle(desired: WriteRegionStatus, idle: Sequence[PeRecord]) -> WriteRegionStatus:
    """A status that names the PEs that do not run."""
    return replace(desired, message=f"{desired.message}; {do_not_run(idle)}") if idle else desired


def _in_force(
    seen: RegionSeen, region: RegionRecord, generation: int, counted: Counting
) -> WriteRegionStatus:
    return WriteRegionStatus(
        name=seen.name,
        index=region.index,
        width=region.width,
        generation=generation,
        observed_generation=seen.spec_generation,
        reason=Reason.WIDTH_IN_FORCE,
        message=f"width {region.width} is in force",
        selector=counted.selector,
        scalable=counted.scalable,
    )


def _refused(desired: WriteRegionStatus, refused: RefusedWidth) -> WriteRegionStatus:
    reason = Reason.WIDTH_WAITS if refused.waits else Reason.WIDTH_REFUSED
    return replace(desired, reason=reason, message=refused.text, refused=refused)


def _waits(
    desired: WriteRegionStatus, region: RegionRecord, seen: RegionSeen, waiting: Waiting
) -> WriteRegionStatus:
    wanted = f"width {seen.width(region.width)} {waiting.text}"
    message = f"{stays(region.width)}{wanted}"[:MESSAGE_CHARS_MAX]
    refused = seen.refused if seen.attempts else None  # what counts the attempts
    return replace(
        desired,
        reason=Reason.WIDTH_WAITS,
        message=message,
        awaited=waiting.reason,
        refused=refused,
    )


def _for_state(seen: RegionSeen, loads: Loading | None) -> Waiting:
    """What a width waits for, in the words of the first write: PEs that load are no writes."""
    assert loads is not None, "widths wait for PEs"
    is_known = condition(seen.status, "Accepted").get("reason") == Reason.STATE_LOADING.value
    is_same = is_known and seen.reported[0] == seen.spec_generation
    before = _WAITS.search(seen.message) if is_same else None
    return Waiting(Reason.STATE_LOADING, before[0] if before else loads.text)


def _is_current(seen: RegionSeen, desired: WriteRegionStatus) -> bool:
    conditions = (_accepted(desired), desired.scalable)
    are_current = all(is_current(seen.status, each) for each in conditions)
    return are_current and seen.says(_fields(desired)) and seen.says_refused(desired.refused)


def region_status_patch(
    seen: RegionSeen, desired: WriteRegionStatus, *, now: float
) -> dict[str, Any]:
    """The patch of a ParallelRegion's status."""
    _, generation, _ = seen.reported
    conditions = (_accepted(desired), desired.scalable)
    observed, moment = desired.observed_generation, moment_of(now)
    return {
        "status": {
            **_fields(desired),
            "refused": _stamped(seen, desired.refused, moment),
            "replicas": desired.width,
            "generation": max(desired.generation, int(generation or 0)),
            "conditions": patched_conditions(seen.status, conditions, observed, moment),
        }
    }


def _fields(desired: WriteRegionStatus) -> dict[str, Any]:
    return {
        "width": desired.width,
        "selector": desired.selector,
        "observedGeneration": desired.observed_generation,
        "reason": desired.reason.value,
        "message": desired.message,
    }


def _stamped(seen: RegionSeen, refused: RefusedWidth | None, moment: str) -> dict[str, Any] | None:
    """The field `refused`, with the time of an attempt that ends now."""
    if refused is None or not refused.attempts:
        return refused.to_json() if refused is not None else None
    tried_at = refused.tried_at if refused.attempts == seen.attempts else moment
    return replace(refused, since=refused.since or moment, tried_at=tried_at or moment).to_json()


def _accepted(desired: WriteRegionStatus) -> DesiredCondition:
    """The condition Accepted of a ParallelRegion."""
    if desired.wrong:
        return DesiredCondition("Accepted", "False", Reason.INVALID_REFERENCE, desired.wrong)
    accepted = DesiredCondition("Accepted", "True", desired.reason, desired.message)
    if desired.awaited is not None:
        return replace(accepted, status="Unknown", reason=desired.awaited)
    if desired.refused is not None:
        status: ConditionState = "Unknown" if desired.refused.waits else "False"
        return replace(accepted, status=status, reason=desired.refused.reason)
    return accepted
