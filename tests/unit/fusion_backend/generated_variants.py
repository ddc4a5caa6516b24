"""A snapshot of a job, changed in one place; contradictions included."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from contracts import labels
from contracts.moments import moment_of
from contracts.reasons import Reason
from contracts.resources import JobPhase, PlacementPhase
from planner.refusals import PlanRefused
from services.chassis.table.entries import Entry
from services.fusion_backend.core.admission import PLACEMENT
from services.fusion_backend.core.clearing import PE
from services.fusion_backend.core.references import wrong_of
from services.fusion_backend.core.situation import JOB_ID, Situation
from services.fusion_backend.core.snapshot import (
    Damage,
    JobSeen,
    NotedReference,
    Snapshot,
    Trouble,
)
from tests.unit.fusion_backend.generated_ends import SOON, completed, ended, lost, with_status
from tests.unit.fusion_backend.world import JOB

Change = Callable[[Snapshot, random.Random], Snapshot]


def _another_answer(snapshot: Snapshot, draw: random.Random) -> Snapshot:
    """hostpool-manager has not answered yet, or otherwise."""
    name = snapshot.name
    entry = snapshot.of(PLACEMENT).get(name)
    if entry is None:
        return snapshot
    answer = {
        "observedGeneration": entry.data["metadata"]["generation"],
        "phase": draw.choice((*PlacementPhase, None)),
        "waits": draw.random() < 0.5,
        "reason": Reason.INSUFFICIENT_CAPACITY.value,
    }
    other = replace(entry, data={**entry.data, "status": answer})
    return replace(snapshot, children={**snapshot.children, PLACEMENT: {name: other}})


def _of_job(change: Callable[[JobSeen, random.Random], JobSeen]) -> Change:
    def changed(snapshot: Snapshot, draw: random.Random) -> Snapshot:
        return replace(snapshot, job=snapshot.job and change(snapshot.job, draw))

    return changed


def _in_phase(job: JobSeen, draw: random.Random) -> JobSeen:
    return with_status(job, phase=draw.choice([None, *(each.value for each in JobPhase)]))


def _without_id(job: JobSeen, draw: random.Random) -> JobSeen:
    phase = draw.choice((None, JobPhase.SUBMITTING.value, JobPhase.SUBMITTING.value))
    return with_status(job, id=None, phase=phase)


def _spec_refused(job: JobSeen, _draw: random.Random) -> JobSeen:
    return replace(job, spec={**job.spec, "fusion": {"manual": -1, "automatic": True}})


def _leaving(job: JobSeen, draw: random.Random) -> JobSeen:
    return replace(job, deleting=True, orphaning=draw.random() < 0.3)


def _failed(job: JobSeen, draw: random.Random) -> JobSeen:
    observed = job.generation - draw.choice((0, 0, 1))
    return with_status(
        job,
        phase=JobPhase.FAILED.value,
        observedGeneration=observed,
        observedRetry=job.retry,
        nextAttemptAt=draw.choice((None, moment_of(0.0), SOON)),
    )


def _deletions_recorded(job: JobSeen, draw: random.Random) -> JobSeen:
    """The status records deleted PEs; they are there, or not."""
    retry = draw.choice((job.retry, job.retry, "again"))
    return replace(with_status(job, deletedProcessingElements=[draw.choice((0, 99))]), retry=retry)


def _behind(job: JobSeen, _draw: random.Random) -> JobSeen:
    return with_status(job, generation=job.plan_generation + 2)


def _unrecorded(job: JobSeen, draw: random.Random) -> JobSeen:
    """The status lags behind the newest plan."""
    phase = draw.choice((JobPhase.SUBMITTED, JobPhase.COMPLETED, JobPhase.RESIZING))
    return with_status(job, phase=phase.value, generation=job.plan_generation - 1)


def _other_conditions(job: JobSeen, draw: random.Random) -> JobSeen:
    """Conditions that nobody keeps: lost, or of another time."""
    conditions = [
        {**each, "status": draw.choice(("True", "True", "False"))}
        for each in job.status.get("conditions") or ()
        if draw.random() < 0.9
    ]
    return with_status(job, conditions=conditions)


def _leftover(snapshot: Snapshot, draw: random.Random) -> Snapshot:
    """A child that is not of the plan, or is going."""
    services = dict(snapshot.of("Service"))
    if not services:
        return snapshot
    entry = services.pop(draw.choice(sorted(services)))
    meta = {**entry.data["metadata"]}
    if draw.random() < 0.5:
        meta["deletionTimestamp"] = "2026-11-20T00:00:00Z"
    else:
        services[entry.name], entry = entry, replace(entry, name=f"{entry.name}-9")
        meta["labels"] = {**meta["labels"], labels.GENERATION: "-1"}
    services[entry.name] = replace(entry, data={**entry.data, "metadata": meta})
    return replace(snapshot, children={**snapshot.children, "Service": services})


def _first_attempt(snapshot: Snapshot, draw: random.Random) -> Snapshot:
    """Nothing is planned yet; what was planned is known to be refused, or is not asked about."""
    if snapshot.job is None:
        return snapshot
    submitting = with_status(snapshot.job, phase=JobPhase.SUBMITTING.value, generation=None)
    bare = replace(snapshot, job=submitting, heads={}, plans={}, pods={})
    return _refused(bare, draw) if draw.random() < 0.5 else bare


def _unplanned(snapshot: Snapshot, draw: random.Random) -> Snapshot:
    """A job that runs has lost its records, and maybe nobody can plan it again."""
    lost = replace(snapshot, heads={}, plans={})
    return _refused(lost, draw) if draw.random() < 0.5 else lost


def _refused(snapshot: Snapshot, draw: random.Random) -> Snapshot:
    """The next plan is refused by the planner, or has no placement."""
    refusal = PlanRefused(Reason.WIDTH_REFUSED, field="width", value="9", message="too wide")
    digest = _next_digest(snapshot)
    if digest is None:
        return snapshot
    if draw.random() < 0.3:
        return replace(snapshot, unplaced={**snapshot.unplaced, (digest, ()): refusal})
    return replace(snapshot, outcomes={**snapshot.outcomes, digest: refusal})


def _next_digest(snapshot: Snapshot) -> str | None:
    """The digest of the first inputs, where there is no plan."""
    if snapshot.job is None or snapshot.job.id is None or snapshot.newest_generation >= 0:
        return None
    at = Situation(snapshot, 0.0)
    return None if at.spec_refusal else at.first_inputs.digest


def _planning_fails(snapshot: Snapshot, _draw: random.Random) -> Snapshot:
    """The planner cannot answer for reasons of its own."""
    digest = _next_digest(snapshot)
    if digest is None and snapshot.newest is not None and snapshot.job is not None:
        unplanned = Situation(snapshot, 0.0).next_plan.unplanned
        digest = unplanned.digest if unplanned is not None else None
    if digest is None:
        return snapshot
    trouble = Trouble(Reason.BUNDLE_UNREADABLE, "no bundle", since=1.0, until=2e9)
    return replace(snapshot, troubled={digest: trouble})


def _troubled(snapshot: Snapshot, draw: random.Random) -> Snapshot:
    newest = snapshot.newest_generation
    subject = draw.choice((JOB_ID, f"plan record {newest}", f"plan record {newest + 1}"))
    trouble = Trouble(Reason.POD_REFUSED, "not allowed", since=1.0)
    return replace(snapshot, troubles={subject: trouble})


def _damaged(snapshot: Snapshot, draw: random.Random) -> Snapshot:
    newest = snapshot.newest_generation
    if newest not in snapshot.heads:
        return snapshot
    damage = Damage("its digest differs", is_lost=draw.random() < 0.5)
    without = {number: each for number, each in snapshot.plans.items() if number != newest}
    return replace(snapshot, plans=without, damaged={newest: damage})


def _unread(snapshot: Snapshot, _draw: random.Random) -> Snapshot:
    return replace(snapshot, plans={})


def _headless(snapshot: Snapshot, _draw: random.Random) -> Snapshot:
    return replace(snapshot, heads={})


def _textless(snapshot: Snapshot, draw: random.Random) -> Snapshot:
    """A restarted service knows no texts, and a text is to be written again."""
    maps = {
        name: entry
        for name, entry in snapshot.of("ConfigMap").items()
        if draw.random() < 0.5 or name == JOB
    }
    return replace(snapshot, texts={}, children={**snapshot.children, "ConfigMap": maps})


def _childless(snapshot: Snapshot, draw: random.Random) -> Snapshot:
    kind = draw.choice(("Service", "ParallelRegion", "ProcessingElement"))
    return replace(snapshot, children={**snapshot.children, kind: {}})


def _podless(snapshot: Snapshot, draw: random.Random) -> Snapshot:
    """A generation in progress has no pods yet."""
    bare = replace(snapshot, pods={})
    if bare.job is None or draw.random() < 0.3:
        return bare
    phase = draw.choice((JobPhase.SUBMITTING, JobPhase.RESIZING))
    return replace(bare, job=with_status(bare.job, phase=phase.value))


def _idle(snapshot: Snapshot, _draw: random.Random) -> Snapshot:
    """No pod runs."""
    pods = {
        pe: tuple(replace(each, data={**each.data, "status": {"phase": "Pending"}}) for each in of)
        for pe, of in snapshot.pods.items()
    }
    return replace(snapshot, pods=pods)


def _with_pods(snapshot: Snapshot, _draw: random.Random) -> Snapshot:
    uid = snapshot.job.uid if snapshot.job is not None else ""
    return replace(snapshot, with_pods=frozenset({uid}))


def _strangers(snapshot: Snapshot, _draw: random.Random) -> Snapshot:
    """All children are of a Job that is gone."""
    entries = tuple(each for of_kind in snapshot.children.values() for each in of_kind.values())
    return replace(snapshot, children={}, heads={}, plans={}, strangers=entries)


def _reported_gone(snapshot: Snapshot, _draw: random.Random) -> Snapshot:
    return replace(snapshot, reported_gone="uid-of-another")


def _jobless(snapshot: Snapshot, _draw: random.Random) -> Snapshot:
    return replace(snapshot, job=None, children={}, heads={}, plans={}, pods={})


def _is_planning(snapshot: Snapshot, _draw: random.Random) -> Snapshot:
    return replace(snapshot, is_planning=True)


def _name_taken(snapshot: Snapshot, draw: random.Random) -> Snapshot:
    taken = replace(snapshot, name_taken="Service shop-0")
    if taken.job is None:
        return taken
    submitting = with_status(taken.job, phase=JobPhase.SUBMITTING.value)
    return _childless(replace(taken, job=submitting), draw)


def _without_bundle(snapshot: Snapshot, draw: random.Random) -> Snapshot:
    """Nothing is left of an attempt that lacked its bundle, and the next one is not due."""
    if snapshot.job is None:
        return snapshot
    job = replace(_failed(snapshot.job, draw), deleting=False)
    status = {"nextAttemptAt": SOON, "reason": "BundleMissing"}
    bare = replace(snapshot, job=with_status(job, **status), children={}, pods={}, heads={})
    return replace(bare, plans={}, is_bundle_there=draw.random() < 0.2)


def _stray(snapshot: Snapshot, draw: random.Random) -> Snapshot:
    """A ParallelRegion that no Job controls; what is wrong with it is noted, or not."""
    spec = {"job": snapshot.name, "alias": draw.choice(("Nowhere", "Counted")), "width": 1}
    meta = {"generation": 1, "labels": {}, "owners": [], "annotations": {}}
    data = {"metadata": meta, "spec": spec, "status": {}}
    stray = Entry("ParallelRegion", snapshot.namespace, "stray", "s", 1, data)
    snapshot = replace(snapshot, strays=(stray,))
    wrong, since = wrong_of(snapshot, stray), draw.choice((None, 0.0, 1e12))
    if wrong is None or since is None:
        return snapshot
    return replace(snapshot, noted={"s": NotedReference(wrong.message, since)})


def _sharing(snapshot: Snapshot, draw: random.Random) -> Snapshot:
    """A job whose PEs share resources; whether its cluster resizes pods may be unknown."""
    job, plan = snapshot.job, snapshot.newest
    if job is None or plan is None:
        return snapshot
    whole = {"limits": {"cpu": draw.choice(("8", "16"))}}
    in_force = replace(plan, inputs=replace(plan.inputs, template=""))
    status = {**job.status, "phase": "Resizing"} if snapshot.newest_generation else job.status
    return replace(
        snapshot,
        job=replace(job, spec={**job.spec, "resources": whole}, status=status),
        plans={**snapshot.plans, snapshot.newest_generation: in_force},
        resizes_in_place=draw.choice((None, None, None, None, None, True, False)),
    )


def _handing_over(snapshot: Snapshot, draw: random.Random) -> Snapshot:
    """A resize whose PEs run what they ran before, and report that they hand over."""
    if snapshot.job is None or snapshot.newest is None:
        return snapshot
    generation, pes = snapshot.newest_generation, sorted(snapshot.of(PE))
    running = {"launchCount": 1, "contentId": "former", "phase": "Running"}
    sealed = draw.choice((generation, generation - 1, generation - 1))
    runtime = {"launch": 1, "handsOver": True, "sealed": sealed}
    changed = {
        name: replace(entry, data={**entry.data, "status": {**running, "runtime": runtime}})
        for name, entry in snapshot.of(PE).items()
    }
    if pes and draw.random() < 0.8:
        ended = changed[pes[0]]
        status = {**ended.data["status"], "phase": "Failed", "runtime": {"launch": 1}}
        changed[pes[0]] = replace(ended, data={**ended.data, "status": status})
    recorded = {
        "generation": draw.choice((generation, generation, generation - 1)),
        "deadline": draw.choice((SOON, SOON, moment_of(0.0))),
        "pes": {name.rpartition("-")[2]: 1 for name in pes},
    }
    job = with_status(
        snapshot.job,
        phase=draw.choice((JobPhase.RESIZING, JobPhase.RESIZING, JobPhase.SUBMITTED)).value,
        handOver=draw.choice((None, recorded, recorded)),
    )
    children = {**snapshot.children, PE: changed}
    return replace(snapshot, job=job, children=children, pods={})


WEIGHED: Final[tuple[tuple[int, Change], ...]] = (
    (10, _handing_over),
    (9, _sharing),
    (6, completed),
    (7, ended),
    (4, _leftover),
    (4, _podless),
    (4, _of_job(_without_id)),
    (5, _stray),
    (3, _another_answer),
    (5, _is_planning),
    (3, _textless),
    (3, _of_job(_other_conditions)),
    (12, _of_job(lost)),
    (2, _of_job(_leaving)),
    (3, _of_job(_deletions_recorded)),
    (2, _first_attempt),
    (2, _unplanned),
    (2, _without_bundle),
    (2, _damaged),
    (2, _unread),
    (2, _headless),
    (2, _idle),
)
"""How often each is drawn: what is seldom met else needs as many snapshots."""

CHANGES: Final[tuple[Change, ...]] = (
    *(change for times, change in WEIGHED for _ in range(times)),
    _of_job(_in_phase),
    _of_job(_spec_refused),
    _of_job(_failed),
    _of_job(_behind),
    _of_job(_unrecorded),
    _planning_fails,
    _troubled,
    _childless,
    _with_pods,
    _strangers,
    _reported_gone,
    _jobless,
    _name_taken,
)
