"""JSON log lines on standard error: time, level, service, event, and the trace they belong to."""

from __future__ import annotations

import logging
import sys
from typing import Any, TextIO, cast

import orjson
import structlog
from structlog.processors import ExceptionRenderer
from structlog.tracebacks import ExceptionDictTransformer
from structlog.typing import EventDict, FilteringBoundLogger

from services.chassis.tracing import current_cause

Log = FilteringBoundLogger

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
            structlog.processors.JSONRenderer(serializer=_to_json),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(stream or sys.stderr),
        cache_logger_on_first_use=False,
    )
    structlog.contextvars.bind_contextvars(service=service)
    logging.basicConfig(level=max(number, logging.WARNING))


def log_of(name: str) -> Log:
    """A logger for a part of the chassis or of a service."""
    return cast(Log, structlog.get_logger(part=name))


def _with_trace(_logger: Any, _method: str, event: EventDict) -> EventDict:
    cause = current_cause()
    if cause.trace_id:
        event.setdefault("trace", cause.trace_id)
    return event


def _to_json(event: EventDict, **_options: Any) -> str:
    return orjson.dumps(event, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
