"""Logs of a PE: JSON lines on standard output, with trace levels that change while it runs.

Logs of the runtime have the logger `millrace.runtime` and those below it. All others are of the
application: what its author logs, and what operators log about its functions.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final, TextIO

import msgspec

TRACE: Final = 5
"""The level below DEBUG."""
RUNTIME_LOGGER: Final = "millrace.runtime"
LINE_CHARS_MAX: Final = 16_384
"""Of the event and of the traceback of one line."""


class TraceLevel(Enum):
    """A trace level of Streams, as a level of `logging`."""

    OFF = logging.CRITICAL + 10
    ERROR = logging.ERROR
    WARN = logging.WARNING
    INFO = logging.INFO
    DEBUG = logging.DEBUG
    TRACE = TRACE

    @classmethod
    def parsed(cls, text: str) -> TraceLevel:
        """The level of a name in upper or lower case. Raises ValueError."""
        found = cls.__members__.get(text.strip().upper())
        if found is None:
            names = ", ".join(each.name.lower() for each in cls)
            raise ValueError(f"{text[:40]!r} is no trace level: it has to be one of {names}")
        return found


def level_named(name: str | None) -> TraceLevel | None:
    """The level of a name; None without one, and for one that is not known."""
    try:
        return None if name is None else TraceLevel.parsed(name)
    except ValueError:
        return None


def more_verbose(first: TraceLevel, second: TraceLevel) -> TraceLevel:
    """The one of two levels that shows more."""
    return min(first, second, key=lambda level: level.value)


def begin_logging(
    app: TraceLevel, runtime: TraceLevel, *, stream: TextIO | None = None, **names: str | int
) -> None:
    """Log to a stream from now on. `names`: what every line has, such as job and PE."""
    logging.addLevelName(TRACE, "TRACE")
    handler = logging.StreamHandler(stream or sys.stdout)
    handler.setFormatter(Lines(names))
    logging.basicConfig(handlers=[handler], force=True)
    logging.captureWarnings(True)
    set_levels(app, runtime)


def set_levels(app: TraceLevel | None, runtime: TraceLevel | None) -> None:
    """Change the levels of all loggers that have none of their own. None: it stays as it is."""
    if app is not None:
        logging.getLogger().setLevel(app.value)
    if runtime is not None:
        logging.getLogger(RUNTIME_LOGGER).setLevel(runtime.value)


class Lines(logging.Formatter):
    """One JSON object a line. Nothing that is logged ends it, or makes it longer than bounded."""

    def __init__(self, names: Mapping[str, str | int]) -> None:
        """`names`: what every line has."""
        super().__init__()
        self._names = names

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        line: dict[str, Any] = {
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": _cut(_message(record)),
            **self._names,
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = _cut(self.formatException(record.exc_info))
        return msgspec.json.encode(line).decode()


def _message(record: logging.LogRecord) -> str:
    """A line whose arguments do not fit is logged as it is: logging must not end a PE."""
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - __repr__ and formats of the author
        return f"{record.msg!s} (its arguments cannot be shown)"


def _cut(text: str) -> str:
    """The begin and the end: the end of a traceback has what was raised."""
    if len(text) > LINE_CHARS_MAX:
        half = LINE_CHARS_MAX // 2
        more = len(text) - 2 * half
        text = f"{text[:half]}… and {more} characters more …{text[-half:]}"
    return text.encode("utf-8", "backslashreplace").decode()
