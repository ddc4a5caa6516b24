"""What ParallelRegions and HostPools name: a Job, and a region or host pool of its application.

A *stray* is one that no Job controls: somebody created it, or an orphaning deletion left it. One
that names what does not exist gets the condition Accepted=False, and loses it when that exists.

1. A Job must exist. One that is being deleted still does, and its children go with it.
2. Its newest plan must have the alias and the index. Before the first plan both may exist; before
   a plan is read, nothing is decided.
3. An object may be seen before its Job, and a Job's end before that of its children. So what is
   wrong is noted first, and reported once it has lasted `WRONG_SETTLES_S`.

region_statuses.py checks a planned ParallelRegion that somebody edits, and writes its status.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from contracts import labels
from contracts.moments import moment_of
from contracts.reasons import Reason
from planner.numbering.records import PlanRecord, PoolRecord, RegionRecord
from planner.refusals import shown
from services.chassis.table.entries import Entry, label
from services.fusion_backend.core.conditions import condition, is_current, patched_conditions
from services.fusion_backend.core.effects import DesiredCondition, NoteReference, ReportReference
from services.fusion_backend.core.seen import ReferrerSeen
from services.fusion_backend.core.snapshot import Snapshot

ACCEPTED: Final = "Accepted"
REFERRING_KINDS: Final = ("ParallelRegion", "HostPool")
WRONG_SETTLES_S: Final = 5.0
"""How long a reference must be wrong until a condition says so."""
NAMES_SHOWN_MAX: Final = 8
_OURS: Final = frozenset({Reason.INVALID_REFERENCE.value, Reason.WITHOUT_EFFECT.value})


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is wrong with a reference, as a sentence that names field and value."""

    message: str
    reason: Reason = Reason.INVALID_REFERENCE


def reports_due(snapshot: Snapshot, now: float) -> tuple[ReportReference, ...]:
    """Conditions of strays that do not say what has been so for long enough."""
    return () if _is_unread(snapshot) else tuple(_reports(snapshot, now))


def notes_due(snapshot: Snapshot) -> tuple[NoteReference, ...]:
    """What is wrong with strays and not noted, and notes about what is right again."""
    due = []
    for stray in () if _is_unread(snapshot) else snapshot.strays:
        wrong, noted = wrong_of(snapshot, stray), snapshot.noted.get(stray.uid)
        message = wrong.message if wrong and not _says(stray, wrong) else ""
        if message != (noted.message if noted else ""):
            due.append(NoteReference(stray.uid, message))
    return tuple(due)


def _is_unread(snapshot: Snapshot) -> bool:
    """Whether the job has a plan, as after a restart, and nobody has read it yet."""
    return snapshot.newest is None and snapshot.newest_generation >= 0


def settles_at(snapshot: Snapshot) -> float | None:
    """When the next report is due (unix seconds), if no fact changes it."""
    strays = {stray.uid for stray in snapshot.strays}
    times = (each.since for uid, each in snapshot.noted.items() if uid in strays)
    first = min(times, default=None)
    return None if first is None else first + WRONG_SETTLES_S


def _reports(snapshot: Snapshot, now: float) -> Iterator[ReportReference]:
    for stray in snapshot.strays:
        wrong = wrong_of(snapshot, stray)
        if wrong is None:
            if condition(ReferrerSeen(stray).status, ACCEPTED).get("reason") in _OURS:
                yield ReportReference(stray.kind, stray.name, stray.uid)
            continue
        noted = snapshot.noted.get(stray.uid)
        has_lasted = (
            noted is not None
            and noted.message == wrong.message
            and now >= noted.since + WRONG_SETTLES_S
        )
        if has_lasted and not _says(stray, wrong):
            yield ReportReference(stray.kind, stray.name, stray.uid, wrong.reason, wrong.message)


def _says(stray: Entry, wrong: Wrong) -> bool:
    desired = DesiredCondition(ACCEPTED, "False", wrong.reason, wrong.message)
    return is_current(ReferrerSeen(stray).status, desired)


# --------------------------------------------------------------------------- what is wrong


