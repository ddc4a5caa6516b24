"""How many bytes tuples take up in memory, about: what waits is bounded by bytes, too.

1. Tuples whose attributes all have one size are not weighed: a number of them is a bound.
2. One in about `STRETCH` of the others is weighed, as long as all that are weighed are small. As
   many small tuples as a queue takes are less than its bytes, whatever is not weighed.
3. Behind a large one each is weighed, until `ALERT` small ones came in a row.

Property: about `STRETCH` large tuples that come after small ones pass unweighed at each place.
A part that several tuples share counts for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence, ValuesView
from functools import lru_cache
from itertools import islice
from sys import getsizeof, maxsize
from typing import Any, Final

from millrace.tuple_types import TupleType, ValueType, is_dataclass_type

WAITING_BYTES: Final = 4 << 20
"""Bytes of tuples that wait at one place, about: in a queue, or behind a source."""
BATCH_BYTES: Final = 1 << 20
"""Bytes of tuples that are handed on, or made, at once; a single tuple may have more."""
MADE_MAX: Final = 2_048
"""Tuples that a function makes at once, but for the results of one call."""
LARGE_BYTES: Final = 2 << 10
"""A larger tuple counts: so many tuples as a queue has reach its bytes before its number."""
STRETCH: Final = 32
ALERT: Final = 4_096
ELEMENTS: Final = 1_024
"""So many elements of a container are weighed. In a longer one they stand for the others."""
_LEVELS: Final = 32
_OBJECT_BYTES: Final = 100
"""An object and its numbers, about."""
_ELEMENT_BYTES: Final = 40
_FIXED: Final = ("int64", "float64", "boolean", "timestamp")

Weigh = Callable[[Any], int]


class Scale:
    """Weighs the tuples of one stream, at one place."""

    def __init__(self, type_: TupleType) -> None:
        """No large tuple was seen."""
        self._weigh = weigher(type_)
        self._alert = 0
        self._at = 0

    @property
    def has_to_weigh(self) -> bool:
        """Whether one tuple may be larger than another."""
        return self._weigh is not None

    @property
    def is_alert(self) -> bool:
        """Whether each tuple is to be weighed: a large one was there lately."""
        return self._alert > 0

    def bytes_of(self, batch: Sequence[Any]) -> int:
        """The bytes of a batch, about."""
        weigh, tuples = self._weigh, len(batch)
        if weigh is None or not tuples:
            return _OBJECT_BYTES * tuples
        if self._alert:
            sizes = [*map(weigh, batch)]
        else:
            sizes = [*map(weigh, batch[self._next() % min(tuples, STRETCH) :: STRETCH])]
            if max(sizes) > LARGE_BYTES:
                sizes = [*map(weigh, batch)]
        self._saw(max(sizes), len(sizes))
        return sum(sizes) * tuples // len(sizes)

    def parts(self, batch: Sequence[Any]) -> Iterator[Sequence[Any]]:
        """The parts of a batch that are handed on at once: the batch itself if it is small."""
        if self.bytes_of(batch) <= BATCH_BYTES or self._weigh is None:
            yield batch
            return
        begin, size = 0, 0
        for place, each in enumerate(map(self._weigh, batch)):
            size += each
            if size > BATCH_BYTES and place > begin:
                yield batch[begin:place]
                begin, size = place, each
        yield batch[begin:]

    def large(self, item: Any) -> int:
        """The bytes of a large tuple; 0 for all others. `stretch` follows it."""
        if self._weigh is None or ((size := self._weigh(item)) <= LARGE_BYTES and not self._alert):
            return 0
        self._saw(size, 1)
        return size if size > LARGE_BYTES else 0

    @property
    def stretch(self) -> int:
        """How many tuples pass now until one is weighed. No pattern of tuples can follow it."""
        if self._weigh is None:
            return maxsize
        return 0 if self._alert else STRETCH // 2 + self._next()

    def _next(self) -> int:
        self._at = (self._at * 5 + 3) % STRETCH  # comes to each number
        return self._at

    def _saw(self, largest: int, tuples: int) -> None:
        self._alert = ALERT if largest > LARGE_BYTES else max(self._alert - tuples, 0)


class Load:
    """What a function has made since `begin`: it stops when that is heavy, or is many tuples.

    `offset`: so many tuples pass unweighed first. `weigh`: None if all tuples have one size.
    """

    def __init__(self, type_: TupleType | None) -> None:
        """Nothing is made. `type_`: None if it makes no new tuples."""
        self._scale = None if type_ is None else Scale(type_)
        self.weigh = None if type_ is None else weigher(type_)
        self._bytes = self._tuples = self.offset = 0
        self.is_full = False

    @property
    def is_alert(self) -> bool:
        """Whether each tuple is to be weighed: a large one was made lately."""
        return self._scale is not None and self._scale.is_alert

    def begin(self) -> None:
        """It begins to make tuples."""
        self._bytes = self._tuples = 0
        self.offset = (self.offset * 5 + 3) % STRETCH  # or a pattern of tuples could follow it
        self.is_full = False

    def add(self, given: Sequence[Any]) -> int:
        """Weigh results; how many more it may make until it weighs again. 0 if it `is_full`."""
        if self._scale is None:
            return maxsize
        self._tuples += len(given)
        self._bytes += self._scale.bytes_of(given)
        self.is_full = self._bytes >= BATCH_BYTES or self._tuples >= MADE_MAX
        return 0 if self.is_full else min(self._scale.stretch, MADE_MAX - self._tuples)


@lru_cache(maxsize=ELEMENTS)
def weigher(type_: TupleType) -> Weigh | None:
    """The weight of one tuple of a type, in bytes; None if all of them have the same.

    It is written as text, as the checks of `exact_types.py`.
    """
    has_attributes = is_dataclass_type(type_.python)
    terms: list[str] = []
    for each in type_.attributes:
        read = f"v.{each.name}" if has_attributes else f"v[{each.name!r}]"
        if term := _term(each.type, read):
            terms.append(term)
    if not terms:
        return None
    names: dict[str, Any] = {"deep": deep, "texts": texts, "len": len}
    near = ", ".join(f"{each}={each}" for each in names)
    tries = f"try: return {_OBJECT_BYTES} + {' + '.join(terms)}"
    text = f"def weigh(v, {near}):\n {tries}\n except Exception: return deep(v)"
    exec(text, names)  # noqa: S102 - of types alone; names of attributes are quoted
    made: Weigh = names["weigh"]
    return made


def _term(type_: ValueType, value: str) -> str:
    """The text of what an attribute adds; empty if that is the same for all."""
    match type_.name:
        case name if name in _FIXED:
            return ""
        case "optional":
            return _term(type_.parts[0], value) and f"deep({value})"
        case "rstring" | "blob" | "decimal128":
            return f"{value}.__sizeof__()"  # a third of the cost of getsizeof
        case "list" | "set":
            return _inside(type_.parts[0], value)
        case "map":
            keys, values = type_.parts
            return f"{_inside(keys, value)} + {_inside(values, f'{value}.values()')}"
        case "tuple" if not any(_term(each.type, "v") for each in type_.attributes):
            return ""
        case _:
            return f"deep({value})"


def _inside(type_: ValueType, value: str) -> str:
    if type_.name in _FIXED:
        return f"{_ELEMENT_BYTES} * len({value})"
    return f"texts({value})" if type_.name in ("rstring", "blob") else f"deep({value})"


def texts(values: Collection[str | bytes]) -> int:
    """The bytes of strings or bytes, and of what has them."""
    sizes = [*map(getsizeof, islice(values, 0, None, -(-len(values) // ELEMENTS) or 1))]
    return getsizeof(values) + sum(sizes) * len(values) // max(len(sizes), 1)


def deep(value: Any, elements: int = ELEMENTS, levels: int = _LEVELS) -> int:
    """The bytes of a value and of what is in it, about, whatever it is."""
    try:
        size, parts = getsizeof(value), _parts(value)
        if not parts or not levels:
            return size
        count = len(parts)
        weighed = list(islice(parts, 0, None, -(-count // elements)))
        inner = max(elements // 32, 8) if count > 32 else elements
        inside = sum(deep(each, inner, levels - 1) for each in weighed)
        return size + inside * count // len(weighed)
    except Exception:  # noqa: BLE001 - code of the author
        return _OBJECT_BYTES


def _parts(value: Any) -> Collection[Any]:
    if isinstance(value, str | bytes | int | float):
        return ()
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set | frozenset | ValuesView):
        return value
    names = getattr(type(value), "__dataclass_fields__", ())
    return [getattr(value, name, None) for name in names]
