"""The Job that a processing element names: one that somebody created may name none that exists.

A PE may be seen before its Job, so that is reported only `WRONG_SETTLES_S` after its creation. PEs
that a Job made are left to the garbage collector when the Job goes. A copy of a PE under another
name, with the labels of a living Job, gets no pod: two PEs of one id must not run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from contracts import labels
from contracts.moments import moment_of
from contracts.reasons import Reason
from contracts.resources import StatedCondition, with_stated
from contracts.resources.fields import MESSAGE_CHARS_MAX
from contracts.resources.job import JobCondition
from contracts.showing import shown
from services.chassis.running.stage import Decision
from services.launching.core.effects import Announcement, PatchStatus
from services.launching.core.owners import LaunchStatus
from services.pod_state_machine.core.effects import Effect
from services.pod_state_machine.core.snapshot import Pe, PeSnapshot

WRONG_SETTLES_S: Final = 5.0
"""How old a PE is before a condition says that its reference is wrong."""
_ACCEPTED: Final = JobCondition.ACCEPTED.value


def decide_reference(snapshot: PeSnapshot, pe: Pe, now: float) -> Decision[Effect] | None:
    """The report of a wrong reference, or that it is right again; None if it names what exists."""
    wrong = "" if pe.is_deleting else wrong_reference(snapshot, pe)
    stated = pe.status.condition(_ACCEPTED)
    if not wrong:
        return None if stated is None else _report(pe, _without_report(pe.status), None)
    due_at = pe.created_at + WRONG_SETTLES_S
    if now < due_at:
        return Decision((), Reason.INVALID_REFERENCE, due_at)
    if stated is not None and stated.message == wrong:
        return Decision((), Reason.INVALID_REFERENCE)  # nor is it launched
    reason = Reason.INVALID_REFERENCE
    desired = StatedCondition(_ACCEPTED, "False", reason.value, wrong, moment_of(now))
    status = replace(
        pe.status,
        reason=reason.value,
        message=wrong,
        observed_generation=pe.metadata_generation,
        conditions=with_stated(pe.status.conditions, desired),
    )
    return _report(pe, status, Announcement(reason, wrong, pe.metadata_generation))


def wrong_reference(snapshot: PeSnapshot, pe: Pe) -> str:
    """What is wrong with the Job that a PE names, with field and value; empty if it is right."""
    if not pe.is_stray:
        return ""
    job = snapshot.job
    if not pe.job:
        text = "spec.job is missing: name the Job that the processing element belongs to"
    elif job is None:
        text = f"{pe.job_field} is {pe.job}: namespace {pe.namespace} has no Job of that name"
    elif job.uid != pe.job_uid and not job.is_deleting:
        made = f"Job {pe.job} did not make the processing element, so it has no such id"
        text = f"spec.id is {pe.id}: {made}; delete it"
    elif job.uid == pe.job_uid and not job.is_deleting and pe.name != _planned_name(pe):
        text = f"metadata.name is {pe.name}: {_has_the_id(snapshot, pe)}; delete this one"
    else:
        return ""
    return shown(text, MESSAGE_CHARS_MAX)


def _planned_name(pe: Pe) -> str:
    """The name of the PE with this id that a Job makes; others have the labels of a copy."""
    return labels.pe_name(pe.job, pe.id)


def _has_the_id(snapshot: PeSnapshot, pe: Pe) -> str:
    if snapshot.is_id_taken:
        return f"{_planned_name(pe)} of Job {pe.job} has spec.id {pe.id}, and the pod"
    return f"Job {pe.job} has none with spec.id {pe.id}, and makes its own"


def _without_report(status: LaunchStatus) -> LaunchStatus:
    conditions = tuple(each for each in status.conditions if each.type != _ACCEPTED)
    return replace(status, reason="", message="", conditions=conditions)


def _report(pe: Pe, status: LaunchStatus, event: Announcement | None) -> Decision[Effect]:
    return Decision((PatchStatus(pe.uid, status, event=event),), Reason.INVALID_REFERENCE)
