"""What tuples of a job met that people have to know: those that wait, were skipped, or are lost.

Pure: views and objects in, sentences out.
"""

from __future__ import annotations

from collections.abc import Iterator

from cli.inspecting import JobObjects
from cli.live import PROBLEMS_SHOWN_MAX, JobView, PeView
from contracts.failures import fails_at, hangs_at, reported
from contracts.holding_back import method_that_failed
from contracts.losses import sentence_of, unacknowledged_of
from contracts.showing import agreeing, counted
from contracts.unreadable import is_whole


def waits_at(pe: PeView, now_s: float) -> str:
    """At which tuple an operator of a PE fails or hangs, and why; empty where it does not."""
    is_there = pe.phase == "Running" or pe.recorded.get("phase") != "Running"
    fails = fails_at(pe.recorded, now_s) if is_there else ""
    return fails or (hangs_at(pe.recorded, pe.launch) if pe.phase == "Running" else "")


def skipped_by(pe: PeView) -> int:
    """How many tuples the newest launch of a PE failed at and skipped, until it completed."""
    is_of_this = pe.phase in ("Running", "Completed")
    return int(reported(pe.recorded, pe.launch).get("skippedTuples") or 0) if is_of_this else 0


def tuples_of(job: JobView, now_s: float) -> list[str]:
    """Processing elements that wait at a tuple, or skipped some: a sentence for each."""
    pes = [job.pes[pe_id] for pe_id in sorted(job.pes)]
    waiting = [f"{pe.name} {_does(why)}: {why}" for pe in pes if (why := waits_at(pe, now_s))]
    skipping = [
        f'{pe.name} skipped {counted(tuples, "tuple")} since its launch, as on_error="skip" says;'
        " its log has them"
        for pe in pes
        if (tuples := skipped_by(pe))
    ]
    return [*_at_most(waiting, "wait"), *_at_most(skipping, "have skipped tuples")]


def _does(why: str) -> str:
    return "holds tuples back" if method_that_failed(why) else "waits at a tuple"


def _at_most(found: list[str], do: str) -> list[str]:
    more = len(found) - PROBLEMS_SHOWN_MAX
    return [
        *found[:PROBLEMS_SHOWN_MAX],
        *([f"{more} more {agreeing(more, do)}"] if more > 0 else []),
    ]


def lost_of(objects: JobObjects, now_s: float) -> Iterator[str]:
    """Lost tuples that nobody has acknowledged, and how to."""
    job = objects.job
    if not is_whole(job):
        return
    found = unacknowledged_of(job["metadata"], job["spec"], job.get("status") or {}, now_s)
    if found is not None:
        operators = {pe.id: pe.operators for pe in objects.view.pes.values()}
        does = f"acknowledge it with `millrace acknowledge {objects.view.name}`"
        problem = f"; {found.problem}" if found.problem else ""
        yield f"{sentence_of(found, operators)}; {does}{problem}"
