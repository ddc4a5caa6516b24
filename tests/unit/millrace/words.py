"""Types and functions that tests of `millrace` build applications of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypedDict


@dataclass
class Line:
    text: str


@dataclass
class Word:
    word: str


@dataclass
class Count:
    word: str
    count: int


@dataclass
class Bytes:
    text: bytes


class Row(TypedDict):
    word: str
    count: int


@dataclass
class Total:
    count: int = 0


def lines() -> Iterator[Line]:
    yield Line("to be or not to be")
    yield Line("be")


def words(line: Line) -> Iterator[Word]:
    for word in line.text.split():
        yield Word(word)


def upper(word: Word) -> Word:
    return Word(word.word.upper())


def counted(word: Word, total: Total) -> Count:
    total.count += 1
    return Count(word.word, total.count)


def is_long(word: Word) -> bool:
    return len(word.word) > 2


def total(items: list[Word]) -> Count:
    return Count(items[0].word, len(items))


def show(count: Count) -> None:
    assert count.count > 0


MODULE = """
from collections.abc import Iterator
from dataclasses import dataclass

from millrace import App, tumbling


@dataclass
class Line:
    text: str


@dataclass
class Word:
    word: str
    length: int


@dataclass
class Count:
    word: str
    count: int


app = App("demo::Words")
"""
"""The beginning of a module with an application."""
