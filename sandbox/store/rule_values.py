"""Values as CEL sees them: JSON has one kind of number and no times, a schema tells them apart."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sandbox.store.schemas import TIME_FORMATS, Node


def typed_for_cel(schema: Node, value: Any) -> Any:
    """`value` with `type: number` as floats and times as times; shared where nothing changes.

    Without this `self.ratio * 2.0` fails for the ratio 2, which JSON cannot tell from an integer.
    """
    if not schema.has_cel_types:
        return value
    if isinstance(value, dict):
        typed = {name: _typed_below(schema.at(name), item) for name, item in value.items()}
        return value if all(typed[name] is item for name, item in value.items()) else typed
    if isinstance(value, list):
        return [_typed_below(schema.items, item) for item in value]
    if schema.kind == "number" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if schema.format in TIME_FORMATS and isinstance(value, str):
        return _time(value)
    return value


def _typed_below(schema: Node | None, value: Any) -> Any:
    return value if schema is None else typed_for_cel(schema, value)


def _time(text: str) -> datetime | str:
    """The text itself if it is no time: the format has been judged before."""
    try:
        time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return text
    return time if time.tzinfo else time.replace(tzinfo=UTC)
