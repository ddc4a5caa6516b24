"""Types and values that are made of a seed: those that authors have, and those at the edges."""

from __future__ import annotations

import dataclasses
import typing
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import InitVar, field, make_dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import IntEnum, StrEnum
from random import Random
from typing import Any, Final, NotRequired, TypedDict
from zoneinfo import ZoneInfo

Make = Callable[[Random], Any]


class Real(float):
    """As numpy's."""

    def __repr__(self) -> str:
        return f"Real({float(self)!r})"


class Text(str):
    """A text of a library."""

    __slots__ = ()


class Whole(int):
    """An int of a library."""


class Blob(bytes):
    """Bytes of a library."""


class Exact(Decimal):
    """A decimal of a library."""


class Moment(datetime):
    """A moment of a library."""


class Items(list):  # type: ignore[type-arg]
    """A list of a library."""


class Level(IntEnum):
    LOW = 1
    HIGH = 2**40


class Color(StrEnum):
    RED = "red"


class Summer(tzinfo):
    """A zone of a library."""

    def utcoffset(self, dt: datetime | None) -> timedelta:
        return timedelta(hours=2)

    def dst(self, dt: datetime | None) -> timedelta:
        return timedelta(hours=1)

    def tzname(self, dt: datetime | None) -> str:
        return "SUMMER"


class Nowhere(Summer):
    """One that is not known."""

    def utcoffset(self, dt: datetime | None) -> Any:
        return None


BERLIN: Final = ZoneInfo("Europe/Berlin")
ZONES: Final = (
    None,
    UTC,
    timezone(timedelta(hours=2)),
    timezone(timedelta(hours=-23, minutes=-59)),
    timezone(timedelta(seconds=3208, microseconds=5)),
    timezone(timedelta(hours=1), "CET"),
    timezone(timedelta(0), "UTC"),
    BERLIN,
    ZoneInfo("America/New_York"),
    ZoneInfo("UTC"),
)
_TIMES: Final = (
    (1, 1, 1),
    (9999, 12, 31, 23, 59, 59, 999_999),
    (1969, 12, 31, 23, 59, 59, 1),
    (2024, 7, 1, 23, 30),
    (2024, 10, 27, 2, 30),
    (2024, 3, 31, 2, 30),
)
_NAN: Final = float("nan")
_FLOATS: Final = (0.0, -0.0, 1.5, _NAN, float("inf"), -float("inf"), 5e-324, 1.8e308, 0.1)
_INTS: Final = (0, -1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63))
_DECIMALS: Final = ("0", "-0", "1.50", "1E+5", "1e-400", "NaN", "-sNaN12", "-Infinity", "9" * 60)


def moment(chance: Random) -> datetime:
    made = datetime(*chance.choice(_TIMES), tzinfo=chance.choice(ZONES))  # type: ignore[misc]
    return made.replace(fold=chance.randint(0, 1))


PLAIN: Final[Mapping[Any, Make]] = {
    str: lambda chance: chance.choice(("", "a", "é\0\n", "\U0001f600", " x ", "a" * 300)),
    int: lambda chance: chance.choice(_INTS),
    float: lambda chance: chance.choice(_FLOATS),
    bool: lambda chance: chance.choice((True, False)),
    bytes: lambda chance: chance.choice((b"", b"\0\xff", b"x" * 70)),
    datetime: moment,
    Decimal: lambda chance: Decimal(chance.choice(_DECIMALS)),
}
"""Values that are of their type, to the last bit."""
ODD: Final[Mapping[Any, Make]] = {
    str: lambda chance: chance.choice((Text("x"), Color.RED, "\ud800", None, b"x", 7)),
    int: lambda chance: chance.choice(
        (True, Whole(7), Level.HIGH, 2**63, 2**64 - 1, 2**64, 2**70, 1.0, "1", None)
    ),
    float: lambda chance: chance.choice(
        (
            0,
            7,
            -(2**53),
            2**53 + 1,
            2**70,
            10**400,
            Real(1.5),
            Real(_NAN),
            Level.LOW,
            True,
            "1",
            None,
        )
    ),
    bool: lambda chance: chance.choice((0, 1, None, "")),
    bytes: lambda chance: chance.choice(
        (Blob(b"x"), bytearray(b"x"), memoryview(b"xy")[::-1], "x")
    ),
    datetime: lambda chance: chance.choice(
        (
            Moment(2024, 7, 1, tzinfo=BERLIN),
            datetime(2024, 7, 1, tzinfo=Summer()),
            datetime(2024, 7, 1, tzinfo=Nowhere()),
            date(2024, 7, 1),
            "2024-07-01T00:00:00",
            0,
        )
    ),
    Decimal: lambda chance: chance.choice((Exact("1.5"), 1, 1.5, "1")),
}
"""Values that are of another type, or beyond its limits."""


