"""Whether what a function gave is of the type that it says, before anything is sent.

Another PE decodes tuples by their type: one that does not fit would break the connection there, or
blame an operator that did nothing wrong. So the results of a batch are checked where they are made.

1. The exact types are compared, in code that is made for the type (`exact_types.py`).
2. A batch that does not pass is checked tuple by tuple. Values that are equal to one of their type
   become that, in the tuple itself: an `int` for a `float` (`converting.py`).
3. Then the tuple goes through the codec of the connections. What does not come back as it was is
   refused. So a tuple is the same in its own PE and in all others, and in one process.

Inside of a PE at full speed, the types of all tuples are compared, and their attributes in one
batch of thirty-two: all attributes of all tuples would cost a third of the throughput of a chain.
Whatever leaves the PE is checked in full, and so is what comes in small batches.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, Final

import msgspec

from millrace import errors
from millrace.codecs import Codec
from millrace.converting import OF_TUPLES, convert_attributes
from millrace.errors import ResultRefused, worded
from millrace.runtime.exact_types import exact_check
from millrace.runtime.frames import FRAME_BYTES_MAX
from millrace.sameness import is_same
from millrace.tuple_types import TupleType

SHOWN_CHARS: Final = 80
"""How much of a value a message shows."""
FIRST_TUPLES: Final = 4_096
"""So many tuples of an operator are checked in full."""
SMALL_BATCH: Final = 32
"""Shorter batches are checked in full: who gives them has time."""
BATCHES: Final = 32
"""One in so many of the longer ones is checked in full."""
PLACE: Final = re.compile(r" - at `\$(?:\[0\]|\[\.\.\.\])?\.?(?P<attribute>\w*)(?P<within>[^`]*)`")
"""Where msgspec says what does not fit."""


class Checker:
    """Checks what the function of one operator gives. `in_full`: each attribute, always."""

    def __init__(self, type_: TupleType) -> None:
        """A checker of tuples of this type."""
        self.type = type_
        self.in_full = False
        self._exact = exact_check(type_)
        self._kind = type_.python if type_.access == "attribute" else dict
        self._read = attrgetter if type_.access == "attribute" else itemgetter
        self._value = type_.value
        self._codec = Codec(type_.value)
        self._write = msgspec.msgpack.Encoder().encode
        self._tuples = self._batches = 0

    def first_refused(self, given: Sequence[Any]) -> tuple[int, ResultRefused] | None:
        """The place of the first result that does not fit, and what is wrong; None if all fit."""
        if not self._is_due(len(given)) and self._are_of_its_type(given):
            return None
        if self._are_exact(given):
            return None
        self.in_full = True  # others may follow
        for place, each in enumerate(given):
            if self._are_exact((each,)):
                continue
            try:
                problem = self._problem(each)
            except BaseException as raised:  # noqa: BLE001 - properties of the author
                problem = f"it gave a {type(each).__name__}: {worded(raised)}"
            if problem:
                return place, ResultRefused(problem)
        return None

    def _are_exact(self, given: Sequence[Any]) -> bool:
        """Whether no tuple needs a second look."""
        try:
            return self._exact is not None and self._exact(given)
        except BaseException:  # noqa: BLE001 - as above
            return False

    def _are_of_its_type(self, given: Sequence[Any]) -> bool:
        types = groupby(given, type)  # the least that Python needs for each tuple
        return next(types)[0] is self._kind and next(types, None) is None

    def _is_due(self, tuples: int) -> bool:
        if (
            self.in_full
            or self._exact is None
            or tuples < SMALL_BATCH
            or self._tuples < FIRST_TUPLES
        ):
            self._tuples += tuples
            return True
        self._batches += 1
        return self._batches % BATCHES == 0

    def check(self, given: Sequence[Any]) -> None:
        """Raises ResultRefused for the first result that does not fit."""
        if (refused := self.first_refused(given)) is not None:
            raise refused[1]

    def _problem(self, result: Any) -> str:
        kind = type(result).__name__
        if refused := never_run(result):
            return refused
        if result is None:
            return f"it gave None, and gives {self.type.name}: does every way return a tuple?"
        wrong = f"it gave {shown(result)} ({kind}), and gives {self.type.name}"
        wanted = self.type.python if self.type.access == "attribute" else Mapping
        if not isinstance(result, wanted):
            # The codec would name attributes of a class that is not the one that is wanted.
            return wrong + (_OLD_CLASS if _is_again(type(result), self.type.python) else "")
        with suppress(Exception):  # code of the author: the codec names the attribute
            if convert_attributes(result, self._value, OF_TUPLES) and self._are_exact((result,)):
                return ""
        return self._lost_on_the_way(result, wrong)

    def _lost_on_the_way(self, result: Any, wrong: str) -> str:
        try:
            payload = self._codec.encode([result])
            (back,) = self._codec.decode(payload)
        except Exception as problem:  # noqa: BLE001 - encoders run code of the author
            return self._wrong_attribute(result, problem) or f"{wrong}: {_reason(problem)}"
        needed = (each.name for each in self.type.attributes if each.is_required)
        if missing := next((each for each in needed if not self._has(result, each)), ""):
            return f"{wrong}, and that has {missing}"  # a default would stand for it
        if len(payload) > FRAME_BYTES_MAX:
            most = f"a frame between two PEs has at most {FRAME_BYTES_MAX}"
            return f"it gave a tuple of {len(payload)} bytes, and {most}"
        return "" if is_same(result, back) else self._changed(result, back, wrong)

    def _changed(self, result: Any, back: Any, wrong: str) -> str:
        """What another PE would get in its place."""
        for each in self.type.attributes:
            if self._has(result, each.name) and self._has(back, each.name):
                own, other = self._read(each.name)(result), self._read(each.name)(back)
                if not is_same(own, other):
                    wanted = f"{each.name} of {self.type.name} is {each.shown}"
                    return f"it gave {each.name}={typed(own)}, and {wanted}: {_would_get(other)}"
        return f"{wrong}: {_would_get(back)}"

    def _wrong_attribute(self, result: Any, problem: Exception) -> str:
        """What is wrong with the first attribute that does not fit; empty if none is known."""
        annotations = {
            each.name: each.shown
            for each in self.type.attributes
            if each.is_required or self._has(result, each.name)
        }
        parts = ((each, self._read(each)(result)) for each in annotations)
        try:
            found = wrong_part(parts, problem, self._encodes)
        except AttributeError:
            return ""  # an object of something else
        except KeyError as missing:
            return f"it gave {shown(result)}, which has no {missing.args[0]}"
        if found is None:
            return ""
        name, what = found
        wanted = f"{name} of {self.type.name} is {annotations[name]}"
        return f"it gave {what}, and {wanted}: {_reason(problem)}"

    def _has(self, result: Any, name: str) -> bool:
        return name in result if self.type.access == "item" else hasattr(result, name)

    def _encodes(self, value: Any) -> bool:
        try:
            self._write(value)
        except Exception:  # noqa: BLE001 - as above
            return False
        return True


def wrong_part(
    parts: Iterable[tuple[str, object]], problem: BaseException, fits: Callable[[object], bool]
) -> tuple[str, str] | None:
    """The first attribute that does not fit: its name, and a text such as `count='many' (str)`.

    `problem`: what the codec raised. Where it names no place, `fits` says whether a value can be
    encoded. None if no attribute is found.
    """
    place = place_of(problem)
    for name, value in parts:
        is_wrong = not fits(value) if place is None else place["attribute"] == name
        if is_wrong:
            return name, f"{name}={typed(value)}"
    return None


def place_of(problem: BaseException) -> re.Match[str] | None:
    """Where msgspec says what does not fit: `attribute`, and the place `within` it."""
    return PLACE.search(str(problem)) if isinstance(problem, msgspec.MsgspecError) else None


_OLD_CLASS: Final = ", a class that was defined again: run the cells that build the graph again"


def _is_again(class_: type, other: type) -> bool:
    """Whether both were made by one text, as by a cell of a notebook that was run again."""
    names = (class_.__module__, class_.__qualname__)
    return names == (other.__module__, other.__qualname__)


def never_run(result: Any) -> str:
    """What is wrong with a result that somebody has yet to run; empty for all others."""
    if not any(waits(result) for waits in _UNRUN):
        return ""
    kind = type(result).__name__
    if inspect.iscoroutine(result):
        result.close()  # or Python warns some time later that it was never awaited
    if inspect.isgenerator(result):
        return "it gave a generator, whose body nobody runs: only `flat_map` and sources may yield"
    return f"it gave a {kind}, which nobody awaits: write `async def`, and await it there"


_UNRUN: Final = (inspect.isgenerator, inspect.isasyncgen, inspect.isawaitable)


def is_true(flag: Any, *, says_bool: bool) -> bool:
    """What a filter's function gave. Raises ResultRefused. `says_bool`: its annotation does."""
    if problem := never_run(flag):
        raise ResultRefused(problem)
    if flag is None and says_bool:
        raise ResultRefused("it gave None, and gives bool: does every way return?")
    return bool(flag)


def ended(result: Any) -> None:
    """Take what a sink's function gave. Raises ResultRefused if nobody ran its body."""
    if problem := never_run(result):
        raise ResultRefused(problem)


def shown(value: object) -> str:
    """A value for a message, at most `SHOWN_CHARS` characters of it."""
    return errors.shown(value, SHOWN_CHARS)


def typed(value: object) -> str:
    """A value and its class, for a message."""
    return f"{shown(value)} ({type(value).__name__})"


def _would_get(value: object) -> str:
    return f"another PE would get {typed(value)}: give that"


def _reason(problem: Exception) -> str:
    return PLACE.sub("", str(problem)) or type(problem).__name__
