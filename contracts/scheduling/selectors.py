"""One requirement on labels, as selectors of Kubernetes state it: key, operator, values.

https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#set-based-requirement
Gt and Lt are those of node affinity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement on labels; `operator` is In, NotIn, Exists, DoesNotExist, Gt or Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether these labels meet it; an unknown operator matches nothing."""
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

    def manifest(self) -> dict[str, Any]:
        """The requirement as a manifest has it."""
        values = {"values": list(self.values)} if self.values else {}
        return {"key": self.key, "operator": self.operator, **values}


def requirement_of(manifest: Mapping[str, Any]) -> Requirement:
    """A requirement of a manifest's `matchExpressions` or `matchFields`."""
    values = tuple(str(each) for each in manifest.get("values") or ())
    return Requirement(str(manifest.get("key")), str(manifest.get("operator")), values)


def _integer(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
