"""JSON log lines on standard error: time, level, service, event, and the trace they belong to.

Values are text of others as often as not: names, messages of the API server, objects. Each is
bounded, and so is the line; nothing in it ends the line or is obeyed by a terminal (the characters
are `contracts/showing.py`'s business).
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Any, Final, TextIO, cast

from contracts.showing import json_text, one_line, printable
from contracts.unreadable import Unreadable
from services.chassis.process.lean_imports import absent
from services.chassis.process.tracing import current_cause

with absent("rich"):  # for consoles: 60 modules and 8 MiB
    import structlog
    from structlog.processors import ExceptionRenderer
    from structlog.tracebacks import ExceptionDictTransformer
    from structlog.typing import EventDict, FilteringBoundLogger

Log = FilteringBoundLogger

LOGGED_CHARS_MAX: Final = 2_000
"""Of one value, or one key."""
LOGGED_ITEMS_MAX: Final = 100
"""Of one list or map."""
LOGGED_DEPTH_MAX: Final = 8
"""A traceback has 4."""
LOG_LINE_CHARS_MAX: Final = 65_536
"""Of a whole line; a longer one is written again with values of SHORT_CHARS_MAX and no maps."""
SHORT_CHARS_MAX: Final = 200
_MANY: Final = (Mapping, list, tuple, set, frozenset)
_INTEGER_MAX: Final = (1 << 63) - 1

_TRACEBACKS = ExceptionRenderer(ExceptionDictTransformer(show_locals=False))
"""Without the values of variables: a frame may hold a token, and always holds a lot."""


def configure(service: str, level: str, stream: TextIO | None = None) -> None:
    """Set up logging of this process; call it once, before the first line."""
    number = logging.getLevelNamesMapping()[level]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _with_trace,
            _TRACEBACKS,
            structlog.processors.JSONRenderer(serializer=_to_line),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(stream or sys.stderr),
        cache_logger_on_first_use=False,
    )
    structlog.contextvars.bind_contextvars(service=service)
    others = logging.StreamHandler(stream)
    others.setFormatter(_OfLibraries(logging.BASIC_FORMAT))
    logging.basicConfig(level=max(number, logging.WARNING), handlers=[others])


def log_of(name: str) -> Log:
    """A logger for a part of the chassis or of a service."""
    return cast(Log, structlog.get_logger(part=name))


def _with_trace(_logger: Any, _method: str, event: EventDict) -> EventDict:
    cause = current_cause()
    if cause.trace_id:
        event.setdefault("trace", cause.trace_id)
    return event


def _to_line(event: EventDict, **_options: Any) -> str:
    line = json_text(_bounded(event, LOGGED_CHARS_MAX, LOGGED_DEPTH_MAX))
    if len(line) <= LOG_LINE_CHARS_MAX:
        return line
    short = json_text({**_bounded(event, SHORT_CHARS_MAX, 1), "lineChars": len(line)})
    if len(short) <= LOG_LINE_CHARS_MAX:
        return short
    # Escapes may be six times as long as what they stand for.
    return json_text({"event": _text(event.get("event"), SHORT_CHARS_MAX), "lineChars": len(line)})


def _bounded(value: object, chars_max: int, depth_max: int) -> Any:
    """The value as something that JSON can say, cut where it is too long, too wide or too deep."""
    if type(value) is str:  # nearly all of a line
        return _text(value, chars_max)
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int) and abs(value) <= _INTEGER_MAX:
        return value
    if isinstance(value, Unreadable) or not isinstance(value, _MANY):
        return _text(value, chars_max)
    if depth_max < 1:
        return "…"
    more = len(value) - LOGGED_ITEMS_MAX
    if isinstance(value, Mapping):
        pairs = list(value.items())[:LOGGED_ITEMS_MAX]
        found = {_text(k, chars_max): _bounded(v, chars_max, depth_max - 1) for k, v in pairs}
        return found | ({"…": more} if more > 0 else {})
    items = [_bounded(each, chars_max, depth_max - 1) for each in list(value)[:LOGGED_ITEMS_MAX]]
    return [*items, f"… and {more} more"] if more > 0 else items


def _text(value: object, chars_max: int) -> str:
    """A text as it is, but for its length and for what is no Unicode: readers refuse such lines."""
    text = value if isinstance(value, str) else one_line(value, chars_max)
    if len(text) <= chars_max and text.isascii():
        return text
    return _cut(text, chars_max).encode("utf-8", "backslashreplace").decode()


def _cut(text: str, chars_max: int) -> str:
    more = len(text) - chars_max
    return f"{text[:chars_max]}… and {more} characters more" if more > 0 else text


class _OfLibraries(logging.Formatter):
    """Lines of asyncio and of clients, which are no JSON: bounded, and printable line by line."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(_cut(super().format(record), LOG_LINE_CHARS_MAX))
