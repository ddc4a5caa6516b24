"""How reports of lost tuples enter the status of a Job.

1. Each launch reports a total. Its row has the highest one that was seen; what a report says beyond
   that is added to the total of the job.
2. A full list leaves out rows of launches that are over, and whose losses are not shown any more.

Properties: a report counts once, however often it comes and in whatever order, since the total of
the job and the row of the launch are one write. The total never falls. A row is kept while its
launch may report again; without room for another row, nothing of that launch is counted, and
`has_more` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from contracts.losses import LaunchLoss, Losses
from contracts.moments import moment_of
from contracts.resources.fields import COUNT_MAX
from contracts.resources.losses import LAUNCHES_MAX
from services.pe_gateway.core.effects import DropLosses, SetLosses
from services.pe_gateway.core.snapshot import JobLosses, ReportedLosses

ENDS_S: Final = 3_600.0
"""A launch that has a successor, or no PE, reports no more after so long."""


def is_counted(
    job: JobLosses, loss: LaunchLoss, living: Callable[[], frozenset[tuple[str, int]]], now: float
) -> bool:
    """Whether the status counts what a launch reported, or has no room for it and says so.

    `living`: as of `with_reported`; they matter only where room lacks.
    """
    rows = {each.key: each.tuples for each in job.losses.launches}
    if loss.key in rows or len(rows) < LAUNCHES_MAX:
        return loss.tuples <= rows.get(loss.key, 0)
    return with_reported(job.losses, (loss,), living(), job.retention_s, now) is job.losses


def joined_losses(waiting: Iterable[LaunchLoss], new: LaunchLoss) -> tuple[LaunchLoss, ...]:
    """One row for each launch: the report with the higher total, since the first one."""
    rows = {each.key: each for each in waiting}
    before = rows.get(new.key)
    if before is None or new.tuples > before.tuples:
        rows[new.key] = replace(new, since=before.since) if before else new
    return tuple(rows[key] for key in sorted(rows))


def left_of(waiting: ReportedLosses, of: SetLosses | DropLosses) -> ReportedLosses:
    """What was reported after the decision on an effect; it waits as if it had come then."""
    done = {each.key: each.tuples for each in of.reported}
    left = tuple(each for each in waiting.launches if each.tuples > done.get(each.key, 0))
    return replace(waiting, since=of.decided_at, launches=left)


def with_reported(
    known: Losses,
    reported: Iterable[LaunchLoss],
    living: frozenset[tuple[str, int]],
    retention_s: int,
    now: float,
) -> Losses:
    """The losses with what launches reported; the same object where nothing is new.

    `living` are the newest launches of PEs that exist. `now`: unix seconds.
    """
    rows = {each.key: each for each in known.launches}
    new = [each for each in reported if each.tuples > _known_tuples(rows, each)]
    if not new:
        return known
    named = {each.key for each in new}
    lacking = max(len(rows.keys() | named) - LAUNCHES_MAX, 0)
    for key in _without_use(rows, living | named, retention_s, now)[:lacking]:
        del rows[key]
    total, last, has_more = known.tuples, known.last, known.has_more
    for each in new:
        if each.key not in rows and len(rows) >= LAUNCHES_MAX:
            has_more = True
            continue
        before, more = rows.get(each.key), each.tuples - _known_tuples(rows, each)
        if more <= 0:
            continue
        total = min(total + more, COUNT_MAX)
        since, until = (before.since, before.last) if before is not None else (each.since, "")
        rows[each.key] = replace(each, since=since, last=max(until, each.last), total=total)
        last = max(last, each.last)
    found = Losses(total, last, tuple(rows.values()), has_more)
    return known if found == known else found


def _known_tuples(rows: dict[tuple[str, int], LaunchLoss], each: LaunchLoss) -> int:
    before = rows.get(each.key)
    return before.tuples if before is not None else 0


def _without_use(
    rows: dict[tuple[str, int], LaunchLoss],
    living: frozenset[tuple[str, int]],
    retention_s: int,
    now: float,
) -> list[tuple[str, int]]:
    """Launches that are over, the oldest loss first, those that are not shown before others.

    A launch that can report again is not among them: its row keeps that from counting twice.
    """
    over, shown = moment_of(now - ENDS_S), moment_of(now - retention_s)
    found = [each for each in rows.values() if each.key not in living and each.last < over]
    found.sort(key=lambda each: (each.last >= shown, each.total))
    return [each.key for each in found]
