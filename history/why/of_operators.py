"""Guards and sentences about a tuple that a function fails at, or a store that a PE lacks."""

from __future__ import annotations

from contracts.failures import fails_at
from contracts.reasons import Reason
from history.why.case import PE, Case
from history.why.phrases import brief, remedy, values_of
from history.why.things import Thing, mapping_of


def waits_at_a_tuple(case: Case) -> Thing | None:
    """Guard: the first PE that an operator keeps at a tuple, in one launch or in many.

    Its neighbours lack connections to it, so it is the cause of that as well.
    """
    pes = case.of(PE) if case.lacks_connections(case.target) else case.pes
    return next((pe for pe in pes if tuple_of(case, pe)), None)


def tuple_of(case: Case, pe: Thing) -> str:
    """Which operator of a PE fails at which tuple, and the cause; empty where none does."""
    is_there = pe.phase != "Running" or case.runs(pe)
    return fails_at(pe.status, case.gathered.now_s) if is_there else ""


def keeps_no_checkpoint(case: Case) -> Thing | None:
    """Guard: the first PE that runs, and reports that it cannot keep its checkpoints."""
    for pe in case.pes:
        runtime = mapping_of(pe.status.get("runtime"))
        is_of_launch = runtime.get("launch") == pe.status.get("launchCount")
        is_reported = runtime.get("reason") == Reason.CHECKPOINT_FAILED
        if is_reported and is_of_launch and case.runs(pe):
            return pe
    return None


def is_in_trouble(case: Case) -> bool:
    """Whether a PE reports either of the two."""
    return bool(waits_at_a_tuple(case) or keeps_no_checkpoint(case))


def of_the_tuple(case: Case, subject: Thing) -> str:
    """Which operator fails at which tuple, and the cause."""
    return f"{subject.title} waits at a tuple: {brief(tuple_of(case, subject))}"


def cure_the_tuple(case: Case, subject: Thing) -> str:
    """What helps: another function, or another world; and what another launch spares then."""
    found = remedy(case, subject, Reason.OPERATOR_FAILED)
    restart = f"millrace restart {subject.name} -n {values_of(case, subject)['ns']}"
    is_late = subject.reason == Reason.BACKING_OFF
    return f"{found}. Once the cause is gone, at once: {restart}" if is_late else found


def of_the_store(_case: Case, subject: Thing) -> str:
    """Why a checkpoint is not kept."""
    message = str(mapping_of(subject.status.get("runtime")).get("message") or "")
    return f"{subject.title} runs, and cannot keep its checkpoints: {brief(message)}"
