"""JSON as Go reads it, where the usual library refuses.

orjson comes first. What it cannot read is repaired as Go does (bytes that are not UTF-8 and lone
surrogates become U+FFFD) and tried again; the rest goes to the reader of Python, in a thread with a
stack for 10,000 levels.
"""

from __future__ import annotations

import codecs
import json
import math
import re
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

import orjson

T = TypeVar("T")
Hook = Callable[[list[tuple[str, Any]]], Any]
DEPTH_MAX = 10_000  # levels, as in Go's encoding/json
RECURSION_MAX = DEPTH_MAX + 2_000
STACK_BYTES = 256 * 1024 * 1024  # of address space; touched only as deep as a text is nested
_REPLACEMENT = "\ufffd"
_INT64_CHARS_MAX = 19
_ILLEGAL = re.compile(rb"[\x80-\xc1\xf5-\xff]+")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    rb"\\(?:(u[dD][89abAB][0-9a-fA-F]{2})(\\u[dD][c-fC-F][0-9a-fA-F]{2})?"
    rb"|(u[dD][c-fC-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


class Unreadable(ValueError):
    """No JSON; the text is what the reader says."""


class BeyondDouble:
    """A number that no double holds; `text` is how it was written."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BeyondDouble) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


class TooLarge(ValueError):
    """A number that no double holds, as it was written."""


def parsed(body: bytes, hook: Hook | None = None, *, to_doubles: bool = False) -> Any:
    """The value of a text, however deep: code that walks it must not recurse. Raises Unreadable.

    `hook` makes objects of their members, in the order of the text. With `to_doubles`, TooLarge
    says that a number is invalid, else it becomes BeyondDouble.
    """
    text = repaired(body)
    if hook is None:
        with suppress(orjson.JSONDecodeError):
            return orjson.loads(text)
    value = _read(text.decode(), hook)
    if to_doubles:  # a second time, because bad syntax goes first
        _read(text.decode(), hook, _to_double)
    return value


def repaired(body: bytes) -> bytes:
    """With U+FFFD for every byte that is no UTF-8, and for every surrogate without its other."""
    try:
        body.decode()
    except UnicodeDecodeError:
        body = body.decode(errors=_REPAIRED).encode()
    if _SURROGATE.search(body):
        body = _ESCAPE.sub(_without_lone, body)
    return body


def _without_lone(found: re.Match[bytes]) -> bytes:
    high, low, alone = found.groups()
    return rb"\ufffd" if alone or (high and not low) else found[0]


def _replaced(problem: UnicodeError) -> tuple[str, int]:
    """Go takes one byte at a time."""
    assert isinstance(problem, UnicodeDecodeError)
    run = _ILLEGAL.match(problem.object, problem.start)
    end = max(run.end(), problem.end) if run else problem.end
    return _REPLACEMENT * (end - problem.start), end


_REPAIRED = "sandbox.repaired"
codecs.register_error(_REPAIRED, _replaced)


def _read(text: str, hook: Hook | None, to_float: Callable[[str], Any] | None = None) -> Any:
    to_float = to_float or _float

    def read() -> Any:
        return json.loads(
            text,
            object_pairs_hook=hook,
            parse_int=lambda digits: _integer(digits, to_float),
            parse_float=to_float,
            parse_constant=_refuse_word,
        )

    try:
        with suppress(RecursionError):
            return read()
        return far_down(read)
    except RecursionError:
        refuse_depth()
    except json.JSONDecodeError as problem:
        raise Unreadable(str(problem)) from problem


def far_down(work: Callable[[], T]) -> T:
    """Run what recurses in a thread with a large stack, while this one waits for it."""
    found: list[T] = []
    problems: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as problem:  # noqa: BLE001 - raised again in the thread that waits
            problems.append(problem)

    limit, size = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES)
    sys.setrecursionlimit(max(limit, RECURSION_MAX))
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    if problems:
        raise problems[0]
    return found[0]


def _integer(text: str, to_float: Callable[[str], Any]) -> Any:
    if len(text) <= _INT64_CHARS_MAX:
        value = int(text)
        if -(2**63) <= value < 2**63:
            return value
    return to_float(text)


def _float(text: str) -> Any:
    value = float(text)
    return value if math.isfinite(value) else BeyondDouble(text)


def _to_double(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise TooLarge(text)
    return value


def _refuse_word(word: str) -> NoReturn:
    raise Unreadable(f"{word} is not in JSON")


def refuse_depth() -> NoReturn:
    """Raise Unreadable."""
    raise Unreadable(f"nested deeper than {DEPTH_MAX:,} levels")
