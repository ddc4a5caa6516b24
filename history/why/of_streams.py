"""Guard and sentences about streams between jobs, which nobody connects yet."""

from __future__ import annotations

from contracts.reasons import Reason
from contracts.resources.conditions import STREAMS_CONNECTED
from history.why.case import JOB, Case
from history.why.phrases import brief, remedy
from history.why.things import Thing


def not_connected(case: Case) -> Thing | None:
    """Guard: the job of the question imports or exports streams."""
    target = case.target
    is_unconnected = target.kind == JOB and target.condition(STREAMS_CONNECTED, "False")
    return target if is_unconnected else None


def of_streams(_case: Case, subject: Thing) -> str:
    """Which operators import or export."""
    found = subject.condition(STREAMS_CONNECTED, "False")
    assert found is not None, "the guard held"
    return f"job {subject.name}: {brief(found.message)}"


def cure_streams(case: Case, subject: Thing) -> str:
    """What connects jobs today."""
    return remedy(case, subject, Reason.STREAMS_NOT_CONNECTED)
