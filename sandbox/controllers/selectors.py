"""Selectors and tolerations inside objects, as frozen values that can be keys.

Pure. Reads label selectors, node selector terms, taints and tolerations; who asks for what is read
by demands.py, and what it means for a node is decided by feasibility.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Labels = Mapping[str, str]
_NAME = "metadata.name"
_INTEGER = re.compile(r"[+-]?[0-9]+")
_INT64 = range(-(2**63), 2**63)
NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "NoExecute"


@dataclass(frozen=True)
class Requirement:
    """One expression on one label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, labels: Labels) -> bool:
        """Unknown operators hold for nothing."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                return self._compares(value)
        return False

    def _compares(self, value: str | None) -> bool:
        number, bound = _integer(value), _integer(self.values[0] if self.values else None)
        if number is None or bound is None:
            return False
        return number > bound if self.operator == "Gt" else number < bound


def _integer(text: str | None) -> int | None:
    """A whole number of 64 bits, as Go reads it; None for any other value."""
    if text is None or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number in _INT64 else None


Requirements = tuple[Requirement, ...]


@dataclass(frozen=True)
class NodeTerm:
    """A term of a node selector: all expressions have to hold; an empty term matches nothing."""

    labels: Requirements
    fields: Requirements

    def matches(self, name: str, labels: Labels) -> bool:
        if not self.labels and not self.fields:
            return False
        return all(item.holds(labels) for item in self.labels) and all(
            item.holds({_NAME: name}) for item in self.fields
        )

    def names(self) -> frozenset[str] | None:
        """The nodes that it names; None if it names none."""
        named = [frozenset(item.values) for item in self.fields if _names(item)]
        return frozenset.intersection(*named) if named else None


def _names(item: Requirement) -> bool:
    return item.key == _NAME and item.operator == "In"


@dataclass(frozen=True)
class Taint:
    """A taint of a node, without the time when it was added."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{{{self.key}: {self.value}}}"


@dataclass(frozen=True)
class Toleration:
    """What a pod puts up with; `seconds` None means for ever."""

    key: str
    exists: bool
    value: str
    effect: str
    seconds: int | None

    def tolerates(self, taint: Taint) -> bool:
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.exists:
            return True
        return bool(self.key) and self.value == taint.value


def requirements_of(expressions: Iterable[Mapping[str, Any]] | None) -> Requirements:
    return tuple(
        Requirement(
            str(item.get("key", "")),
            str(item.get("operator", "")),
            tuple(str(value) for value in item.get("values") or ()),
        )
        for item in expressions or ()
    )


def exact_labels(labels: Labels | None) -> Requirements:
    return tuple(Requirement(key, "In", (value,)) for key, value in sorted((labels or {}).items()))


def label_selector_of(selector: Mapping[str, Any] | None) -> Requirements | None:
    """None selects nothing, an empty tuple everything."""
    if selector is None:
        return None
    return exact_labels(selector.get("matchLabels")) + requirements_of(
        selector.get("matchExpressions")
    )


def node_term_of(term: Mapping[str, Any]) -> NodeTerm:
    return NodeTerm(
        requirements_of(term.get("matchExpressions")), requirements_of(term.get("matchFields"))
    )


def taints_of(node: Mapping[str, Any]) -> tuple[Taint, ...]:
    return tuple(
        Taint(str(item.get("key")), str(item.get("value") or ""), str(item.get("effect")))
        for item in (node.get("spec") or {}).get("taints") or ()
    )


def tolerations_of(pod: Mapping[str, Any]) -> tuple[Toleration, ...]:
    return tuple(
        Toleration(
            key=str(item.get("key") or ""),
            exists=item.get("operator") == "Exists",
            value=str(item.get("value") or ""),
            effect=str(item.get("effect") or ""),
            seconds=item.get("tolerationSeconds"),
        )
        for item in (pod.get("spec") or {}).get("tolerations") or ()
    )


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(item.tolerates(taint) for item in tolerations)
