"""Whether what came back is what was given: of the same types, to the last bit, however deep."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable, Sequence
from datetime import datetime, time, timezone, tzinfo
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo


def is_same(given: Any, back: Any) -> bool:
    """Whether two values differ in nothing but their identity."""
    if type(given) is not type(back):
        return False
    if dataclasses.is_dataclass(given):
        names = [each.name for each in dataclasses.fields(given)]
        return all(
            hasattr(given, each) == hasattr(back, each)
            and is_same(getattr(given, each, None), getattr(back, each, None))
            for each in names
        )
    test = next((test for kinds, test in _TESTS if isinstance(given, kinds)), None)
    return bool(given == back) if test is None else test(given, back)


def _are_same_items(given: Sequence[Any], back: Sequence[Any]) -> bool:
    return len(given) == len(back) and all(map(is_same, given, back))


def _are_same_pairs(given: dict[Any, Any], back: dict[Any, Any]) -> bool:
    return _are_same_items(list(given), list(back)) and all(
        map(is_same, given.values(), back.values())
    )


def _are_same_sets(given: set[Any], back: set[Any]) -> bool:
    """Elements that are equal are compared; one that is not equal to itself (NaN) with all such."""
    equal = {each: each for each in back}
    odd = [each for each in given if each not in back]
    others = [each for each in back if each not in given]
    return (
        len(given) == len(back)
        and all(is_same(each, equal.get(each, each)) for each in given)
        and all(any(is_same(each, other) for other in others) for each in odd)
    )


def _are_same_floats(given: float, back: float) -> bool:
    return struct.pack("d", given) == struct.pack("d", back)


def _are_same_decimals(given: Decimal, back: Decimal) -> bool:
    return given.as_tuple() == back.as_tuple()


def _are_same_moments(given: Any, back: Any) -> bool:
    there = given.replace(tzinfo=None) == back.replace(tzinfo=None)
    return there and given.fold == back.fold and _are_same_zones(given.tzinfo, back.tzinfo)


def _are_same_zones(given: tzinfo | None, back: tzinfo | None) -> bool:
    if type(given) is ZoneInfo and type(back) is ZoneInfo:
        return given.key == back.key
    if type(given) is timezone and type(back) is timezone:
        return repr(given) == repr(back)
    return given is back


_TESTS: Final[Sequence[tuple[Any, Callable[[Any, Any], bool]]]] = (
    (float, _are_same_floats),
    (Decimal, _are_same_decimals),
    ((list, tuple), _are_same_items),
    (dict, _are_same_pairs),
    ((set, frozenset), _are_same_sets),
    ((datetime, time), _are_same_moments),
)
