"""Guards and sentences about operators of an application that fail at a tuple."""

from __future__ import annotations

from contracts.reasons import Reason
from history.why.case import Case
from history.why.phrases import brief
from history.why.things import Thing, mapping_of


def waits_at_a_tuple(case: Case) -> Thing | None:
    """Guard: the first PE that runs, and reports that an operator fails at a tuple."""
    for pe in case.pes:
        runtime = mapping_of(pe.status.get("runtime"))
        is_of_launch = runtime.get("launch") == pe.status.get("launchCount")
        if runtime.get("reason") == Reason.OPERATOR_FAILED and is_of_launch and case.runs(pe):
            return pe
    return None


def of_the_tuple(case: Case, subject: Thing) -> str:
    """Which operator fails at which tuple, and the cause."""
    message = str(mapping_of(subject.status.get("runtime")).get("message") or "")
    return f"{subject.title} waits at a tuple: {brief(message)}"
