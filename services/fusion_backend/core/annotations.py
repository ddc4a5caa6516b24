"""Annotations as the PE runtime reads them: values resolved, lists and tuples parsed."""

from __future__ import annotations

import re

from services.fusion_backend.core import model
from services.fusion_backend.core.consistent import ENTRY, ConsistentRegions
from services.fusion_backend.core.meaning import AnnotationMeaning, AnnotationValue
from services.fusion_backend.core.submission import SubmissionValues, unquoted
from services.fusion_backend.core.threads import ThreadingChoice
from services.fusion_backend.core.topology import Operator

_PAIR = re.compile(r'([A-Za-z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"')
Entries = tuple[tuple[str, AnnotationValue], ...]


def describe_annotations(
    operator: Operator,
    values: SubmissionValues,
    consistent: ConsistentRegions,
    threading: ThreadingChoice | None,
) -> tuple[AnnotationMeaning, ...]:
    """The annotations of an operator, and the threading model that applies to it."""
    found = []
    for annotation in operator.item.annotations:
        entries: Entries = tuple((entry.key, values.entry(entry)) for entry in annotation.entries)
        if annotation.tag == "threading":
            continue
        if annotation.tag == "view":
            entries = _view(operator, entries)
        elif annotation.tag == ENTRY:
            entries = _consistent_entry(operator, annotation, entries, consistent)
        found.append(AnnotationMeaning(annotation.tag, _merged(entries)))
    if threading is not None:
        found.append(AnnotationMeaning("threading", _threading(threading)))
    return tuple(found)


def _threading(choice: ThreadingChoice) -> Entries:
    entries: list[tuple[str, AnnotationValue]] = [("model", choice.model)]
    if choice.model == "dynamic":
        if choice.threads is not None:
            entries.append(("threads", choice.threads))
        if choice.elastic is not None:
            entries.append(("elastic", choice.elastic))
    return tuple(entries)


def _view(operator: Operator, entries: Entries) -> Entries:
    found: list[tuple[str, AnnotationValue]] = []
    for key, value in entries:
        text = value if isinstance(value, str) else ""
        if key == "name":
            found += [(key, operator.prefix + text), ("logicalName", text)]
        elif key == "attributes" and (names := _listed(text)):
            found.append((key, ("list", names)))
        elif key == "filter" and (pairs := tuple(_PAIR.findall(text))):
            found.append((key, ("tuple", pairs)))
        else:
            found.append((key, value))
    return tuple(found)


def _listed(text: str) -> tuple[str, ...]:
    inside = text.strip().removeprefix("[").removesuffix("]")
    return tuple(unquoted(item.strip()) for item in inside.split(",") if item.strip())


def _consistent_entry(
    operator: Operator,
    annotation: model.Annotation,
    entries: Entries,
    consistent: ConsistentRegions,
) -> Entries:
    """Physical index, logical index, time-outs, flags, then the rest: the original's order."""
    logical = annotation.get("index") or "0"
    physical = consistent.member_of.get(operator.index)
    found: list[tuple[str, AnnotationValue]] = [
        ("index", logical if physical is None else str(physical)),
        ("logicalIndex", logical),
    ]
    drain, reset = consistent.timeouts.get(logical, (None, None))
    found += [
        (key, _decimal(text))
        for key, text in (("drainTimeout", drain), ("resetTimeout", reset))
        if text is not None
    ]
    flags = ("isStartOfRegion", "isEndOfRegion")
    found += [(key, value) for flag in flags for key, value in entries if key == flag]
    found += [(key, value) for key, value in entries if key not in ("index", *flags)]
    return tuple(found)


def _decimal(text: str) -> str:
    try:
        return str(float(text))
    except ValueError:
        return text


def _merged(entries: Entries) -> Entries:
    """A key that is written several times becomes a list."""
    found: dict[str, AnnotationValue] = {}
    for key, value in entries:
        before = found.get(key)
        if before is None:
            found[key] = value
        elif isinstance(before, tuple) and before[0] == "list":
            found[key] = ("list", (*before[1], value))
        else:
            found[key] = ("list", (before, value))
    return tuple(found.items())
