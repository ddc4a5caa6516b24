"""Submission-time values: parameters of an application that a submission gives.

Values and constants travel as JSON texts: a submission-time value is a quoted string in an ADL,
which is JSON, too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from millrace.errors import ParameterError

V = TypeVar("V", str, int, float, bool)


@dataclass(frozen=True, slots=True)
class Parameter(Generic[V]):
    """A submission-time value; `App.param` makes one. `default` is None if one is required."""

    name: str
    type: type[V]
    default: V | None

    def parsed(self, text: str) -> V:
        """The value in the text of a submission. Raises ParameterError."""
        if self.type is bool:
            if text.lower() in ("true", "false"):
                return text.lower() == "true"
        else:
            try:
                return self.type(text)
            except ValueError:
                pass
        raise ParameterError(
            f"submission-time value {self.name} is {text!r}, which is not of type "
            f"{self.type.__name__}"
        )


def constant_text(value: Any) -> str:
    """A constant of an operator as an ADL holds it: canonical JSON."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def constant_value(text: str) -> Any:
    """The value of a constant of an ADL or AADL. Raises ValueError if it is no JSON."""
    return json.loads(text, strict=False)
