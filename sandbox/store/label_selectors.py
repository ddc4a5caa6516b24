"""Label selectors: from the text of a request to predicates on labels, as kube-apiserver reads it.

1. The text becomes tokens: symbols, and words in between; `in` and `notin` are words that operate.
2. Each requirement is a key, alone (with `!` in front or not) or with an operator and its values.
3. Keys and values have to be such as labels can have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from sandbox.store.errors import ApiError, bad_request, shown
from sandbox.store.naming import label_value_problems, qualified_name_problems

LabelPredicate = Callable[[Mapping[str, Any]], bool]
_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^ \t\r\n=!(),<>\0]+)|(\0.*|$))", re.DOTALL)
_NUMBER = re.compile(r"[+-]?[0-9]+")
_INT64 = range(-(2**63), 2**63)
_END = ""


@lru_cache(maxsize=4096)
def label_requirements(text: str) -> tuple[LabelPredicate, ...]:
    """The requirements of a label selector; 400 if it cannot be read."""
    return _Parser(text).requirements()


class _Parser:
    """The tokens of one selector, and how far they have been read. `""` ends them."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0

    def requirements(self) -> tuple[LabelPredicate, ...]:
        """Requirements, separated by commas."""
        found: list[LabelPredicate] = []
        if self._next == _END:
            return ()
        if not _begins(self._next):
            raise self._unreadable()
        while True:
            found.append(self._requirement())
            if (after := self._take()) == _END:
                return tuple(found)
            if after != ",":
                raise self._unreadable()
            if not _begins(self._next):
                raise self._unreadable()

    def _requirement(self) -> LabelPredicate:
        absent = self._next == "!"
        if absent:
            self._take()
        key = self._take()
        if not _is_word(key):
            raise self._unreadable()
        if problems := qualified_name_problems(key):
            raise bad_request(f"the label {shown(key)} {problems[0]}")
        if absent or self._next in {_END, ","}:
            return lambda labels: (key in labels) is not absent
        operator = self._take()
        if operator in {"in", "notin"}:
            return _member(key, self._values(), wanted=operator == "in")
        if operator not in {"=", "==", "!=", "<", ">"}:
            raise self._unreadable()
        value = self._value()
        if operator in {"<", ">"}:
            return _compared(key, operator, value)
        return _member(key, [value], wanted=operator != "!=")

    def _value(self) -> str:
        if self._next in {_END, ","}:
            return ""
        value = self._take()
        if not _is_word(value):
            raise self._unreadable()
        return value

    def _values(self) -> list[str]:
        """`(a,b)`; nothing between two commas, or between a comma and a parenthesis, is a value."""
        if self._take() != "(":
            raise self._unreadable()
        if self._next == ")":
            self._take()
            return [""]
        if not (_is_word(self._next) or self._next == ","):
            raise self._unreadable()
        found: set[str] = set()
        while True:
            item = self._take()
            if _is_word(item):
                found.add(item)
                if self._next not in {",", ")"}:
                    raise self._unreadable()
            elif item == ",":
                if not found or self._next in {",", ")"}:
                    found.add("")
            else:
                raise self._unreadable()
            if self._next == ")":
                self._take()
                return sorted(found)

    def _unreadable(self) -> ApiError:
        before = " ".join(self._tokens[: self._at])
        return bad_request(f"the label selector cannot be read after {shown(before)}")

    @property
    def _next(self) -> str:
        return self._tokens[self._at]

    def _take(self) -> str:
        taken = self._next
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return taken


def _tokens(text: str) -> tuple[str, ...]:
    """The tokens, with an empty one at the end."""
    found = []
    for match in _TOKEN.finditer(text):
        if match[3] is not None:
            break
        found.append(match[1] or match[2])
    return (*found, _END)


def _is_word(item: str) -> bool:
    return item != _END and item[0] not in "=!(),<>"


def _begins(item: str) -> bool:
    return item == "!" or _is_word(item)


def _member(key: str, values: list[str], *, wanted: bool) -> LabelPredicate:
    _check_values(values)
    allowed = frozenset(values)
    if wanted:
        return lambda labels: labels.get(key) in allowed
    return lambda labels: labels.get(key) not in allowed


def _compared(key: str, operator: str, value: str) -> LabelPredicate:
    """`key>1`: holds for labels that are whole numbers."""
    bound, above = _number(value), operator == ">"
    _check_values([value])
    if bound is None:
        raise bad_request(f"{key}{operator}{value} needs a whole number")

    def holds(labels: Mapping[str, Any]) -> bool:
        label = _number(str(labels.get(key, "")))
        if label is None:
            return False
        return label > bound if above else label < bound

    return holds


def _number(text: str) -> int | None:
    number = int(text) if _NUMBER.fullmatch(text) else None
    return number if number is not None and number in _INT64 else None


def _check_values(values: list[str]) -> None:
    """400 for values that no label can have."""
    for value in values:
        if problems := label_value_problems(value):
            raise bad_request(f"the value {shown(value)} of a label {problems[0]}")
