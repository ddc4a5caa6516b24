"""Numbers with one that something is wrong with, and what a sink got of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

COUNT = 6
ODD = 3
"""The tuple that something is wrong with."""
GOT: list[Any] = []


@dataclass
class Number:
    value: int


def numbers() -> Iterator[Number]:
    yield from map(Number, range(COUNT))


class Silent(Exception):
    """Nobody can say what it is."""

    def __str__(self) -> str:
        raise ZeroDivisionError

    __repr__ = __str__


class Leaving(Exception):
    def __str__(self) -> str:
        raise SystemExit(0)


class Own(BaseException):
    """Not an Exception."""


HUGE = "x" * 1_000_000
GROUP = ExceptionGroup("two", [KeyError("a"), ExceptionGroup("one", [Silent()])])
PROBLEMS: tuple[tuple[str, BaseException, str], ...] = (
    ("what has no text", Silent(), "Silent, whose text raises ZeroDivisionError"),
    ("what exits as it is shown", Leaving(), "Leaving, whose text raises SystemExit"),
    ("GeneratorExit", GeneratorExit("x"), "GeneratorExit: x"),
    ("a BaseException", Own("x"), "Own: x"),
    ("lines", ValueError("a\n  b"), "ValueError: a b"),
    ("a huge text", ValueError(HUGE), "ValueError: xxx"),
    ("a group", GROUP, "ExceptionGroup: two (2 sub-exceptions): KeyError: 'a', Exc"),
    ("an exit in a group", BaseExceptionGroup("e", [SystemExit(1)]), "): SystemExit: 1"),
)
"""What a function may raise: a name, the problem, and how it is worded."""
