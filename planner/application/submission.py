"""What the submission adds to an application: submission-time values and widths of regions.

A value may be given under three spellings: `name`, `composite::name` with its composite in front
(`ns::Main.name`), and the part of that after the last colon (`Main.name`). A width comes, in this
order, from the ParallelRegion objects (at a resize), from the job spec's patterns, from the
submission-time value, from the ADL.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from contracts.reasons import Reason
from contracts.resources.fields import WIDTH_MAX
from planner.application import model
from planner.application.region_names import precision, refuse_unknown, regions_named
from planner.application.suggesting import suggested
from planner.application.xml_text import is_xml_text
from planner.refusals import PlanRefused, shown

DISPLAY_PARAMETER = "streams::pe.display"
VALUES_FIELD = "spec.submissionTimeValues"
OVERRIDES_FIELD = "spec.parallelRegions"
WIDTHS_NAMED_MAX = 5


@dataclass(frozen=True, slots=True)
class SubmissionValues:
    """The SPL literal of each submission-time value by index, and where it came from."""

    literals: Mapping[int, str | None]
    fields: Mapping[int, str]
    display: str | None
    warnings: tuple[str, ...]

    def constant(self, constant: model.RuntimeConstant) -> str:
        """The value of a runtime constant: that of the submission if it refers to one."""
        return self._replaced(constant.submission_value, constant.value)

    def entry(self, entry: model.AnnotationEntry) -> str:
        """The text of an annotation's entry; a submission-time value comes without its quotes."""
        if entry.submission_value is None:
            return entry.text
        return unquoted(self._replaced(entry.submission_value, entry.text))

    def _replaced(self, index: int | None, otherwise: str) -> str:
        literal = None if index is None else self.literals.get(index)
        return otherwise if literal is None else literal


@dataclass(frozen=True, slots=True)
class RegionWidths:
    """The width of each region by region index, and (region, field, width) for people."""

    by_region: Mapping[int, int]
    requests: tuple[tuple[str, str, int], ...]

    @property
    def widest_field(self) -> str:
        """The field that brought the widest region: what a person changes first."""
        return max(self.requests, key=lambda each: each[2])[1] if self.requests else "bundle"

    @property
    def sources(self) -> str:
        """The widths and the fields that brought them, widest first."""
        ordered = sorted(self.requests, key=lambda each: (-each[2], each[0]))
        first = [
            f"{shown(region)}={width} by {field}"
            for region, field, width in ordered[:WIDTHS_NAMED_MAX]
        ]
        more = len(ordered) - len(first)
        return ", ".join(first) + (f" and {more} more" if more > 0 else "")


def resolve_values(
    declared: Iterable[model.SubmissionValue], given: Mapping[str, str]
) -> SubmissionValues:
    """The values of a submission. Refuses with SUBMISSION_VALUE_INVALID, all faults at once."""
    values = tuple(declared)
    faults: list[tuple[str, object, str]] = []
    literals: dict[int, str | None] = {}
    fields: dict[int, str] = {}
    used: dict[str, list[str]] = {}
    for value in values:
        present = [spelling for spelling in _spellings(value) if spelling in given]
        for spelling in present:
            used.setdefault(spelling, []).append(_qualified(value))
        if len(present) > 1:
            names = ", ".join(present)
            faults.append((present[0], given[present[0]], f"is given more than once: {names}"))
        elif not present and value.required:
            faults.append((value.name, "", "is required and not given"))
        literals[value.index] = _literal(value, given[present[0]]) if present else value.literal
        fields[value.index] = f"{VALUES_FIELD}.{present[0] if present else value.name}"
    faults += _unusable(given, used)
    extra = _extra(given, used, values)
    if faults:
        refuse_values(faults, extra)
    return SubmissionValues(literals, fields, given.get(DISPLAY_PARAMETER), extra)


def _qualified(value: model.SubmissionValue) -> str:
    return f"{value.composite}.{value.name}"


def _spellings(value: model.SubmissionValue) -> tuple[str, ...]:
    qualified = _qualified(value)
    return tuple(dict.fromkeys((value.name, qualified, qualified.rpartition(":")[2])))


_CODES = {
    "is required and not given": "CDISR1146E",
    "is given more than once": "CDISR1147E",
    "is ambiguous": "CDISR1148E",
}


def _unusable(
    given: Mapping[str, str], used: Mapping[str, list[str]]
) -> list[tuple[str, object, str]]:
    faults: list[tuple[str, object, str]] = []
    for name, text in given.items():
        matched = used.get(name, [])
        if len(matched) > 1:
            faults.append((name, text, f"is ambiguous: it means {' and '.join(matched)}"))
        if not isinstance(text, str) or not is_xml_text(text):
            faults.append((name, text, "holds characters that XML cannot hold"))
    return faults


def _extra(
    given: Mapping[str, str],
    used: Mapping[str, list[str]],
    values: tuple[model.SubmissionValue, ...],
) -> tuple[str, ...]:
    """A warning for each that nothing requests."""
    names = Counter(value.name for value in values)
    there = [each.name if names[each.name] == 1 else _qualified(each) for each in values]
    return tuple(
        f"{VALUES_FIELD}.{shown(name)} is ignored: the application has no such value (CDISR1149W), "
        f"{suggested(name, there)}"
        for name in sorted(given)
        if name not in used and name != DISPLAY_PARAMETER
    )


