"""Annotations as the PE runtime reads them: values resolved, lists and tuples parsed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from planner.application import model
from planner.application.submission import unquoted
from planner.description.meaning import AnnotationMeaning, AnnotationValue
from planner.graph.consistent import ENTRY, ConsistentRegions
from planner.graph.threading_models import Threading
from planner.graph.topology import Operator, Topology

EVENT_TIME = "eventTimeContext"
INPUTS = "inputConnections"
_TRIPLE = re.compile(r"[\[{]([^\[\]{},]*),([^\[\]{},]*),([^\[\]{},]*)[\]}]")
_PAIR = re.compile(r'([A-Za-z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"')
Entries = tuple[tuple[str, AnnotationValue], ...]


def describe_annotations(
    operator: Operator,
    topology: Topology,
    consistent: ConsistentRegions,
    threading: Threading | None,
) -> tuple[AnnotationMeaning, ...]:
    """The annotations of an operator, and the threading model that applies to it."""
    found = []
    for annotation in operator.item.annotations:
        entries: Entries = tuple((entry.key, entry.text) for entry in annotation.entries)
        if annotation.tag == "threading":
            continue
        if annotation.tag == "view":
            entries = _view(operator, entries)
        elif annotation.tag == ENTRY:
            entries = _consistent_entry(operator, annotation, entries, consistent)
        elif annotation.tag == EVENT_TIME:
            entries = _event_time(operator, topology, entries)
        found.append(AnnotationMeaning(annotation.tag, _merged(entries)))
    for item in operator.item.structured:
        is_event_time = item.tag == EVENT_TIME
        entries = _event_time(operator, topology, item.entries) if is_event_time else item.entries
        found.append(AnnotationMeaning(item.tag, entries))
    if threading is not None:
        found.append(AnnotationMeaning("threading", _threading(threading)))
    return tuple(found)


def _event_time(operator: Operator, topology: Topology, entries: Entries) -> Entries:
    """References to what feeds the operator, [port, logical operator, output port], physically.

    One that nothing answers to is kept as it is.
    """
    return tuple(
        (key, _physical(operator, topology, value) if key == INPUTS else value)
        for key, value in entries
    )


def _physical(operator: Operator, topology: Topology, value: AnnotationValue) -> AnnotationValue:
    if isinstance(value, str):
        references = [("list", tuple(map(_bare, found))) for found in _TRIPLE.findall(value)]
        if not references:
            return value
        value = ("list", tuple(references))
    kind, inside = value
    feeding: dict[int, dict[tuple[str, int], dict[str, None]]] = {}
    expanded: list[AnnotationValue] = []
    for reference in dict.fromkeys(inside):
        port, source, output = _three(reference)
        names: Iterable[str] = ()
        if port.isdecimal() and output.isdecimal():
            if int(port) not in feeding:
                feeding[int(port)] = _feeding(operator, topology, int(port))
            names = feeding[int(port)].get((source, int(output)), ())
        expanded += [_reference(reference, (port, name, output)) for name in names] or [reference]
    return kind, tuple(expanded)


def _feeding(
    operator: Operator, topology: Topology, port: int
) -> dict[tuple[str, int], dict[str, None]]:
    """What feeds an input port, physically, by (name or index of the logical operator, output)."""
    found: dict[tuple[str, int], dict[str, None]] = {}
    for edge in topology.edges_into((operator.index, port)):
        source = topology.operators[edge.source]
        for logical, physical in (
            (source.logical_name, source.name),
            (str(source.item.index), str(source.index)),
        ):
            found.setdefault((logical, edge.output), {})[physical] = None
    return found


def _bare(text: str) -> str:
    """The value of `port=0` or `"Source"`."""
    return unquoted(text.rpartition("=")[2].strip())


def _three(reference: AnnotationValue) -> tuple[str, str, str]:
    """Port, operator and output port of a reference; empty texts for anything else."""
    if isinstance(reference, str):
        return "", "", ""
    kind, inside = reference
    values = [item if kind == "list" else item[1] for item in inside]
    if len(values) != 3 or not all(isinstance(item, str) for item in values):
        return "", "", ""
    return values[0], values[1], values[2]


def _reference(like: AnnotationValue, values: tuple[str, str, str]) -> AnnotationValue:
    if isinstance(like, str) or like[0] == "list":
        return "list", values
    return "tuple", tuple(zip((key for key, _ in like[1]), values, strict=True))


def _threading(chosen: Threading) -> Entries:
    entries: list[tuple[str, AnnotationValue]] = [("model", chosen.model)]
    if chosen.model == "dynamic":
        details = (("threads", chosen.threads), ("elastic", chosen.elastic))
        entries += [(key, _text(value)) for key, value in details if value is not None]
    return tuple(entries)


def _text(value: int | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


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
