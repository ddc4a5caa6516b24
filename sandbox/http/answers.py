"""What a request is answered with: a whole body, or one that goes on.

Lives here: the three kinds of answers and the bodies every part of the face needs (JSON, Status).
Which answer a request gets is decided in api.py; watching.py turns a watch into lines.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sandbox.store.errors import ApiError
from sandbox.store.folding import written
from sandbox.store.watching import Watch, WatchEvent

JSON_TYPE = "application/json"
_JSON_HEADERS: Mapping[str, str] = {"content-type": JSON_TYPE}


@dataclass(frozen=True, slots=True)
class Answer:
    """A response that is complete; header names are in lower case.

    Each of `warnings` is a header of its own.
    """

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=lambda: _JSON_HEADERS)
    warnings: tuple[str, ...] = ()

    def all_headers(self) -> dict[str, str]:
        """With the warnings in one header, as a client reads them."""
        extra = {"warning": ", ".join(self.warnings)} if self.warnings else {}
        return {**self.headers, **extra}


@dataclass(frozen=True, slots=True)
class WatchAnswer:
    """A response of status 200 whose lines come from `watch`, one JSON object each.

    `line` renders an event; the stream ends after `timeout_s` seconds.
    """

    watch: Watch
    line: Callable[[WatchEvent], bytes]
    timeout_s: float
    bookmarks: bool
    headers: Mapping[str, str] = field(default_factory=lambda: _JSON_HEADERS)
    status: int = 200


@dataclass(frozen=True, slots=True)
class StreamAnswer:
    """A response of status 200 whose body comes in parts, until the iterator ends."""

    parts: AsyncIterator[bytes]
    headers: Mapping[str, str]
    status: int = 200


def json_answer(status: int, body: Any) -> Answer:
    return Answer(status, written(body))


def with_warnings(answer: Answer, texts: Sequence[str]) -> Answer:
    """The answer and its warnings."""
    return replace(answer, warnings=tuple(f'299 - "{_quoted(text)}"' for text in texts))


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def refusal(error: ApiError) -> Answer:
    """The Status that says why a request was refused."""
    return json_answer(error.code, error.status())


def success(details: dict[str, Any]) -> dict[str, Any]:
    """The Status of an object that is gone."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }
