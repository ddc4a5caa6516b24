"""Answers read to the bottom, however deep, by a reader that shares nothing with the sandbox.

What lies deeper than `LEVELS_MAX` becomes a text: how long its canonical JSON is, its digest, and
how it begins. Long texts become such a text too, so that a difference can be printed.
"""

from __future__ import annotations

import hashlib
import json
import sys
import threading
from typing import Any

import orjson

LEVELS_MAX = 60
SHOWN_CHARS_MAX = 40
STACK_BYTES = 512 * 1024 * 1024
RECURSION_MAX = 100_000


def read(body: bytes) -> Any:
    """The value of a JSON text. Raises ValueError."""
    try:
        value = orjson.loads(body)
        orjson.dumps(value)
    except orjson.JSONDecodeError:
        return _read_far_down(body)
    except orjson.JSONEncodeError:  # read, and too deep to be walked
        return _read_far_down(body)
    return value


def _read_far_down(body: bytes) -> Any:
    found: list[Any] = []
    problems: list[Exception] = []

    def run() -> None:
        try:
            found.append(_shortened(json.loads(body), 1))
        except (ValueError, RecursionError) as problem:
            problems.append(problem)

    limit, size = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES)
    sys.setrecursionlimit(RECURSION_MAX)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    if problems:
        raise ValueError(str(problems[0]))
    return found[0]


def _shortened(value: Any, depth: int) -> Any:
    if isinstance(value, dict | list) and depth > LEVELS_MAX:
        return _digest(json.dumps(value, sort_keys=True))
    if isinstance(value, dict):
        return {key: _shortened(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_shortened(item, depth + 1) for item in value]
    return value


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"{len(text)} chars, {digest}, {text[:SHOWN_CHARS_MAX]}"
