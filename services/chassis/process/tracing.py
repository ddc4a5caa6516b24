"""Trace ids: 32 hex digits that name the user action at the root of what happens now.

They travel in `traceparent` headers (contracts/envelope.py) and appear in every log line of what
they led to. Randomness comes from the caller.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from contracts.envelope import Envelope

TRACE_BITS = 128


@dataclass(frozen=True, slots=True)
class Cause:
    """What led to what happens now: the id of an event, the trace it belongs to, and the span."""

    event_id: str = ""
    trace_id: str = ""
    span_id: str = ""


NO_CAUSE = Cause()
_current: ContextVar[Cause | None] = ContextVar("cause", default=None)


def cause_of(envelope: Envelope) -> Cause:
    """The record as a cause; that a list is complete belongs to no trace."""
    if not envelope.trace_id.strip("0"):
        return Cause(envelope.id)
    return Cause(envelope.id, envelope.trace_id, envelope.parent_id)


def new_trace_id(randomness: random.Random) -> str:
    """The id of a new root."""
    return f"{randomness.getrandbits(TRACE_BITS) or 1:032x}"


def current_cause() -> Cause:
    """What led to what this task does."""
    return _current.get() or NO_CAUSE


@contextmanager
def caused_by(cause: Cause) -> Iterator[None]:
    """Everything inside, tasks that it creates included, happens because of `cause`."""
    token = _current.set(cause)
    try:
        yield
    finally:
        _current.reset(token)
