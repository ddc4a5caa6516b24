"""What a Job's status and Events say at each turn: phase, reason, sentence, conditions.

Everything that a person reads about a job is made here, from the situation alone and without the
time, so that saying it again says the same.
"""

from __future__ import annotations

from contracts.reasons import Reason
from contracts.resources import JobCondition
from services.fusion_backend.core.accepting import ignored, sentence
from services.fusion_backend.core.effects import (
    Announcement,
    FieldValue,
    JobStatusChange,
    Said,
)
from services.fusion_backend.core.observing import SUBMISSION_TIME_OUT_S, Situation
from services.fusion_backend.core.refusals import PlanRefused, shown
from services.fusion_backend.core.transitions import Phase

Change = JobStatusChange

PES_NAMED_MAX = 5
_ABOUT_FUSION = frozenset(
    {
        Reason.FUSION_INVALID,
        Reason.CONSTRAINTS_CONTRADICT,
        Reason.PE_TOO_LARGE,
        Reason.PLAN_TOO_LARGE,
        Reason.PLANNING_FAILED,
    }
)
_ABOUT_SUBMISSION = frozenset({Reason.SUBMISSION_TIMED_OUT, Reason.NAME_TAKEN})


def begun(situation: Situation) -> Change:
    """A new attempt."""
    job = situation.job
    without_effect = ignored(job.spec)
    accepted = Said(JobCondition.ACCEPTED.value, "True", Reason.ACCEPTED)
    announcements: tuple[Announcement, ...] = ()
    if without_effect:
        accepted = Said(JobCondition.ACCEPTED.value, "True", Reason.FIELDS_IGNORED, without_effect)
        announcements = (Announcement(Reason.FIELDS_IGNORED, without_effect, job.generation),)
    return Change(
        phase=Phase.SUBMITTING.value,
        reason=Reason.SUBMITTING,
        message=Reason.SUBMITTING.sentence,
        conditions=(accepted, Said(JobCondition.SUBMITTED.value, "False", Reason.SUBMITTING)),
        fields=(("observedRetry", job.retry or None),),
        starts=True,
        announcements=announcements,
    )


def failed(situation: Situation) -> Change:
    """The attempt failed; everything of it is deleted next."""
    refusal = _refusal(situation)
    message = sentence(refusal)
    culprit = JobCondition.ACCEPTED
    if refusal.reason in _ABOUT_FUSION:
        culprit = JobCondition.FUSED
    if refusal.reason in _ABOUT_SUBMISSION:
        culprit = JobCondition.SUBMITTED
    conditions = [Said(JobCondition.SUBMITTED.value, "False", refusal.reason, message)]
    if culprit is not JobCondition.SUBMITTED:
        conditions.append(Said(culprit.value, "False", refusal.reason, message))
    fields: list[tuple[str, FieldValue]] = [("observedRetry", situation.job.retry or None)]
    if situation.snapshot.newest_generation >= 0:
        fields.append(("generation", situation.snapshot.newest_generation))
    return Change(
        phase=Phase.FAILED.value,
        reason=refusal.reason,
        message=message,
        conditions=tuple(conditions),
        fields=tuple(fields),
        announcements=(
            Announcement(refusal.reason, message, situation.job.generation, warning=True),
        ),
    )


def _refusal(situation: Situation) -> PlanRefused:
    snapshot = situation.snapshot
    if snapshot.newest_generation < 0 and situation.spec_refusal:
        return situation.spec_refusal
    if snapshot.newest_generation < 0 and isinstance(situation.first_outcome, PlanRefused):
        return situation.first_outcome
    if snapshot.name_taken:
        return PlanRefused(
            Reason.NAME_TAKEN,
            field="metadata.name",
            value=situation.job.name,
            message=f"{snapshot.name_taken} belongs to somebody else,"
            f" so metadata.name {situation.job.name} cannot be used",
        )
    limit_s = situation.job.spec.get("submissionTimeOutInSeconds") or SUBMISSION_TIME_OUT_S
    return PlanRefused(
        Reason.SUBMISSION_TIMED_OUT,
        field="spec.submissionTimeOutInSeconds",
        value=limit_s,
        message=f"not submitted within spec.submissionTimeOutInSeconds ({limit_s});"
        f" {waited_for(situation)}",
    )


