"""Limits on the size of parts of a Job's spec; the schema limits single fields and items only.

1. Depth and bytes of what ProcessingElements are made from, and of what a plan record keeps, are
   refused before anything is read.
2. Options and submission-time values are copied into every PE, so that bytes times PEs is what the
   API server holds, in each PE and its pod. It is refused once a plan says how many PEs there are,
   before the plan is recorded: at a submission, at a resize, and at an edit of a running job.

What was stored under an older definition may nest deeper than a template may.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import orjson

from contracts.reasons import Reason
from contracts.resources.accepting import OPERATORS_OWN
from contracts.showing import json_text
from contracts.unreadable import too_deep
from planner.refusals import PlanRefused
from services.fusion_backend.core.spec.inputs import TEMPLATE_FIELDS, PlanInputs
from services.fusion_backend.core.spec.provisions import TEMPLATE

TEMPLATE_DEPTH_MAX: Final = 32
"""Levels of objects and lists; a selector in a pod's affinity is the eleventh."""
TEMPLATE_BYTES_MAX: Final = 64 * 1024
"""Of a pod template, as JSON."""
OPTIONS_BYTES_MAX: Final = 32 * 1024
"""Of all else that ProcessingElements are made from, as JSON."""
VALUES_BYTES_MAX: Final = 64 * 1024
"""Of submission-time values with their names, as JSON."""
REGIONS_BYTES_MAX: Final = 64 * 1024
"""Of the first widths of parallel regions, as JSON: the plan record keeps them."""
COPIES_BYTES_MAX: Final = 64 * 1024 * 1024
"""Of options and values in all PEs of a job; the API server takes some 18 times as much memory."""

_POD_TEMPLATE: Final = f"{TEMPLATE}.podTemplate"
_VALUES: Final = "spec.submissionTimeValues"
_REGIONS: Final = "spec.parallelRegions"
_OPTIONS: Final = "the options of processing elements"
_ELSEWHERE: Final = "keep long texts in a ConfigMap or Secret that pods mount"

Json = Mapping[str, Any]


class _Part(NamedTuple):
    """A field of a spec, and how many bytes it is as JSON."""

    field: str
    size: int


def refusal_of_size(spec: Json) -> PlanRefused | None:
    """Why a Job's spec (as JSON) is too deep or too large, whatever it is about."""
    parts = dict(_parts(spec))
    for field, value in parts.items():
        if place := too_deep(value, TEMPLATE_DEPTH_MAX, field):
            return _too_deep(field, place)
    sizes = [_Part(field, _bytes(value)) for field, value in parts.items()]
    return (
        _too_large([each for each in sizes if each.field == _POD_TEMPLATE], TEMPLATE_BYTES_MAX)
        or _too_large([each for each in sizes if each.field == _VALUES], VALUES_BYTES_MAX)
        or _too_large([each for each in sizes if each.field == _REGIONS], REGIONS_BYTES_MAX)
        or _too_large([each for each in sizes if _is_option(each)], OPTIONS_BYTES_MAX, of=_OPTIONS)
    )


def refusal_of_copies(inputs: PlanInputs, pes: int) -> PlanRefused | None:
    """Why a plan of so many PEs would copy too much into them."""
    template: Json = orjson.loads(inputs.template) if inputs.template else {}
    sizes = [
        _Part(field, _bytes(value))
        for field, value in _parts(template)
        if field.removeprefix(f"{TEMPLATE}.") not in OPERATORS_OWN
    ]
    if inputs.submission_time_values:
        sizes.append(_Part(_VALUES, _bytes(dict(inputs.submission_time_values))))
    one = sum(each.size for each in sizes)
    if one * pes <= COPIES_BYTES_MAX:
        return None
    largest = max(sizes, key=lambda each: each.size)
    beside = f", all options and submission-time values are {one:,}" if len(sizes) > 1 else ""
    return _refused(
        Reason.TEMPLATE_TOO_LARGE,
        largest,
        f"{largest.field} is {largest.size:,} bytes{beside}, and {pes:,} PEs would carry them:"
        f" {one * pes:,} bytes, at most {COPIES_BYTES_MAX:,}; {_ELSEWHERE}, or ask for fewer PEs",
    )


def _parts(spec: Json) -> Iterator[tuple[str, Any]]:
    """What is copied or kept of a spec, by path: each option of PEs, and the other fields."""
    for name in (*TEMPLATE_FIELDS, "submissionTimeValues", "parallelRegions"):
        value = spec.get(name)
        if f"spec.{name}" == TEMPLATE and isinstance(value, Mapping):
            yield from ((f"{TEMPLATE}.{field}", each) for field, each in value.items())
        elif value is not None:
            yield f"spec.{name}", value


def _is_option(part: _Part) -> bool:
    return part.field not in (_POD_TEMPLATE, _VALUES, _REGIONS)


def _bytes(value: Any) -> int:
    """Bytes as JSON, of what is known not to be deep."""
    return len(json_text(value).encode())


def _too_deep(field: str, place: str) -> PlanRefused:
    return PlanRefused(
        Reason.TEMPLATE_TOO_LARGE,
        field=field,
        value=f"more than {TEMPLATE_DEPTH_MAX} levels",
        message=f"{field} nests more than {TEMPLATE_DEPTH_MAX} levels deep, at {place}: no pod has"
        " such a field, so leave out what is inside",
    )


def _too_large(parts: list[_Part], bytes_max: int, *, of: str = "") -> PlanRefused | None:
    """The refusal of parts that are too large together; the largest is named."""
    whole = sum(each.size for each in parts)
    if whole <= bytes_max:
        return None
    largest = max(parts, key=lambda each: each.size)
    sentence = f"{largest.field} is {largest.size:,} bytes"
    if of:
        sentence += f", {of} are {whole:,} with it"
    is_of_pes = largest.field not in (_VALUES, _REGIONS)
    reason = Reason.TEMPLATE_TOO_LARGE if is_of_pes else Reason.SPEC_INVALID
    advice = "name regions with * in aliases" if largest.field == _REGIONS else _ELSEWHERE
    return _refused(reason, largest, f"{sentence}; at most {bytes_max:,} are taken: {advice}")


def _refused(reason: Reason, part: _Part, message: str) -> PlanRefused:
    return PlanRefused(reason, field=part.field, value=f"{part.size:,} bytes", message=message)
