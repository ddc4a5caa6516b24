"""Label and field selectors: from the text of a request to a predicate on objects.

Grammar of label selectors: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels
Which fields can be selected by depends on the resource and is listed here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from sandbox.store.errors import bad_request
from sandbox.store.naming import qualified_name_problems
from sandbox.store.resources import ResourceType

Predicate = Callable[[Mapping[str, Any]], bool]
_KEY = r"[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?"
_VALUE = r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_IN = re.compile(rf"^\s*(?P<key>{_KEY})\s+(?P<op>in|notin)\s*\((?P<values>[^()]*)\)\s*$")
_COMPARE = re.compile(rf"^\s*(?P<key>{_KEY})\s*(?P<op>==|=|!=)\s*(?P<value>{_VALUE})\s*$")
_COUNT = re.compile(rf"^\s*(?P<key>{_KEY})\s*(?P<op>[<>])\s*(?P<value>[^<>=!,\s]+)\s*$")
_EXISTS = re.compile(rf"^\s*(?P<not>!?)\s*(?P<key>{_KEY})\s*$")
_FIELD = re.compile(r"^(?P<path>[^=!]+)(?P<op>==|=|!=)(?P<value>.*)$")

_EVERYWHERE = ("metadata.name", "metadata.namespace")
_BY_RESOURCE: dict[str, tuple[str, ...]] = {
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
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
    """Label and field requirements, all of which have to hold."""

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
    known = (*_EVERYWHERE, *_BY_RESOURCE.get(rt.key, ()), *rt.selectable_fields)
    return _selector_of(known, _plain(rt), labels, fields)


@lru_cache(maxsize=4096)
def _selector_of(known: tuple[str, ...], plain: bool, labels: str, fields: str) -> Selector:
    requirements = [
        _field_requirement(part, known, plain) for part in fields.split(",") if part.strip()
    ]
    selector = Selector(label_requirements(labels), tuple(holds for _, _, holds in requirements))
    for path, wanted, _ in requirements:
        if path == "metadata.name" and wanted is not None:
            selector.name = wanted
    return selector


@lru_cache(maxsize=4096)
def label_requirements(text: str) -> tuple[Predicate, ...]:
    """The requirements of a label selector, as predicates on the mapping of labels."""
    return tuple(_label_requirement(part, text) for part in _split(text))


def _split(text: str) -> list[str]:
    """Split at the commas that are not inside the parentheses of a set."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return [] if not text.strip() else parts


def _label_requirement(part: str, text: str) -> Predicate:
    if found := _IN.match(part):
        values = frozenset(value.strip() for value in found["values"].split(","))
        return _member(_checked(found["key"]), values, wanted=found["op"] == "in")
    if found := _COMPARE.match(part):
        value = found["value"] or ""
        return _member(_checked(found["key"]), frozenset({value}), wanted=found["op"] != "!=")
    if found := _COUNT.match(part):
        return _compared(_checked(found["key"]), found["op"], found["value"])
    if found := _EXISTS.match(part):
        return _exists(_checked(found["key"]), wanted=not found["not"])
    raise bad_request(
        f'unable to parse requirement: found {part.strip()!r} in label selector "{text}", '
        "expected: a key, followed by in, notin, =, ==, != or nothing"
    )


def _member(key: str, values: frozenset[str], *, wanted: bool) -> Predicate:
    if wanted:
        return lambda labels: labels.get(key) in values
    return lambda labels: labels.get(key) not in values


def _checked(key: str) -> str:
    """400 for a key that no label can have."""
    for problem in qualified_name_problems(key):
        raise bad_request(f'unable to parse requirement: <nil>: Invalid value: "{key}": {problem}')
    return key


def _compared(key: str, operator: str, value: str) -> Predicate:
    """`key>1`: holds for labels that are whole numbers."""
    if not value.lstrip("-").isdecimal():
        detail = "for 'Gt', 'Lt' operators, the value must be an integer"
        raise bad_request(
            f'unable to parse requirement: values[0]: Invalid value: "{value}": {detail}'
        )
    bound, above = int(value), operator == ">"

    def holds(labels: Mapping[str, Any]) -> bool:
        label = str(labels.get(key, ""))
        if not label.lstrip("-").isdecimal():
            return False
        return int(label) > bound if above else int(label) < bound

    return holds


def _exists(key: str, *, wanted: bool) -> Predicate:
    return lambda labels: (key in labels) is wanted


def _plain(rt: ResourceType) -> bool:
    """Whether only name and namespace select, and the refusal is in other words."""
    return not rt.custom and rt.key not in _BY_RESOURCE


def _field_requirement(
    part: str, known: tuple[str, ...], plain: bool
) -> tuple[str, str | None, Predicate]:
    found = _FIELD.match(part.strip())
    if found is None:
        raise bad_request(f"invalid selector: '{part}'; can't understand '{part}'")
    path, value, wanted = found["path"], found["value"], found["op"] != "!="
    if path not in known:
        if plain:
            allowed = '"metadata.name", "metadata.namespace"'
            raise bad_request(f'"{path}" is not a known field selector: only {allowed}')
        raise bad_request(f"field label not supported: {path}")
    steps = ("source", "component") if path == "source" else tuple(path.split("."))

    def holds(obj: Mapping[str, Any]) -> bool:
        return (_text_at(obj, steps) == value) is wanted

    return path, value if wanted else None, holds


def _text_at(obj: Mapping[str, Any], steps: tuple[str, ...]) -> str:
    at: Any = obj
    for step in steps:
        if not isinstance(at, Mapping):
            return ""
        at = at.get(step)
    if at is None:
        return "false" if steps[-1] in {"unschedulable", "hostNetwork"} else ""
    return str(at).lower() if isinstance(at, bool) else str(at)
