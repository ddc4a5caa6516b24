"""Submission-time values: parameters of an application that a submission gives.

Values and constants travel as JSON texts: a submission-time value is a quoted string in an ADL,
which is JSON, too.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from millrace.errors import GraphError, ParameterError

V = TypeVar("V", str, int, float, bool)


@dataclass(frozen=True, slots=True)
class Parameter(Generic[V]):
    """A submission-time value; `App.param` makes one. `default` is None if one is required."""

    name: str
    type: type[V]
    default: V | None

    def of(self, given: object) -> V:
        """The value of what was given in this process, as its text in a submission would give it.

        Raises ParameterError.
        """
        try:
            text = str(given)
        except ValueError:  # an int of too many digits
            raise ParameterError(
                f"submission-time value {self.name} is {_shown(given)} of too many digits"
            ) from None
        return self.parsed(text)

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


TEXT_BYTES_MAX: Final = 5_000_000
"""The longest text of a constant in a bundle: XML parsers refuse twice as much."""
_ESCAPED: Final = re.compile("[\ud800-\udfff\ufffe\uffff]")
_UNFIT: Final = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, not even escaped."""


def constant_text(value: Any) -> str:
    """A constant as a digest or an ADL holds it: canonical JSON, without what XML cannot hold."""
    return _json(value, sort_keys=True)


def argument_text(value: Any) -> str:
    """An argument of a function as an ADL holds it; dicts keep the order of their keys."""
    return _json(value, sort_keys=False)


def _json(value: Any, *, sort_keys: bool) -> str:
    text = json.dumps(value, sort_keys=sort_keys, ensure_ascii=False, separators=(",", ":"))
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def check_argument(value: Any, who: str) -> None:
    """Raises GraphError where a constant would not come back from a bundle as it is."""
    try:
        text = argument_text(value)
        back = constant_value(text)
        difference = _difference(value, back, "")
    except (TypeError, ValueError, RecursionError):
        raise GraphError(
            f"{who}={_shown(value)} cannot be written into a bundle: "
            "use text, numbers, true or false, lists and dicts"
        ) from None
    if difference:
        raise GraphError(f"{who}={_shown(value)} would come back from a bundle as {difference}")
    if len(text.encode()) > TEXT_BYTES_MAX:
        raise GraphError(
            f"{who}={_shown(value)} is longer than {TEXT_BYTES_MAX:,} bytes: put it into a file "
            "that the bundle includes"
        )


def _shown(value: Any) -> str:
    """The beginning of a value, in characters that any terminal can show."""
    try:
        shown = ascii(value)
    except (ValueError, RecursionError):  # an int of too many digits, or too deep
        return f"({type(value).__name__})"
    return shown if len(shown) <= 200 else f"{shown[:200]}…"


def _difference(value: Any, back: Any, place: str) -> str:
    """What came back as something else, and where; empty if nothing did."""
    at = f" (at {place})" if place else ""
    if type(value) is not type(back):
        return f"{type(back).__name__}, and it is {type(value).__name__}{at}"
    if isinstance(value, dict):
        if list(map(repr, value)) != list(map(repr, back)) or not all(
            type(k) is str for k in value
        ):
            return f"a dict with other keys: use text for keys{at}"
        parts = ((f"{place}[{key!a}]", value[key], back[key]) for key in value)
    elif isinstance(value, list):
        parts = ((f"{place}[{i}]", *both) for i, both in enumerate(zip(value, back, strict=True)))
    else:
        return "" if repr(value) == repr(back) else f"{back!a}{at}"
    return next(filter(None, (_difference(a, b, name) for name, a, b in parts)), "")


def check_text(text: str, who: str) -> str:
    """The text, if XML can hold it. Raises GraphError, which names it and the character."""
    if not isinstance(text, str):
        raise GraphError(f"{who} is {_shown(text)}: use text")
    if found := _UNFIT.search(text):
        raise GraphError(
            f"{who} is {_shown(text)}, and its character U+{ord(found[0]):04X} cannot be written "
            "into a bundle"
        )
    return text


def constant_value(text: str) -> Any:
    """The value of a constant of an ADL or AADL. Raises ValueError if it is no JSON."""
    return json.loads(text, strict=False)
