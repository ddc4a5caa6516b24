"""Statuses as merge patches: what a change says, put over what the object says now.

A list in a merge patch replaces the whole list, so conditions are always computed from the status
whose version the patch carries. The status of a ParallelRegion is made in `widths.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from contracts.moments import moment_of
from contracts.resources import ConditionStatus, JobCondition, with_condition
from contracts.resources.fields import MESSAGE_CHARS_MAX
from contracts.showing import shown
from services.fusion_backend.core.effects import (
    DesiredCondition,
    FieldValue,
    JobStatusChange,
)
from services.fusion_backend.core.hand_over_changes import HandOverChange, hand_over_patch
from services.fusion_backend.core.retrying import Failure, failure_fields, outlook

Status = Mapping[str, Any]


def patched_conditions(
    status: Status, desired: Iterable[DesiredCondition], generation: int, now: str
) -> list[dict[str, Any]]:
    """The conditions of a status with these as they should stand (`now` as a moment)."""
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
        "conditions": patched_conditions(status, change.conditions, generation, moment),
    }
    if change.phase:
        patch |= {
            "phase": change.phase,
            "reason": change.reason.value,
            "message": change.message[:MESSAGE_CHARS_MAX],
        }
    for key, value in change.fields:
        if isinstance(value, HandOverChange):
            patch[key] = hand_over_patch(status.get(key), value, now)
        else:
            patch[key] = _plain(value)
    if any(each.type == JobCondition.HEALTHY for each in change.conditions):
        patch["healthReportedAt"] = moment if change.reports_health else None
    if change.failure is not None:
        fields = failure_fields(status, change.failure, now)
        patch |= {**fields, "message": _with_outlook(change.message, change.failure, fields)}
    if change.starts:
        patch["startedAt"] = moment
    return {"status": patch}


def _with_outlook(message: str, failure: Failure, fields: Mapping[str, Any]) -> str:
    """The message of a failure and what follows, which is not cut off."""
    follows = f"; {outlook(failure, fields)}"
    return message[: MESSAGE_CHARS_MAX - len(follows)].rstrip(".") + follows


def _plain(value: FieldValue) -> Any:
    """A field of a status as JSON: pairs become an object, numbers a list."""
    if not isinstance(value, tuple):
        return value
    if value and isinstance(value[0], int):
        return list(value)
    return dict(cast("tuple[tuple[str, int], ...]", value))


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
