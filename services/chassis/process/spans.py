"""Spans: what was done for a user's action, when and after what, as values.

The trace is that of the action (`tracing.py`). The span of the action itself has an id that follows
from the trace, so that every service knows it without a word from another one. Where they go is
`span_export.py`; without an endpoint none is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from contracts.envelope import root_span_id


@dataclass(frozen=True, slots=True)
class Span:
    """`began_s` and `ended_s` are unix seconds; `parent_id` is empty for the action itself.

    Ids are hex digits: 32 of the trace, 16 of spans. `problem` is why it failed, or empty.
    """

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    began_s: float
    ended_s: float
    attributes: Mapping[str, str | int | float] = field(default_factory=dict)
    problem: str = ""


AddSpan = Callable[[Span], None]
"""Takes a span, and neither waits nor fails."""


def root_span(
    name: str, trace_id: str, began_s: float, ended_s: float, attributes: Mapping[str, str | int]
) -> Span:
    """The span of a user's action."""
    return Span(name, trace_id, root_span_id(trace_id), "", began_s, ended_s, attributes)


def new_span_id(new_id: Callable[[], str]) -> str:
    """The id of a span, of 64 bits of a UUID that are random."""
    return new_id().replace("-", "")[-16:]
