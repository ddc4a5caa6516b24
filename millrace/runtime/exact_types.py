"""The cheap check of tuples: exact types of all attributes, in code that is made for one type.

What it passes can be encoded and decoded. What it does not pass may still fit: a subclass, an enum,
an `int` for a `float`; then the codec decides (`checking.py`). It decides about all tuples of types
with rules of their own: `Annotated` attributes, and dataclasses with `__post_init__`. The code is
written as text, as dataclasses write theirs: called for each attribute of each tuple, functions
would cost several times as much (`make bench-run`).

States are checked by the same code when they are saved. An `int` for a `float` is exact there: it
is saved as a float, and comes back as one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, time, timezone, tzinfo
from decimal import Decimal
from typing import Annotated, Any, Final, cast, get_args, get_origin, get_type_hints

from millrace.converting import is_keyed
from millrace.runtime.frames import FRAME_BYTES_MAX
from millrace.tuple_types import TupleType, ValueType, is_dataclass_type

ELEMENTS: Final = 1_000
"""The longest container whose elements differ in length. A longer one is left to the codec."""
_SCALAR_BYTES: Final = 9
_STATE_BYTES_MAX: Final = 1 << 60
"""Stores have limits of their own."""

Exact = Callable[[Sequence[Any]], bool]
"""Whether all tuples of a batch are exact. Raises AttributeError or KeyError if one lacks one."""


def exact_check(type_: TupleType) -> Exact | None:
    """The check of one type; None where the codec has to decide about all of its tuples."""
    return None if has_rules(type_) else _Writing(type_, is_state=False).check


def exact_check_of_states(type_: ValueType) -> Exact:
    """As `exact_check`; rules are left to the store, and so are lengths."""
    return _Writing(type_, is_state=True).check


def has_rules(type_: TupleType | ValueType) -> bool:
    """Whether a value may be refused, or be changed, that has the right types."""
    if type_.attributes:
        hints = get_type_hints(type_.python, include_extras=True)
        if hasattr(type_.python, "__post_init__") or any(map(_is_annotated, hints.values())):
            return True
    parts = type_.parts if isinstance(type_, ValueType) else ()
    return any(map(has_rules, (*parts, *(each.type for each in type_.attributes))))


def _is_annotated(hint: Any) -> bool:
    return get_origin(hint) is Annotated or any(map(_is_annotated, get_args(hint)))


class _Writing:
    """Text of a function, and the names in it."""

    def __init__(self, type_: TupleType | ValueType, *, is_state: bool) -> None:
        self._is_state = is_state
        self._names: dict[str, Any] = {
            **{each.__name__: each for each in (type, str, int, float, bool, bytes, len)},
            "datetime": datetime,
            "Decimal": Decimal,
            "encodes": _encodes,
            "utc": UTC,
            "is_kept": _is_kept,
        }
        self._count = 0
        test = self._tuple("v", type_, _STATE_BYTES_MAX if is_state else FRAME_BYTES_MAX)
        near = ", ".join(f"{each}={each}" for each in self._names)  # found faster than globals
        loop = f" for v in batch:\n  if not ({test}): return False\n return True"
        text = f"def check(batch, {near}):\n{loop}"
        exec(text, self._names)  # noqa: S102 - of types alone; names of attributes are quoted
        self.check: Exact = self._names["check"]

    def _named(self, value: Any, stem: str) -> str:
        self._count += 1
        name = f"{stem}{self._count}"
        self._names[name] = value
        return name

    def _tuple(self, value: str, type_: TupleType | ValueType, bytes_max: int) -> str:
        has_attributes = is_dataclass_type(type_.python)
        kind = self._named(type_.python if has_attributes else dict, "kind")
        each_max = bytes_max // max(len(type_.attributes), 1)
        tests = [f"type({value}) is {kind}"]
        needed = [each for each in type_.attributes if each.is_required]
        if not has_attributes and len(needed) == len(type_.attributes):
            tests.append(f"len({value}) == {len(needed)}")  # what is more would be lost on the way
        elif not has_attributes:
            names = self._named(frozenset(each.name for each in type_.attributes), "names")
            tests.append(f"{value}.keys() <= {names}")
        for attribute in type_.attributes:
            self._count += 1
            own = f"v{self._count}"
            read = f"{value}.{attribute.name}" if has_attributes else f"{value}[{attribute.name!r}]"
            test = self._value(f"({own} := {read})", own, attribute.type, each_max)
            has_it = f"{attribute.name!r} not in {value} or " if attribute not in needed else ""
            tests.append(f"({has_it}{test})" if has_it else test)
        return " and ".join(tests)

    def _value(self, first: str, value: str, type_: ValueType, bytes_max: int) -> str:
        """A test of one value: `first` reads it, `value` is where it is then."""
        kind = f"type({first}) is"
        match type_.name:
            case "rstring":
                length = f"len({value}) <= {bytes_max // 4}"
                return f"{kind} str and ({value}.isascii() or encodes({value})) and {length}"
            case "int64":
                return (
                    f"{kind} int and (-1073741823 <= {value} <= 1073741823"  # faster: one digit
                    f" or -9223372036854775808 <= {value} <= 9223372036854775807)"
                )
            case "float64":
                return f"{kind} float" if not self._is_state else self._number(first, value)
            case "boolean":
                return f"{kind} bool"
            case "blob":
                return f"{kind} bytes and len({value}) <= {bytes_max // 2}"
            case "timestamp":
                zone = f"{value}.tzinfo"
                return f"{kind} datetime and ({zone} is None or {zone} is utc or is_kept({zone}))"
            case "decimal128":
                return f"{kind} Decimal and len(str({value})) <= {bytes_max // 2}"
            case "optional":
                inner = self._value(value, value, type_.parts[0], bytes_max)
                return f"({first} is None or ({inner}))"
            case "tuple":
                return f"({first} is not None and {self._tuple(value, type_, bytes_max)})"
            case "list" | "set" | "map":
                return self._container(first, value, type_, bytes_max)
            case _:
                return self._of_state(first, value, type_, bytes_max)

    def _number(self, first: str, value: str) -> str:
        near = f"-9007199254740992 <= {value} <= 9007199254740992"
        return f"(type({first}) is float or type({value}) is int and {near})"

    def _of_state(self, first: str, value: str, type_: ValueType, bytes_max: int) -> str:
        """A test of what a state may have, and a tuple may not."""
        inner = [self._each(part, bytes_max) for part in type_.parts]
        match type_.name:
            case "union":
                return f"({' or '.join(f'{test}({first})' for test in inner)})"
            case "fixed":
                length = f"type({first}) is tuple and len({value}) == {len(inner)}"
                return " and ".join([length, *(f"{t}({value}[{n}])" for n, t in enumerate(inner))])
            case "exactly" if type_.python is not time:  # it may have a zone
                return f"type({first}) is {self._named(type_.python, 'kind')}"
        return "False"  # the codec decides

    def _container(self, first: str, value: str, type_: ValueType, bytes_max: int) -> str:
        is_short = [each.name in _SHORT for each in type_.parts]
        most = max(bytes_max // (4 * _SCALAR_BYTES) if all(is_short) else ELEMENTS, 1)
        kind = self._named(type_.python, "kind")
        each_max = bytes_max if self._is_state else bytes_max // 2 // most
        inner = [self._each(part, each_max) for part in type_.parts]
        over = [value, f"{value}.values()"] if type_.name == "map" else [value]
        tests = [f"all(map({test}, {each}))" for test, each in zip(inner, over, strict=True)]
        length = [] if self._is_state else [f"len({value}) <= {most}"]
        return " and ".join([f"type({first}) is {kind}", *length, *tests])

    def _each(self, type_: ValueType, bytes_max: int) -> str:
        test = self._value("e", "e", type_, bytes_max)
        name = self._named(None, "each")
        exec(f"def {name}(e): return {test}", self._names)  # noqa: S102 - as above
        return name


_SHORT: Final = ("int64", "float64", "boolean")


def _encodes(text: str) -> bool:
    """Whether it is without halves of characters (surrogates)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_kept(zone: tzinfo) -> bool:
    """Whether another process has this zone, too: by its key, or its offset and name."""
    if type(zone) is not timezone:
        return is_keyed(zone)
    names = cast(Any, zone).__getinitargs__()[1:]
    return all(map(_encodes, names))
