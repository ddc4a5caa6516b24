"""Spans of decisions and of their effects, where somebody wants spans (`process/span_export.py`).

A decision with effects is a child of the span that its newest fact names; its effects are children
of it, and what a stage knows to have ended with an effect is a child, too. Decisions right after a
start belong to no action, and have no span.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from services.chassis.process.spans import Span, new_span_id
from services.chassis.process.tracing import caused_by, current_cause
from services.chassis.running.effect_lines import EffectLines, about
from services.chassis.running.stage import Decision, Stage
from services.chassis.running.wiring import Runtime

FAILURES = frozenset({"transient", "rejected", "unreadable", "crashed"})
"""Outcomes of effects that did not take place."""


@dataclass(slots=True)
class Ended:
    """How an effect ended; empty while it goes on, and where it was cancelled."""

    outcome: str = ""


@contextmanager
def decision_span(
    runtime: Runtime,
    stage: Stage[Any, Any, Any],
    key: Hashable,
    decision: Decision[Any],
    *,
    began_at: float,
) -> Iterator[None]:
    """Inside, effects are children of the decision, whose own span ends before them."""
    add, cause = runtime.add_span, current_cause()
    if add is None or not decision.effects or not cause.trace_id:
        yield
        return
    span = Span(
        name="decide",
        trace_id=cause.trace_id,
        span_id=new_span_id(runtime.new_id),
        parent_id=cause.span_id,
        began_s=began_at,
        ended_s=runtime.clock.now(),
        attributes={
            **about(stage, key, None),
            "reason": str(decision.reason),
            "effects": len(decision.effects),
            **{f"rule.{what}": rule for what, rule in decision.rules.items()},
        },
    )
    add(span)
    with caused_by(replace(cause, span_id=span.span_id)):
        yield


@contextmanager
def effect_span(runtime: Runtime, lines: EffectLines, effect: Any) -> Iterator[Ended]:
    """The span of what is carried out inside; the caller sets its outcome."""
    ended, add, cause = Ended(), runtime.add_span, current_cause()
    if add is None or not cause.trace_id:
        yield ended
        return
    began_s = runtime.clock.now()
    yield ended
    now = runtime.clock.now()
    fields = lines.fields_of(effect)
    span = Span(
        name=str(fields.pop("effect")),
        trace_id=cause.trace_id,
        span_id=new_span_id(runtime.new_id),
        parent_id=cause.span_id,
        began_s=began_s,
        ended_s=now,
        attributes=fields | {"outcome": ended.outcome},
        problem=ended.outcome if ended.outcome in FAILURES else "",
    )
    add(span)
    if span.problem:
        return
    for each in lines.ended_with(effect):
        new = new_span_id(runtime.new_id)
        add(replace(span, name=each.name, span_id=new, began_s=each.began_s, ended_s=now))