class Making:
    """Types and values of one seed. `is_odd`: values may be of other types than they should."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.is_odd = False
        self._count = 0

    def tuple_type(self, depth: int = 2) -> Any:
        """A dataclass or a TypedDict."""
        self._count += 1
        name = f"Made{self._count}"
        count = self.chance.randint(1, 3)
        hints = {f"a{each}": self.hint(depth) for each in range(count)}
        if self.chance.random() < 0.25:
            return self._typed_dict(name, hints)
        fields: list[Any] = [(each, hint, self._field(hint)) for each, hint in hints.items()]
        if self.chance.random() < 0.04:
            fields.append(("init_only", InitVar[int], field(default=0)))
        flags: dict[str, Any] = {each: self.chance.random() < 0.2 for each in ("frozen", "slots")}
        return make_dataclass(name, fields, kw_only=True, **flags)

    def _typed_dict(self, name: str, hints: dict[str, Any]) -> Any:
        if self.chance.random() < 0.3:
            return TypedDict(name, hints, total=False)  # type: ignore[operator]
        last = list(hints)[-1]
        if len(hints) > 1 and self.chance.random() < 0.5:
            hints[last] = NotRequired[hints[last]]
        return TypedDict(name, hints)  # type: ignore[operator]

    def _field(self, hint: Any) -> Any:
        kind = self.chance.randint(0, 3)
        if kind == 0:
            return field(default_factory=lambda: self.value(hint))
        return field(init=False) if kind == 1 else field()

    def hint(self, depth: int) -> Any:
        """The annotation of an attribute."""
        scalar = self.chance.choice([*PLAIN])
        kind = self.chance.randint(0, 9 if depth else 4)
        if kind <= 3:
            return scalar
        if kind == 4:
            return scalar | None
        inner: Any = self.hint(depth - 1)
        of_key = self.chance.choice((str, int, bytes, bool, float, datetime, Decimal))
        match kind:
            case 5:
                return list[inner]
            case 6:
                return tuple[inner, ...]
            case 7:
                return self.chance.choice((set[of_key], frozenset[of_key]))  # type: ignore[valid-type]
            case 8:
                return dict[of_key, inner]  # type: ignore[valid-type]
        return self.tuple_type(depth - 1)

    def value(self, hint: Any) -> Any:
        """A value of an annotation."""
        odd = self.is_odd and self.chance.random() < 0.15
        if hint in PLAIN:
            return (ODD if odd else PLAIN)[hint](self.chance)
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if typing.is_typeddict(hint) or dataclasses.is_dataclass(hint):
            return self.tuple(hint, odd=odd)
        if origin is NotRequired:
            return self.value(arguments[0])
        if origin is dict:
            return self._map(*arguments, odd=odd)
        if origin in (list, tuple, set, frozenset):
            return self._container(origin, arguments[0], odd=odd)
        return None if self.chance.random() < 0.4 else self.value(arguments[0])

    def tuple(self, type_: Any, *, odd: bool = False) -> Any:
        """An object of a dataclass, made by its fields alone, or a dict."""
        if typing.is_typeddict(type_):
            return self._dict(type_, odd=odd)
        class_ = type_
        if odd and self.chance.random() < 0.5:
            class_ = type("Sub", (type_,), {"__slots__": ()})
        made = object.__new__(class_)
        hints = typing.get_type_hints(type_)
        for each in dataclasses.fields(type_):
            object.__setattr__(made, each.name, self.value(hints[each.name]))
        return made

    def _dict(self, type_: Any, *, odd: bool) -> Any:
        made = {}
        for name, hint in typing.get_type_hints(type_).items():
            if name in type_.__required_keys__ or self.chance.random() < 0.7:
                made[name] = self.value(hint)
        if odd:
            return self.chance.choice((made | {"more": 1}, OrderedDict(made)))
        return made

    def _map(self, key: Any, value: Any, *, odd: bool) -> Any:
        was_odd, self.is_odd = self.is_odd, self.is_odd and self.chance.random() < 0.3
        keys = [self._hashable(key) for _ in range(self.chance.randint(0, 3))]
        self.is_odd = was_odd
        made = {each: self.value(value) for each in keys}
        if not odd:
            return made
        return self.chance.choice(
            (Counter(made), OrderedDict(made), defaultdict(int, made), [*made.items()])
        )

    def _container(self, origin: Any, element: Any, *, odd: bool) -> Any:
        count = self.chance.randint(0, 3)
        is_set = origin in (set, frozenset)
        made = [self._hashable(element) if is_set else self.value(element) for _ in range(count)]
        if odd:
            others: tuple[Any, ...] = (set, frozenset, list) if is_set else (list, tuple, Items)
            return self.chance.choice(others)(made)
        return origin(made)

    def _hashable(self, hint: Any) -> Any:
        while True:
            found = self.value(hint)
            try:
                hash(found)
            except (TypeError, ValueError):  # a bytearray, a memoryview, a signaling NaN
                continue
            return found


def seen(value: Any) -> Any:
    """All that a function can see of a value; equal for equal ones alone."""
    name = type(value).__qualname__
    if dataclasses.is_dataclass(value):
        names = [each.name for each in dataclasses.fields(value) if hasattr(value, each.name)]
        return name, [(each, seen(getattr(value, each))) for each in names]
    if isinstance(value, dict):
        return name, [(seen(key), seen(each)) for key, each in value.items()]
    if isinstance(value, list | tuple):
        return name, [seen(each) for each in value]
    if isinstance(value, set | frozenset):
        return name, sorted(repr(seen(each)) for each in value)
    if isinstance(value, float):
        return name, float.hex(value)
    if isinstance(value, datetime | time):
        return name, value.isoformat(), value.fold, repr(value.tzinfo)
    return name, repr(value)


_TEXTS: Final = "ab \t\r\n\"'\\,;:[]{}&<>#%$=-0.1eé\x85\u2028\ufeff\U0001f600"


def submitted(chance: Random) -> str | int | float | bool:
    """A submission-time value, of one of their types; texts have all that XML can hold."""
    kind = chance.choice((str, int, float, bool))
    if kind is str:
        return "".join(chance.choices(_TEXTS, k=chance.randint(0, 12)))
    if kind is int:
        return chance.choice((*_INTS, 2**70, -(10**100)))
    made: float | bool = PLAIN[kind](chance)
    return made
