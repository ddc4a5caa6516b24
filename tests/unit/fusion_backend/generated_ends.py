"""A snapshot of a job that has ended, or lost tuples."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any, Final

from contracts.losses import Losses, losses_field
from contracts.moments import moment_of
from contracts.reasons import Reason
from contracts.resources import JobPhase
from services.fusion_backend.core.clearing import PE
from services.fusion_backend.core.snapshot import JobSeen, Snapshot

SOON: Final = moment_of(1_800_000_060.0)
"""A minute after the worlds begin: no attempt is due later."""


def with_status(job: JobSeen, **fields: Any) -> JobSeen:
    status = {**job.status, **fields}
    return replace(job, status={key: each for key, each in status.items() if each is not None})


def lost(job: JobSeen, draw: random.Random) -> JobSeen:
    """Tuples were lost, or are acknowledged, and Healthy says one or the other."""
    losses = losses_field(Losses(12, SOON))
    reason = draw.choice((Reason.ALL_RUNNING.value, Reason.TUPLES_LOST.value))
    status = "True" if reason == Reason.ALL_RUNNING.value else "False"
    conditions = [
        {**each, "status": status, "reason": reason} if each["type"] == "Healthy" else each
        for each in job.status.get("conditions") or ()
    ]
    found = with_status(job, losses=losses, conditions=conditions)
    return replace(found, losses_acknowledged=draw.choice(("", "12")))


def completed(snapshot: Snapshot, draw: random.Random) -> Snapshot:
    """Every PE has done its work, or the Job says so in vain."""
    done = {
        name: replace(each, data={**each.data, "status": {"phase": "Completed"}})
        for name, each in snapshot.of(PE).items()
    }
    if draw.random() < 0.5 and snapshot.job is not None:
        return replace(snapshot, job=with_status(snapshot.job, phase=JobPhase.COMPLETED.value))
    return replace(snapshot, children={**snapshot.children, PE: done})


def ended(snapshot: Snapshot, _draw: random.Random) -> Snapshot:
    """Every PE has nothing left to do."""
    found = {}
    for name, each in snapshot.of(PE).items():
        status = each.data["status"]
        runtime = {"launch": status.get("launchCount", 0), "ended": True}
        found[name] = replace(each, data={**each.data, "status": {**status, "runtime": runtime}})
    job = snapshot.job and with_status(snapshot.job, phase=JobPhase.SUBMITTED.value)
    return replace(snapshot, job=job, children={**snapshot.children, PE: found})
