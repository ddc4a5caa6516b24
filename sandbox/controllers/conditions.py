"""Conditions of pods and nodes: how they are read and set. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Status = Mapping[str, Any]


def condition_of(status: Status, kind: str) -> Mapping[str, Any] | None:
    """The condition of this type, or None."""
    for item in status.get("conditions") or ():
        if item.get("type") == kind:
            found: Mapping[str, Any] = item
            return found
    return None


def holds(status: Status, kind: str) -> bool:
    """Whether the condition of this type is True."""
    found = condition_of(status, kind)
    return found is not None and found.get("status") == "True"


def with_condition(status: Status, condition: Mapping[str, Any], time: str) -> Status:
    """The status with this condition; `status` itself if that is what it already says.

    The time of transition moves only when the condition's status does.
    """
    before = condition_of(status, condition["type"])
    if before is not None and all(before.get(key) == condition[key] for key in condition):
        return status
    same = before is not None and before.get("status") == condition["status"]
    since = before.get("lastTransitionTime", time) if before is not None and same else time
    changed = {**condition, "lastTransitionTime": since}
    others = [item for item in status.get("conditions") or () if item is not before]
    return {**status, "conditions": [*others, changed]}
