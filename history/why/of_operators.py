"""Guards and sentences about a tuple that a function fails at or does not return from, and a store
that a PE lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from contracts.failures import fails_at, reported
from contracts.holding_back import method_that_failed
from contracts.reasons import Reason
from contracts.showing import counted
from history.why.case import JOB, PE, Case
from history.why.phrases import brief, remedy, values_of
from history.why.things import Thing, mapping_of, number_of

NAMED_MAX: Final = 5
"""How many PEs are named that skipped tuples."""


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


def hangs_at_a_tuple(case: Case) -> Thing | None:
    """Guard: the first PE that runs, and reports that a function does not return from a tuple."""
    return _first_with(Reason.OPERATOR_HANGS, case)


def keeps_no_checkpoint(case: Case) -> Thing | None:
    """Guard: the first PE that runs, and reports that it cannot keep its checkpoints."""
    return _first_with(Reason.CHECKPOINT_FAILED, case)


def is_in_trouble(case: Case) -> bool:
    """Whether a PE reports one of these."""
    guards = waits_at_a_tuple, hangs_at_a_tuple, keeps_no_checkpoint
    return any(guard(case) is not None for guard in guards)


def _first_with(reason: Reason, case: Case) -> Thing | None:
    found = (pe for pe in case.pes if reported(pe.status).get("reason") == reason)
    return next((pe for pe in found if case.runs(pe)), None)


def of_the_tuple(case: Case, subject: Thing) -> str:
    """Which operator fails at which tuple, or in which method, and the cause."""
    words = tuple_of(case, subject)
    does = "holds tuples back" if method_that_failed(words) else "waits at a tuple"
    return f"{subject.title} {does}: {brief(words)}"


def cure_the_tuple(case: Case, subject: Thing) -> str:
    """What helps: another function, or another world; and what another launch spares then."""
    if method := method_that_failed(tuple_of(case, subject)):
        return _cure_the_method(case, subject, method)
    found = remedy(case, subject, Reason.OPERATOR_FAILED)
    restart = f"millrace restart {subject.name} -n {values_of(case, subject)['ns']}"
    is_late = subject.reason == Reason.BACKING_OFF
    return f"{found}. Once the cause is gone, at once: {restart}" if is_late else found


def _cure_the_method(case: Case, subject: Thing, method: str) -> str:
    """No tuple is at fault, and a launch that ends loses what its function holds back."""
    ns = values_of(case, subject)["ns"]
    log = f"See its log (`millrace logs {subject.name} -n {ns}`)"
    cause = f"repair what {method} needs, such as what it writes to"
    if subject.phase == "Running":
        return (
            f"{log}, and {cause}: the PE calls it again by itself, at the latest after 30 s. Until"
            " then neither restart nor delete it, and set no width: what it holds back would be"
            " lost, and counted (HeldBack)"
        )
    return (
        f"{log}, and {cause}: what the launch that ended held back is lost, and counted (HeldBack)."
        f" Once the cause is gone, at once: millrace restart {subject.name} -n {ns}"
    )


def of_report(does: str) -> Callable[[Case, Thing], str]:
    """What a PE does, and what it reports of that."""

    def sentence(_case: Case, subject: Thing) -> str:
        message = str(mapping_of(subject.status.get("runtime")).get("message") or "")
        return f"{subject.title} {does}: {brief(message)}"

    return sentence


def skips(case: Case) -> str:
    """Who skipped how many tuples, as its policy says, which is no trouble; empty where nobody did.

    Of a job that has completed, too: it looks as if it had processed everything.
    """
    pes = case.pes if case.target.kind in (JOB, PE) else ()
    found = [(pe, _skipped(pe)) for pe in pes if case.runs(pe)]
    named = [f"{pe.name} skipped {counted(tuples, 'tuple')}" for pe, tuples in found if tuples]
    more = [] if len(named) <= NAMED_MAX else [f"{len(named) - NAMED_MAX} more did"]
    text = ", ".join([*named[:NAMED_MAX], *more])
    return f'{text} since the launch, as on_error="skip" says' if text else ""


def _skipped(pe: Thing) -> int:
    return number_of(reported(pe.status).get("skippedTuples"))
