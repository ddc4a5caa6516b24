"""Guards and sentences about tuples that were lost, and that nobody has acknowledged."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from contracts.failures import ended_before
from contracts.losses import LaunchLoss, Unacknowledged, sentence_of, unacknowledged_of
from contracts.moments import unix_s_of
from contracts.reasons import Reason
from history.why.case import JOB, PE, Case
from history.why.phrases import brief, remedy
from history.why.things import Thing, number_of

ABOUT_S: Final = 60.0
"""Peers count what was on its way to a launch once its successor answers, or before that runs."""


def lost_tuples(case: Case) -> Thing | None:
    """Guard: the job of the question, or its PE, lost tuples that nobody has acknowledged."""
    return case.target if _lost(case) is not None else None


def first_loss_s(case: Case) -> float | None:
    """When the first of these tuples was lost (unix seconds); None: none was."""
    found = _lost(case)
    return min((unix_s_of(each.since) for each in found.launches), default=None) if found else None


def _lost(case: Case) -> Unacknowledged | None:
    """What the job lost; of a PE, what its launches lost."""
    target, job = case.target, case.job
    if job is None or target.kind not in (JOB, PE):
        return None
    found = unacknowledged_of(job.meta, job.spec, job.status, case.gathered.now_s)
    if found is None or target.kind == JOB:
        return found
    own = tuple(each for each in found.launches if each.uid == target.meta.get("uid"))
    tuples = min(sum(each.tuples for each in own), found.tuples)
    return replace(found, tuples=tuples, launches=own, has_more=False) if own else None


def of_lost_tuples(case: Case, subject: Thing) -> str:
    """How many were lost, when and whose."""
    found = _lost(case)
    assert found is not None, "the guard found it"
    names = {number_of(pe.spec.get("id")): pe.spec.get("operators") for pe in case.pes}
    operators = {pe: list(map(str, of)) for pe, of in names.items() if isinstance(of, list)}
    problem = f" ({found.problem})" if found.problem else ""
    before = "".join(_failures_before(case, found)[:1])
    return f"{subject.title}: {brief(sentence_of(found, operators))}{problem}{before}"


def _failures_before(case: Case, found: Unacknowledged) -> list[str]:
    """How launches ended that lost these tuples, as far as it is known.

    First those whose successors counted them, then those of peers that failed about that time.
    """
    pes = {pe.meta.get("uid"): pe for pe in case.pes}
    rows = [(pes[each.uid], each.launch) for each in found.launches if each.uid in pes]
    rows += [
        (pe, number_of(pe.status.get("launchCount")))
        for each in found.launches
        if each.is_of_others
        for pe in case.pes
        if pe.meta.get("uid") != each.uid and _may_have_lost(pe, each)
    ]
    return [
        f"; before launch {launch} {pe.title} failed: {brief(words)}"
        for pe, launch in rows
        if (words := ended_before(pe.status, launch))
    ]


def _may_have_lost(pe: Thing, loss: LaunchLoss) -> bool:
    """Whether a PE was launched again, after a failure, about when a peer counted tuples."""
    again = pe.condition("BackingOff", "False")
    again_s = again.since_s if again is not None else None
    if again_s is None:
        return False
    return unix_s_of(loss.since) - ABOUT_S <= again_s <= unix_s_of(loss.last) + ABOUT_S


def cure_lost_tuples(case: Case, subject: Thing) -> str:
    """Where to see why, of the PE that lost tuples last, and how to acknowledge."""
    found = _lost(case)
    assert found is not None, "the guard found it"
    uids = [each.uid for each in found.launches]
    named = (pe for uid in uids for pe in case.pes if pe.meta.get("uid") == uid)
    return remedy(case, next(named, subject), Reason.TUPLES_LOST)