def refuse_values(faults: list[tuple[str, object, str]], extra: tuple[str, ...] = ()) -> NoReturn:
    """Raise PlanRefused for values, each with what is wrong; `extra` has further sentences."""
    name, value, _ = faults[0]
    sentences = []
    for who, _, what in faults:
        code = next((code for start, code in _CODES.items() if what.startswith(start)), "")
        sentences.append(f"{VALUES_FIELD}.{shown(who)} {what}" + (f" ({code})" if code else ""))
    raise PlanRefused(
        Reason.SUBMISSION_VALUE_INVALID,
        field=f"{VALUES_FIELD}.{name}",
        value=value,
        message="; ".join((*sentences, *extra)),
    )


def _literal(value: model.SubmissionValue, text: str) -> str:
    if value.kind == "named":
        return _quoted(text)
    return f"[{','.join(_quoted(item) for item in text.split(','))}]"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def unquoted(literal: str) -> str:
    """The text of an SPL string literal; anything else unchanged."""
    if len(literal) >= 2 and literal[0] == literal[-1] == '"':
        return re.sub(r"\\(.)", r"\1", literal[1:-1])
    return literal


def resolve_widths(
    regions: tuple[model.Region, ...],
    values: SubmissionValues,
    *,
    overrides: Iterable[tuple[str, int]],
    exact: Mapping[str, int],
) -> RegionWidths:
    """The width of each region. Refuses WIDTH_REFUSED and UNKNOWN_REGION.

    `region_names.py` has the rule of names. As in the original a full name wins over patterns, and
    of patterns the last one in alphabetical order, however the list was ordered.
    """
    requested = _requested(regions, dict(overrides))
    known = [region.name for region in regions]
    if missing := sorted(exact.keys() - set(known)):
        refuse_unknown(missing[0], known, _object_field(missing[0]))
    widths: dict[int, int] = {}
    requests: list[tuple[str, str, int]] = []
    for region in regions:
        field: str
        width: object
        if region.name in exact:
            field, width = f"{_object_field(region.name)} spec.width", exact[region.name]
        elif region.name in requested:
            alias, width = requested[region.name]
            field = f"{OVERRIDES_FIELD}[{shown(alias)}].width"
        else:
            field, width = _declared(region, values)
        widths[region.index] = _checked(region, field, width)
        requests.append((region.name, field, widths[region.index]))
    return RegionWidths(widths, tuple(requests))


def _object_field(name: str) -> str:
    return f"ParallelRegion {shown(name)}"


def _requested(
    regions: tuple[model.Region, ...], overrides: Mapping[str, int]
) -> dict[str, tuple[str, int]]:
    """The alias and the width of the spec that count for each region that the spec names."""
    names = [region.name for region in regions]
    given: dict[str, list[str]] = {}
    for alias in sorted(overrides):
        field = f"{OVERRIDES_FIELD}[{shown(alias)}].alias"
        for name in regions_named(alias, names, field=field):
            given.setdefault(name, []).append(alias)
    winners = {
        name: max(aliases, key=lambda alias: (precision(alias, name), alias))
        for name, aliases in given.items()
    }
    return {name: (alias, overrides[alias]) for name, alias in winners.items()}


def repeated(overrides: Iterable[tuple[str, int]]) -> tuple[str, ...]:
    """A warning for each alias that is given more than once: the last one counts."""
    given: dict[str, list[int]] = {}
    for alias, width in overrides:
        given.setdefault(alias, []).append(width)
    return tuple(
        f"{OVERRIDES_FIELD}[{shown(alias)}] is given {len(widths)} times: the last width, "
        f"{widths[-1]}, counts"
        for alias, widths in given.items()
        if len(widths) > 1
    )


def _declared(region: model.Region, values: SubmissionValues) -> tuple[str, object]:
    if region.width_value is None:
        return "constantWidth", region.constant_width
    literal = values.literals[region.width_value]
    field = values.fields[region.width_value]
    text = "" if literal is None else unquoted(literal).strip()
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        raise PlanRefused(
            Reason.SUBMISSION_VALUE_INVALID,
            field=field,
            value=text,
            message=(
                f"{field} has the value {shown(text)!r}, which is not a number and cannot be the "
                f"width of the parallel region {shown(region.name)} (CDISR1143E)"
            ),
        )
    return field, int(text)


def _checked(region: model.Region, field: str, width: object) -> int:
    if isinstance(width, int) and not isinstance(width, bool) and 1 <= width <= WIDTH_MAX:
        return width
    below = isinstance(width, int) and width < 1
    limit = "a width is at least 1 (CDISR1164E)" if below else f"a width is at most {WIDTH_MAX}"
    raise PlanRefused(
        Reason.WIDTH_REFUSED,
        field=field,
        value=width,
        message=(
            f"parallel region {shown(region.name)}: {field} is {shown(width)}, "
            f"which is no width; {limit}"
        ),
    )
