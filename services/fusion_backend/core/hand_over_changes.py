"""What the Job's status says next of a hand-over, as a merge patch; handing_over.py decides it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from contracts.moments import moment_of
from millrace.protocol import HandOver
from services.fusion_backend.core.former_hand_overs import field_of


@dataclass(frozen=True, slots=True)
class HandOverChange:
    """The hand-over of a generation: PEs with their launches, those that sealed, those that ended.

    `lasts_s` is how long one that begins may last (seconds), None for one that has begun. Its
    moments are those of the write. `former`: those that are kept where one begins.
    """

    generation: int
    pes: tuple[tuple[int, int], ...]
    sealed: tuple[tuple[int, int], ...] = ()
    gone: tuple[int, ...] = ()
    is_complete: bool = False
    lasts_s: int | None = None
    former: tuple[HandOver, ...] = field(default=(), hash=False)


def hand_over_patch(
    recorded: Mapping[str, Any] | None, change: HandOverChange, now: float
) -> dict[str, Any]:
    """The merge patch of `status.handOver`; PEs of an earlier one are taken out."""
    before = recorded or {}
    patch: dict[str, Any] = {
        "generation": change.generation,
        "pes": _replaced(before.get("pes"), change.pes),
        "sealed": _replaced(before.get("sealed"), change.sealed),
        "gone": list(change.gone),
        "complete": change.is_complete,
        "completedAt": moment_of(now) if change.is_complete else None,
    }
    if change.lasts_s is not None:
        patch |= {"begun": moment_of(now), "deadline": moment_of(now + change.lasts_s)}
        patch["former"] = [field_of(each) for each in change.former]
    return patch


def _replaced(
    before: Mapping[str, Any] | None, launches: tuple[tuple[int, int], ...]
) -> dict[str, int | None]:
    """The merge patch that makes one map of launches of another."""
    after = {str(pe): launch for pe, launch in launches}
    return {pe: None for pe in before or () if pe not in after} | after
