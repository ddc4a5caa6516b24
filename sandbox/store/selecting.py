"""Selectors of a request: the predicate on objects, and the grammar of field selectors.

Label selectors are read in label_selectors.py. Which fields can be selected by depends on the
resource and is listed here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sandbox.store.errors import bad_request, shown
from sandbox.store.label_selectors import label_requirements
from sandbox.store.resources import ResourceType

Predicate = Callable[[Mapping[str, Any]], bool]
_OPERATOR = re.compile("!=|==|=")
_ESCAPED = re.compile(r"\\(.?)|([,=])", re.DOTALL)

_NAME, _NAMESPACE = "metadata.name", "metadata.namespace"
_ALIASES = {"spec.host": "spec.nodeName"}  # of the first clients, still understood
_BY_RESOURCE: dict[str, tuple[str, ...]] = {
    "pods": (
        "spec.host",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase",),
    "secrets": ("type",),
    "services": ("spec.clusterIP", "spec.type"),
    "events": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
}


class Selector:
    """Label and field requirements, which all have to hold."""

    __slots__ = ("_fields", "_labels", "everything", "name")

    def __init__(self, labels: tuple[Predicate, ...], fields: tuple[Predicate, ...]) -> None:
        self._labels = labels
        self._fields = fields
        self.everything = not labels and not fields
        self.name: str | None = None  # of the only object that can match, if the fields say so

    def matches(self, obj: Mapping[str, Any]) -> bool:
        if self._labels:
            labels = obj["metadata"].get("labels") or {}
            if not all(holds(labels) for holds in self._labels):
                return False
        return all(holds(obj) for holds in self._fields)


def selector_of(rt: ResourceType, labels: str, fields: str) -> Selector:
    """Parse both selectors of a request; 400 if they cannot be understood."""
    plain = _plain(rt)
    everywhere = (_NAME, _NAMESPACE) if rt.namespaced or plain else (_NAME,)
    known = (*everywhere, *_BY_RESOURCE.get(rt.key, ()), *rt.selectable_fields)
    return _selector_of(known, plain, labels, fields)


@lru_cache(maxsize=4096)
def _selector_of(known: tuple[str, ...], plain: bool, labels: str, fields: str) -> Selector:
    terms = field_terms(fields)
    for term in terms:
        _check_known(term.path, known, plain)
    selector = Selector(label_requirements(labels), tuple(term.predicate() for term in terms))
    for term in terms:
        if term.path == "metadata.name" and term.wanted:
            selector.name = term.value
    return selector


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """`path=value`, or `path!=value` where it is not `wanted`."""

    path: str
    value: str
    wanted: bool

    def predicate(self) -> Predicate:
        steps = tuple(_ALIASES.get(self.path, self.path).split("."))
        value, wanted = self.value, self.wanted
        if self.path == "source":
            return lambda obj: (_source_of(obj) == value) is wanted
        return lambda obj: (_text_at(obj, steps) == value) is wanted


@lru_cache(maxsize=4096)
def field_terms(text: str) -> tuple[FieldTerm, ...]:
    """The terms of a field selector, in the order of their texts; 400 if it cannot be read.

    Terms without a path and without a value select everything.
    """
    terms = (_field_term(part, text) for part in sorted(_field_parts(text)) if part)
    return tuple(term for term in terms if term.path or term.value)


def _field_parts(text: str) -> list[str]:
    """Split at the commas that no backslash precedes."""
    return re.findall(r"((?:[^\\,]|\\.|\\$)*)(?:,|$)", text, re.DOTALL)


def _field_term(part: str, text: str) -> FieldTerm:
    found = _OPERATOR.search(part)
    if found is None:
        raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
    return FieldTerm(part[: found.start()], _unescaped(part[found.end() :]), found[0] != "!=")


def _unescaped(value: str) -> str:
    r"""`\,`, `\=` and `\\` stand for themselves; 400 for others, and for a bare `=`."""

    def plain(found: re.Match[str]) -> str:
        if found[2]:
            raise bad_request(
                f"invalid field selector: unescaped character in value: {ord(found[2])}"
            )
        if not found[1] or found[1] not in "\\,=":
            raise bad_request(f"invalid field selector: invalid escape sequence: {found[0]}")
        return found[1]

    return _ESCAPED.sub(plain, value)


def _check_known(path: str, known: tuple[str, ...], plain: bool) -> None:
    if path in known:
        return
    if plain:
        allowed = '"metadata.name", "metadata.namespace"'
        raise bad_request(f"{shown(path)} is not a known field selector: only {allowed}")
    raise bad_request(f"field label not supported: {path}")


def _plain(rt: ResourceType) -> bool:
    """Whether only name and namespace select, and the refusal is in other words."""
    return not rt.custom and rt.key not in _BY_RESOURCE


def _text_at(obj: Mapping[str, Any], steps: tuple[str, ...]) -> str:
    at: Any = obj
    for step in steps:
        if not isinstance(at, Mapping):
            return ""
        at = at.get(step)
    if at is None:
        return "false" if steps[-1] in {"unschedulable", "hostNetwork"} else ""
    return str(at).lower() if isinstance(at, bool) else str(at)


def _source_of(obj: Mapping[str, Any]) -> str:
    """Who says an Event: newer ones name a controller instead of a source."""
    return _text_at(obj, ("source", "component")) or _text_at(obj, ("reportingComponent",))
