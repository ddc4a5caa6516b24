"""Statuses as merge patches: what a change says, put over what the object says now.

A list in a merge patch replaces the whole list, so conditions are always computed from the status
whose version the patch carries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from contracts.moments import moment_of
from contracts.reasons import reason_of
from contracts.resources import ConditionStatus, with_condition
from contracts.resources.fields import MESSAGE_CHARS_MAX
from contracts.showing import shown
from services.fusion_backend.core.effects import (
    DesiredCondition,
    JobStatusChange,
    RefusedWidth,
    WriteRegionStatus,
)

Status = Mapping[str, Any]


def _conditions(
    status: Status, desired: Iterable[DesiredCondition], generation: int, now: str
) -> list[dict[str, Any]]:
    conditions = list(status.get("conditions") or ())
    for each in desired:
        conditions = with_condition(
            conditions,
            type_=each.type,
            status=ConditionStatus(each.status),
            reason=each.reason,
            message=each.message or each.reason.sentence,
            observed_generation=generation,
            now=now,
        )
    return conditions


def job_status_patch(
    status: Status, change: JobStatusChange, *, generation: int, now: float
) -> dict[str, Any]:
    """The patch of a Job's status; `generation` is the Job's metadata.generation."""
    moment = moment_of(now)
    if change.is_of_older_spec:
        generation = int(status.get("observedGeneration") or 0)
    patch: dict[str, Any] = {
        "observedGeneration": generation,
        "conditions": _conditions(status, change.conditions, generation, moment),
    }
    if change.phase:
        patch |= {
            "phase": change.phase,
            "reason": change.reason.value,
            "message": change.message[:MESSAGE_CHARS_MAX],
        }
    for key, value in change.fields:
        patch[key] = dict(value) if isinstance(value, tuple) else value
    if change.starts:
        patch["startedAt"] = moment
    return {"status": patch}


def region_status_patch(
    status: Status, desired: WriteRegionStatus, *, selector: str, now: float
) -> dict[str, Any]:
    """The patch of a ParallelRegion's status."""
    return {
        "status": {
            "width": desired.width,
            "replicas": desired.width,
            "selector": selector,
            "generation": max(desired.generation, int(status.get("generation") or 0)),
            "observedGeneration": desired.observed_generation,
            "reason": desired.reason.value,
            "message": desired.message,
            "refused": refused_field(desired.refused),
            "conditions": _conditions(
                status, (accepted_of(desired),), desired.observed_generation, moment_of(now)
            ),
        }
    }


def accepted_of(desired: WriteRegionStatus) -> DesiredCondition:
    """The condition Accepted of a ParallelRegion."""
    accepted = DesiredCondition("Accepted", "True", desired.reason, desired.message)
    if desired.refused is not None:
        return replace(accepted, status="False", reason=desired.refused.reason)
    if desired.awaited is not None:
        return replace(accepted, status="Unknown", reason=desired.awaited)
    return accepted


def refused_field(refused: RefusedWidth | None) -> dict[str, Any] | None:
    """The field `status.refused` of a ParallelRegion; None: no width is refused."""
    if refused is None:
        return None
    return {
        "width": refused.width,
        "reason": refused.reason.value,
        "message": refused.message,
        "inputsDigest": refused.inputs_digest,
        "generation": refused.generation,
    }


def refused_of(status: Status) -> RefusedWidth | None:
    """The refusal that `refused_field` wrote; None without one that we can read."""
    field = status.get("refused") or {}
    reason = reason_of(field.get("reason"))
    if reason is None:
        return None
    return RefusedWidth(
        width=field.get("width", -1),
        reason=reason,
        message=str(field.get("message") or ""),
        inputs_digest=str(field.get("inputsDigest")),
        generation=field.get("generation", -1),
        text=str(status.get("message") or ""),
    )


def condition(status: Status, type_: str) -> Mapping[str, Any]:
    """A condition of a status; empty if the status does not have it."""
    return next((each for each in status.get("conditions") or () if each["type"] == type_), {})


def is_current(status: Status, desired: DesiredCondition) -> bool:
    """Whether a condition stands as it should."""
    now = condition(status, desired.type)
    message = shown(desired.message or desired.reason.sentence, MESSAGE_CHARS_MAX)
    return (now.get("status"), now.get("reason"), now.get("message")) == (
        desired.status,
        desired.reason.value,
        message,
    )