def wrong_of(snapshot: Snapshot, stray: Entry) -> Wrong | None:
    """What is wrong with the references of a stray, if anything is."""
    field, job = _job_reference(stray)
    if not job:
        return Wrong("spec.job is missing: name the Job that the object belongs to")
    if snapshot.job is None:
        what = f"namespace {snapshot.namespace} has no Job of that name"
        return Wrong(f"{field} is {shown(job)}: {what}")
    if snapshot.newest is None:
        return None
    seen, record = ReferrerSeen(stray), snapshot.newest.record
    return _wrong_part(seen, snapshot.name, record) or _other_of(snapshot, stray)


def wrong_region(entry: Entry, region: RegionRecord, job: str, record: PlanRecord) -> str:
    """What a planned ParallelRegion that was edited names wrongly; empty if it is as planned."""
    seen = ReferrerSeen(entry)
    if seen.job and seen.job != job:
        return f"spec.job is {shown(seen.job)}: the object belongs to Job {job}"
    wrong = _wrong_part(seen, job, record)
    if wrong is not None:
        return wrong.message
    if seen.alias != region.name:
        alias = shown(seen.alias)
        return f"spec.alias is {alias}: {seen.name} is {shown(region.name)} of Job {job}"
    return ""


def _job_reference(stray: Entry) -> tuple[str, str]:
    """The field that names the Job, and its value."""
    named, labelled = ReferrerSeen(stray).job, label(stray, labels.JOB)
    if labelled and labelled != named:
        return f"metadata.labels[{labels.JOB}]", labelled
    return "spec.job", named


def _wrong_part(seen: ReferrerSeen, job: str, record: PlanRecord) -> Wrong | None:
    """The alias or the index that the application of a Job does not have."""
    parts: Sequence[RegionRecord | PoolRecord] = record.regions if seen.is_region else record.pools
    what = "parallel region" if seen.is_region else "host pool"
    names = [part.name for part in parts]
    if seen.alias not in names:
        those = _those(what, names)
        return Wrong(f"{seen.alias_field} is {shown(seen.alias)}: Job {job} has {those}")
    if seen.index is not None and seen.index not in [part.index for part in parts]:
        those = _those(what, [str(part.index) for part in parts])
        return Wrong(f"{seen.index_field} is {seen.index}: Job {job} has {those}")
    return None


def _those(what: str, names: list[str]) -> str:
    if not names:
        return f"no {what}"
    more = len(names) - NAMES_SHOWN_MAX
    listed = ", ".join(map(shown, names[:NAMES_SHOWN_MAX])) + (
        f" and {more} more" if more > 0 else ""
    )
    return f"the {what}{'s' if len(names) > 1 else ''} {listed}"


def _other_of(snapshot: Snapshot, stray: Entry) -> Wrong | None:
    """A message that another object is the one which a foreign child rightly names."""
    named = snapshot.of(stray.kind)
    if stray.name in named or not named:
        return None
    what = f"Job {snapshot.name} has objects of its own"
    message = (
        f"metadata.name is {stray.name}: {what} ({', '.join(sorted(named)[:NAMES_SHOWN_MAX])})"
    )
    return Wrong(f"{message}, so this one has no effect; delete it", Reason.WITHOUT_EFFECT)


# --------------------------------------------------------------------------- the status


def reference_patch(stray: Entry, effect: ReportReference, *, now: float) -> dict[str, Any]:
    """The patch of a stray's status. The columns of a ParallelRegion show it as well."""
    seen = ReferrerSeen(stray)
    if effect.reason is None:
        left = [each for each in seen.status.get("conditions") or () if each["type"] != ACCEPTED]
        change: dict[str, Any] = {"conditions": left}
    else:
        desired, at = (
            DesiredCondition(ACCEPTED, "False", effect.reason, effect.message),
            moment_of(now),
        )
        conditions = patched_conditions(seen.status, (desired,), seen.spec_generation, at)
        change = {"conditions": conditions}
    if seen.is_region:
        reason = effect.reason.value if effect.reason is not None else None
        change |= {"reason": reason, "message": effect.message or None}
    return {"status": change}
