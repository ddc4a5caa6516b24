"""The planner's answer as it crosses from a worker: frames of bytes, none of them empty.

1. what is not the plan record, in JSON: a refusal, or port labels, warnings and what follows;
2. the plan record in its own form;
3. the AADLs as the plan holds them, compressed, many to a frame. Nobody restores one before it is
   written: those of a wide connection are hundreds of megabytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from contracts.reasons import Reason
from planner.compressing import CompressedTexts
from planner.numbering.records import PlanRecord
from planner.planning import PlanResult
from planner.refusals import PlanRefused
from planner.requesting import PlanLimits

FRAME_BYTES = 1024 * 1024
"""A frame of AADLs ends with the one that makes it as large as this."""
Sizes = list[tuple[int, int]]
"""PE and bytes of each text of a frame."""


def to_frames(outcome: PlanResult | PlanRefused) -> Iterator[bytes]:
    """An answer in frames."""
    if isinstance(outcome, PlanRefused):
        yield orjson.dumps({"refused": _refusal(outcome)})
        return
    frames = list(_shared_out(outcome.aadls))
    head = {
        "portLabels": outcome.port_labels,
        "warnings": outcome.warnings,
        "models": [len(model) for model in outcome.aadls.models],
        "aadls": frames,
    }
    yield orjson.dumps(head)
    yield outcome.record.to_bytes()
    if outcome.aadls.models:
        yield b"".join(outcome.aadls.models)
    for sizes in frames:
        yield b"".join(outcome.aadls.compressed[pe] for pe, _ in sizes)


def _shared_out(aadls: CompressedTexts[int]) -> Iterator[Sizes]:
    frame: Sizes = []
    total = 0
    for pe, text in aadls.compressed.items():
        frame.append((pe, len(text)))
        total += len(text)
        if total >= FRAME_BYTES:
            yield frame
            frame, total = [], 0
    if frame:
        yield frame


def from_frames(frames: Iterable[bytes]) -> PlanResult:
    """The answer in these frames. Raises PlanRefused where it is one."""
    coming = iter(frames)
    head = orjson.loads(next(coming))
    if refused := head.get("refused"):
        raise PlanRefused(
            _reason(refused["reason"]),
            field=refused["field"],
            value=refused["value"],
            message=refused["message"],
        )
    record = PlanRecord.from_json(next(coming))
    models = list(_cut(next(coming), head["models"])) if head["models"] else []
    compressed: dict[int, bytes] = {}
    for sizes, frame in zip(head["aadls"], coming, strict=True):
        pes = [pe for pe, _ in sizes]
        compressed.update(zip(pes, _cut(frame, [size for _, size in sizes]), strict=True))
    return PlanResult(
        record=record,
        aadls=CompressedTexts.of(models, compressed, bytes_max=PlanLimits().aadl_bytes_max),
        port_labels=str(head["portLabels"]),
        warnings=tuple(head["warnings"]),
    )


def _cut(frame: bytes, sizes: Iterable[int]) -> Iterator[bytes]:
    start = 0
    for size in sizes:
        yield frame[start : start + size]
        start += size


def _refusal(refusal: PlanRefused) -> dict[str, Any]:
    return {
        "reason": refusal.reason.value,
        "field": refusal.field,
        "value": refusal.value,
        "message": refusal.message,
    }


def _reason(value: str) -> Reason:
    return next(reason for reason in Reason if reason.value == value)
