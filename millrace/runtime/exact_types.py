"""The cheap check of tuples: exact types of all attributes, in code that is made for one type.

What it passes can be encoded and decoded. What it does not pass may still fit: a subclass, an enum,
an `int` for a `float`; then the codec decides (`checking.py`). It decides about all tuples of types
with rules of their own: `Annotated` attributes, and dataclasses with `__post_init__`. The code is
written as text, as dataclasses write theirs: called for each attribute of each tuple, functions
would cost several times as much (`make bench-run`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from decimal import Decimal
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from millrace.runtime.frames import FRAME_BYTES_MAX
from millrace.tuple_types import TupleType, ValueType, is_dataclass_type

ELEMENTS: Final = 1_000
"""Of a container whose elements differ in length. A longer one is left to the codec."""
_SCALAR_BYTES: Final = 9

Exact = Callable[[Sequence[Any]], bool]
"""Whether all tuples of a batch are exact. Raises AttributeError or KeyError if one lacks one."""


def exact_check(type_: TupleType) -> Exact | None:
    """The check of one type; None where the codec has to decide about all of its tuples."""
    return None if _has_rules(type_) else _Writing(type_).check


def _has_rules(type_: TupleType | ValueType) -> bool:
    """Whether a value may be refused that has the right types."""
    if type_.attributes:
        hints = get_type_hints(type_.python, include_extras=True)
        if hasattr(type_.python, "__post_init__") or any(map(_is_annotated, hints.values())):
            return True
    parts = type_.parts if isinstance(type_, ValueType) else ()
    return any(map(_has_rules, (*parts, *(each.type for each in type_.attributes))))


def _is_annotated(hint: Any) -> bool:
    return get_origin(hint) is Annotated or any(map(_is_annotated, get_args(hint)))


class _Writing:
    """Text of a function, and the names in it."""

    def __init__(self, type_: TupleType) -> None:
        self._names: dict[str, Any] = {
            **{each.__name__: each for each in (type, str, int, float, bool, bytes, len)},
            "datetime": datetime,
            "Decimal": Decimal,
            "encodes": _encodes,
            "zones": (type(None), timezone),
        }
        self._count = 0
        test = self._tuple("v", type_, FRAME_BYTES_MAX)
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
        if not has_attributes:  # a connection would carry the others, too
            tests.append(f"len({value}) == {len(type_.attributes)}")
        for attribute in type_.attributes:
            self._count += 1
            own = f"v{self._count}"
            read = f"{value}.{attribute.name}" if has_attributes else f"{value}[{attribute.name!r}]"
            tests.append(self._value(f"({own} := {read})", own, attribute.type, each_max))
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
                return f"{kind} float"
            case "boolean":
                return f"{kind} bool"
            case "blob":
                return f"{kind} bytes and len({value}) <= {bytes_max // 2}"
            case "timestamp":
                near = f"1 < {value}.year < 9999"  # or another zone has no such year
                return f"{kind} datetime and type({value}.tzinfo) in zones and {near}"
            case "decimal128":
                return f"{kind} Decimal and len(str({value})) <= {bytes_max // 2}"
            case "optional":
                inner = self._value(value, value, type_.parts[0], bytes_max)
                return f"({first} is None or ({inner}))"
            case "tuple":
                return f"({first} is not None and {self._tuple(value, type_, bytes_max)})"
            case _:
                return self._container(first, value, type_, bytes_max)

    def _container(self, first: str, value: str, type_: ValueType, bytes_max: int) -> str:
        is_short = [each.name in _SHORT for each in type_.parts]
        most = max(bytes_max // (4 * _SCALAR_BYTES) if all(is_short) else ELEMENTS, 1)
        kinds = self._named(_KINDS[type_.name], "kinds")
        inner = [self._each(part, bytes_max // 2 // most) for part in type_.parts]
        over = [value, f"{value}.values()"] if type_.name == "map" else [value]
        tests = [f"all(map({test}, {each}))" for test, each in zip(inner, over, strict=True)]
        return " and ".join([f"type({first}) in {kinds}", f"len({value}) <= {most}", *tests])

    def _each(self, type_: ValueType, bytes_max: int) -> str:
        test = self._value("e", "e", type_, bytes_max)
        name = self._named(None, "each")
        exec(f"def {name}(e): return {test}", self._names)  # noqa: S102 - as above
        return name


_SHORT: Final = ("int64", "float64", "boolean")
_KINDS: Final = {"list": (list, tuple), "set": (set, frozenset), "map": (dict,)}


def _encodes(text: str) -> bool:
    """Whether it is without halves of characters (surrogates)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
