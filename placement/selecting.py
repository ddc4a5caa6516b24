"""What a template of pods asks of the labels of their node: its node selector and node affinity.

The rules are those of the scheduler of Kubernetes: labels of the selector and one of the terms must
hold; a term holds with all of its expressions, and an empty one never.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

NODE_NAME: Final = "metadata.name"


@dataclass(frozen=True, slots=True)
class Expression:
    """One expression over labels: In, NotIn, Exists, DoesNotExist, Gt or Lt, as in a pod."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether it is true of these labels; what is no operator never is."""
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
        numbers = [_integer(value), *map(_integer, self.values)]
        if len(numbers) != 2 or numbers[0] is None or numbers[1] is None:
            return False
        return numbers[0] > numbers[1] if self.operator == "Gt" else numbers[0] < numbers[1]

    def __str__(self) -> str:
        listed = ", ".join(self.values)
        match self.operator:
            case "In" if len(self.values) == 1:
                return f"the label {self.key}={listed}"
            case "In":
                return f"the label {self.key} as one of {listed}"
            case "NotIn":
                return f"the label {self.key} other than {listed}"
            case "DoesNotExist":
                return f"the absence of the label {self.key}"
            case "Gt":
                return f"the label {self.key} above {listed}"
            case "Lt":
                return f"the label {self.key} below {listed}"
        return f"the label {self.key}"


@dataclass(frozen=True, slots=True)
class Term:
    """Expressions over labels and over the name of a node that hold together."""

    expressions: tuple[Expression, ...] = ()
    fields: tuple[Expression, ...] = ()

    def lacking(self, name: str, labels: Mapping[str, str]) -> tuple[Expression, ...]:
        """The expressions that a node does not meet."""
        fields = {NODE_NAME: name}
        return (
            *(each for each in self.expressions if not each.holds(labels)),
            *(each for each in self.fields if not each.holds(fields)),
        )

    @property
    def is_empty(self) -> bool:
        """Whether it asks for nothing: such a term selects no node."""
        return not self.expressions and not self.fields


@dataclass(frozen=True, slots=True)
class Selector:
    """All that a template asks for. Without terms only the labels count."""

    labels: tuple[tuple[str, str], ...] = ()
    terms: tuple[Term, ...] = ()

    def selects(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether a node with this name and these labels may be the pod's."""
        return not self._lacking_labels(labels) and (
            not self.terms
            or any(not term.is_empty and not term.lacking(name, labels) for term in self.terms)
        )

    def lacks(self, name: str, labels: Mapping[str, str]) -> tuple[str, ...]:
        """What a node lacks, by the term that it comes closest to, each as a phrase."""
        found = [f"lacks {each}" for each in self._lacking_labels(labels)]
        lacking = [term.lacking(name, labels) for term in self.terms if not term.is_empty]
        if lacking:
            found += [f"lacks {each}" for each in min(lacking, key=len)]
        elif self.terms:
            found.append("is selected by no term of the node affinity, which are all empty")
        return tuple(found)

    def _lacking_labels(self, labels: Mapping[str, str]) -> list[Expression]:
        return [
            Expression(key, "In", (value,))
            for key, value in self.labels
            if labels.get(key) != value
        ]


def _integer(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
