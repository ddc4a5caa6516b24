"""What a schema says about numbers beyond JSON schema, and what it takes for an integer.

For kube-apiserver 1.0 is an integer, 2^63 and 2^53 as a float are not, and a number that does not
fit its format has a cause of its own, which names its place in the text only. Each function walks
a schema (schemas.Node) and a value; parts that stay as they are are shared with the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from sandbox.store import numbers

Place = tuple[str | int, ...]


class Level(Protocol):
    """One level of a schema, as far as numbers matter."""

    @property
    def kind(self) -> str: ...

    @property
    def format(self) -> str: ...

    @property
    def int_or_string(self) -> bool: ...

    @property
    def has_numbers(self) -> bool: ...

    @property
    def keeps_unknown(self) -> bool: ...

    @property
    def items(self) -> Level | None: ...

    def at(self, name: str) -> Level | None: ...


def as_checked(level: Level, value: Any) -> Any:
    """With integers as the JSON schema library knows them where a schema wants integers."""
    return _mapped(level, value, _checked)


def as_read_back(level: Level, value: Any) -> Any:
    """With all numbers as they come back from etcd."""
    return _mapped(level, value, _settled)


def number_bounds(kind: str, form: str) -> tuple[float | None, float | None]:
    """Between which the JSON schema library and kube-apiserver agree on a number."""
    if kind == "integer":
        if form == "int32":
            return numbers.INT32_MIN, numbers.INT32_MAX
        return numbers.INT64_MIN, numbers.INT64_MAX
    if kind == "number" and form in numbers.FLOAT32:
        return -numbers.FLOAT32_MAX, numbers.FLOAT32_MAX
    return None, None


def misfits(level: Level | None, value: Any, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """The places of numbers that do not have their type and format, and these two."""
    if level is None or not level.has_numbers:
        return
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from misfits(level.at(name), item, (*place, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from misfits(level.items, item, (*place, index))
    elif (
        level.kind in {"integer", "number"}
        and numbers.is_number(value)
        and not numbers.fits(value, level.kind, level.format)
    ):
        form = f"with format {level.format}" if level.format else "(default format)"
        yield place, f"{level.kind} {form}"


def enum_takes(value: Any, allowed: Any) -> bool:
    """Whether Go finds a number in an enum: it is converted to the type of each member first."""
    if not numbers.is_number(value):
        return False
    return any(
        _converted(value, to_integer=numbers.is_int64(member)) == member
        for member in allowed
        if numbers.is_number(member)
    ) or (numbers.is_int64(value) and _as_rune(value) in allowed)


def _converted(value: float, *, to_integer: bool) -> float:
    return int(value) if to_integer else float(value)


def _as_rune(value: int) -> str:
    return chr(value) if 0 <= value < 0x110000 else "\ufffd"


def _checked(level: Level | None, value: Any) -> Any:
    if level is None or not (level.kind == "integer" or level.int_or_string):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() and numbers.is_whole(value) else value
    return value if numbers.is_int64(value) else float(value)


def _settled(level: Level | None, value: Any) -> Any:
    back = numbers.read_back(value)
    return value if type(back) is type(value) and back == value else back


def _mapped(level: Level, value: Any, convert: Callable[[Level | None, Any], Any]) -> Any:
    if not level.has_numbers:
        return value
    if isinstance(value, dict):
        return _shared(
            value,
            {name: _below(level, level.at(name), item, convert) for name, item in value.items()},
        )
    if isinstance(value, list):
        return _shared(value, [_below(level, level.items, item, convert) for item in value])
    return convert(level, value) if numbers.is_number(value) else value


def _below(
    above: Level, level: Level | None, value: Any, convert: Callable[[Level | None, Any], Any]
) -> Any:
    if level is not None:
        return _mapped(level, value, convert)
    return _free(value, convert) if above.keeps_unknown else value


def _free(value: Any, convert: Callable[[Level | None, Any], Any]) -> Any:
    """Numbers in what no schema describes."""
    if isinstance(value, dict):
        return _shared(value, {name: _free(item, convert) for name, item in value.items()})
    if isinstance(value, list):
        return _shared(value, [_free(item, convert) for item in value])
    return convert(None, value) if numbers.is_number(value) else value


def _shared(old: Any, new: Any) -> Any:
    """The old collection if all that is in the new one is the same."""
    mine, theirs = (new.values(), old.values()) if isinstance(new, dict) else (new, old)
    return old if all(one is other for one, other in zip(mine, theirs, strict=True)) else new
