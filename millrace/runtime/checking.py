"""Whether what a function gave is of the type that it says, before anything is sent.

Another PE decodes tuples by their type: one that does not fit would break the connection there, or
blame an operator that did nothing wrong. So the results of a batch are checked where they are made.

1. The exact types are compared, in code that is made for the type (`exact_types.py`).
2. A batch that does not pass is checked tuple by tuple with the codec of the connections, so that
   subclasses, enums and an `int` for a `float` pass, as they do between PEs.

Inside of a PE at full speed, the types of all tuples are compared, and their attributes in one
batch of thirty-two: all attributes of all tuples would cost a third of the throughput of a chain.
Whatever leaves the PE is checked in full, and so is what comes in small batches.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, Final

import msgspec

from millrace import errors
from millrace.errors import ResultRefused, worded
from millrace.runtime.exact_types import exact_check
from millrace.runtime.frames import FRAME_BYTES_MAX
from millrace.tuple_types import TupleType

SHOWN_CHARS: Final = 80
"""Of a value in a message."""
FIRST_TUPLES: Final = 4_096
"""So many tuples of an operator are checked in full."""
SMALL_BATCH: Final = 32
"""Shorter batches are checked in full: who gives them has time."""
BATCHES: Final = 32
"""Of longer ones, one in so many."""
PLACE: Final = re.compile(r" - at `\$\.?(?P<attribute>\w*)(?P<within>[^`]*)`")
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
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(type_.python).decode
        self._tuples = self._batches = 0

    def first_refused(self, given: Sequence[Any]) -> tuple[int, ResultRefused] | None:
        """The place of the first result that does not fit, and what is wrong; None if all fit."""
        if not self._is_due(len(given)) and self._are_of_its_type(given):
            return None
        try:
            fits = self._exact is not None and self._exact(given)
        except BaseException:  # noqa: BLE001 - properties of the author
            fits = False  # the codec decides
        if fits:
            return None
        for place, each in enumerate(given):
            try:
                problem = self._problem(each)
            except BaseException as raised:  # noqa: BLE001 - as above
                problem = f"it gave a {type(each).__name__}: {worded(raised)}"
            if problem:
                self.in_full = True  # others may follow
                return place, ResultRefused(problem)
        return None

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
        if (self.type.access == "item") != isinstance(result, Mapping):
            return wrong
        try:
            payload = self._encode(result)
            self._decode(payload)
        except Exception as problem:  # noqa: BLE001 - encoders run code of the author
            return self._wrong_attribute(result, problem) or f"{wrong}: {_reason(problem)}"
        if missing := [each for each in self.type.attributes if not self._has(result, each.name)]:
            return f"{wrong}, and that has {missing[0].name}"  # a default would stand for it
        if len(payload) > FRAME_BYTES_MAX:
            most = f"a frame between two PEs has at most {FRAME_BYTES_MAX}"
            return f"it gave a tuple of {len(payload)} bytes, and {most}"
        return ""

    def _wrong_attribute(self, result: Any, problem: Exception) -> str:
        """What is wrong with the first attribute that does not fit; empty if none is known."""
        place = PLACE.search(str(problem)) if isinstance(problem, msgspec.MsgspecError) else None
        for attribute in self.type.attributes:
            try:
                value = self._read(attribute.name)(result)
            except AttributeError:
                return ""  # an object of something else
            except KeyError:
                return f"it gave {shown(result)}, which has no {attribute.name}"
            if place is None and self._encodes(value):
                continue
            if place is None or place["attribute"] == attribute.name:
                what = f"{attribute.name}={shown(value)} ({type(value).__name__})"
                wanted = f"{attribute.name} of {self.type.name} is {attribute.shown}"
                return f"it gave {what}, and {wanted}: {_reason(problem)}"
        return ""

    def _has(self, result: Any, name: str) -> bool:
        return name in result if self.type.access == "item" else hasattr(result, name)

    def _encodes(self, value: Any) -> bool:
        try:
            self._encode(value)
        except Exception:  # noqa: BLE001 - as above
            return False
        return True


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


def _reason(problem: Exception) -> str:
    return PLACE.sub("", str(problem)) or type(problem).__name__