def waited_for(situation: Situation) -> str:
    """What was still missing, for people."""
    if situation.snapshot.newest is None:
        troubles = "; ".join(sorted(set(situation.snapshot.troubled.values())))
        return f"planning did not end: {troubles}" if troubles else "it was not planned yet"
    found = situation.difference
    missing = [f"{each.kind} {each.name}" for each in found.creates]
    missing += [f"{each.kind} {each.name}" for each in found.patches]
    missing += [f"AADL of PE {pe}" for pe in found.textless]
    missing += [f"pod of PE {pe}" for pe in situation.podless]
    named = ", ".join(missing[:PES_NAMED_MAX])
    more = len(missing) - PES_NAMED_MAX
    return f"still missing: {named or 'nothing'}" + (f" and {more} more" if more > 0 else "")


def resizing(situation: Situation) -> Change:
    """A newer plan is being put in force."""
    generation = situation.plan.record.generation
    message = f"widths {_widths(situation)} are being put in force as plan generation {generation}"
    return Change(
        phase=Phase.RESIZING.value,
        reason=Reason.RESIZING,
        message=message,
        conditions=(Said(JobCondition.SUBMITTED.value, "False", Reason.RESIZING, message),),
    )


def submitted(situation: Situation) -> Change:
    """Every object of the newest plan exists."""
    record = situation.plan.record
    is_first = situation.phase is Phase.SUBMITTING
    fused = f"{len(record.operators)} operators in {len(record.pes)} PEs ({_fusion(situation)})"
    fused = "; ".join((fused, *situation.plan.warnings))
    text = f"job {situation.job.name} runs with {len(record.pes)} PEs"
    widths = _widths(situation)
    message = f"{text}, widths {widths}" if widths else text
    reason = Reason.SUBMISSION_SUCCEEDED if is_first else Reason.RESIZED
    announcements: tuple[Announcement, ...] = ()
    if situation.in_progress:
        announcements = (Announcement(reason, message, record.generation),)
    if is_first and situation.plan.warnings:
        warned = "; ".join(situation.plan.warnings)
        warning = Announcement(Reason.WITHOUT_EFFECT, warned, record.generation, warning=True)
        announcements = (*announcements, warning)
    return Change(
        phase=Phase.SUBMITTED.value,
        reason=Reason.SUBMITTED,
        message=message,
        conditions=(
            Said(JobCondition.FUSED.value, "True", Reason.FUSED, fused),
            Said(JobCondition.PLACED.value, "True", Reason.NO_CONSTRAINTS),
            Said(JobCondition.SUBMITTED.value, "True", Reason.SUBMITTED),
            health(situation),
        ),
        fields=(
            ("generation", record.generation),
            ("bundleDigest", record.bundle_digest),
            ("processingElements", len(record.pes)),
            ("widths", tuple(sorted(record.widths.items()))),
        ),
        announcements=announcements,
    )


def _fusion(situation: Situation) -> str:
    fusion = situation.plan.record.fusion
    if fusion.requested == "automatic":
        return f"automatic: {fusion.pes_max} PEs for {fusion.nodes} nodes"
    return "legacy" if fusion.scheme == "legacy" else f"manual {fusion.pes_max}"


def _widths(situation: Situation) -> str:
    widths = sorted(situation.plan.record.widths.items())
    return ", ".join(f"{shown(name)}={width}" for name, width in widths)


def completed(situation: Situation) -> Change:
    """Every PE has done its work."""
    return Change(
        phase=Phase.COMPLETED.value,
        reason=Reason.COMPLETED,
        message=Reason.COMPLETED.sentence,
        conditions=(health(situation),),
    )


def edited(situation: Situation) -> Change:
    """The spec was edited while the job runs: seen, and without effect on what runs."""
    text = (
        f"generation {situation.job.generation} of the spec is seen; what runs is as submitted:"
        " widths are changed on ParallelRegions, everything else by submitting the job anew"
    )
    return Change(
        conditions=(Said(JobCondition.ACCEPTED.value, "True", Reason.FIELDS_IGNORED, text),),
    )


def health_seen(situation: Situation) -> Change:
    """Only the condition Healthy changes."""
    return Change(
        conditions=(health(situation),),
    )


def health(situation: Situation) -> Said:
    """Whether every pod of the newest plan runs."""
    idle = situation.not_running
    if not idle:
        return Said(JobCondition.HEALTHY.value, "True", Reason.ALL_RUNNING)
    named = ", ".join(str(pe) for pe in idle[:PES_NAMED_MAX])
    text = f"{len(idle)} of {len(situation.plan.record.pes)} PEs do not run: {named}"
    if len(idle) > PES_NAMED_MAX:
        text += ", …"
    return Said(JobCondition.HEALTHY.value, "False", Reason.SOME_NOT_RUNNING, text)
