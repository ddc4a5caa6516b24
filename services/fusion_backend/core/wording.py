"""The status and Events of a Job at each turn: phase, reason, sentence, conditions.

They are made from the situation alone, without the time: made again, they are the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from contracts import labels
from contracts.reasons import Reason
from contracts.resources import JobCondition, JobPhase
from planner.refusals import PlanRefused, counted
from services.fusion_backend.core.conditions import condition
from services.fusion_backend.core.effects import (
    Announcement,
    DesiredCondition,
    FieldValue,
    JobStatusChange,
)
from services.fusion_backend.core.placement_states import PlacementState
from services.fusion_backend.core.situation import TROUBLE_SETTLES_S, Situation
from services.fusion_backend.core.snapshot import SUBMISSION_TIME_OUT_S
from services.fusion_backend.core.spec.accepting import ignored, sentence
from services.fusion_backend.core.spec.editing import waiting_fields
from services.fusion_backend.core.spec.inputs import template_of
from services.fusion_backend.core.wording_plans import fused, placed, placement_awaited, widths_of

Change = JobStatusChange

PES_NAMED_MAX = 5
_ABOUT_FUSION = frozenset(
    {
        Reason.FUSION_INVALID,
        Reason.CONSTRAINTS_CONTRADICT,
        Reason.PE_TOO_LARGE,
        Reason.PLAN_TOO_LARGE,
        Reason.PLANNING_FAILED,
        Reason.PLANNING_LIMIT_EXCEEDED,
    }
)
_ABOUT_SUBMISSION = frozenset({Reason.SUBMISSION_TIMED_OUT, Reason.NAME_TAKEN})


def begun(situation: Situation) -> Change:
    """A new attempt; what it has not come to yet is unknown.

    Written again before the id is taken, it does not restart the time-out.
    """
    job = situation.job
    without_effect = ignored(job.spec)
    announcements: tuple[Announcement, ...] = ()
    if without_effect:
        announcements = (Announcement(Reason.FIELDS_IGNORED, without_effect, job.generation),)
    unknown = (JobCondition.FUSED, JobCondition.PLACED, JobCondition.HEALTHY)
    return Change(
        phase=JobPhase.SUBMITTING.value,
        reason=Reason.SUBMITTING,
        message=Reason.SUBMITTING.sentence,
        conditions=(
            _accepted(situation),
            *(DesiredCondition(each.value, "Unknown", Reason.SUBMITTING) for each in unknown),
            progress(situation)
            or DesiredCondition(JobCondition.SUBMITTED.value, "False", Reason.SUBMITTING),
        ),
        fields=(
            ("observedRetry", job.retry or None),
            ("redisConfig", None),
            ("transportCertificate", None),
        ),
        starts=situation.phase is not JobPhase.SUBMITTING,
        announcements=announcements,
    )


def failed(situation: Situation) -> Change:
    """The attempt failed; everything of it is deleted next.

    A retry that was requested, or an edit that was made, after the attempt had begun still counts.
    """
    refusal = refusal_of(situation)
    message = sentence(refusal)
    fields: list[tuple[str, FieldValue]] = []
    if situation.phase is None:
        fields.append(("observedRetry", situation.job.retry or None))
    if situation.snapshot.newest_generation >= 0:
        fields.append(("generation", situation.snapshot.newest_generation))
    return Change(
        phase=JobPhase.FAILED.value,
        reason=refusal.reason,
        message=message,
        conditions=tuple(_of_failure(situation, refusal, message)),
        fields=tuple(fields),
        is_of_older_spec=_was_edited_since(situation),
        announcements=(
            Announcement(refusal.reason, message, situation.job.generation, warning=True),
        ),
    )


def _of_failure(
    situation: Situation, refusal: PlanRefused, message: str
) -> Iterator[DesiredCondition]:
    """The culprit and what it prevents are False; what nobody came to is unknown."""
    culprit, reason = _culprit(situation, refusal), refusal.reason
    for each in JobCondition:
        if each in (culprit, JobCondition.SUBMITTED):
            yield DesiredCondition(each.value, "False", reason, message)
        elif each is JobCondition.PLACED and situation.placing.state is PlacementState.WAITING:
            yield placed(situation)
        elif each is JobCondition.PLACED and reason is Reason.CONSTRAINTS_CONTRADICT:
            yield DesiredCondition(
                each.value, "False", reason, message
            )  # no cluster has a place for it
        elif each is JobCondition.HEALTHY:
            yield DesiredCondition(each.value, "False", reason)
        elif condition(situation.job.status, each.value).get("status") != "True":
            is_before = each is JobCondition.ACCEPTED
            yield (
                _accepted(situation)
                if is_before
                else DesiredCondition(each.value, "Unknown", reason)
            )


def _culprit(situation: Situation, refusal: PlanRefused) -> JobCondition:
    if refusal is situation.placing.refusal:
        return JobCondition.PLACED
    if refusal.reason in _ABOUT_FUSION:
        return JobCondition.FUSED
    return JobCondition.SUBMITTED if refusal.reason in _ABOUT_SUBMISSION else JobCondition.ACCEPTED


def _was_edited_since(situation: Situation) -> bool:
    """Whether the attempt's plan was made of another spec than the one of now."""
    plan = situation.snapshot.newest
    if plan is None:
        return False
    if situation.edit_refusal is not None:
        return True
    return template_of(situation.job.spec) != plan.inputs.template


def refusal_of(situation: Situation) -> PlanRefused:
    """Why the attempt fails."""
    snapshot = situation.snapshot
    if snapshot.newest_generation < 0 and situation.spec_refusal:
        return situation.spec_refusal
    if snapshot.newest_generation < 0 and situation.next_plan.refusal is not None:
        return situation.next_plan.refusal
    if snapshot.name_taken:
        return PlanRefused(
            Reason.NAME_TAKEN,
            field="metadata.name",
            value=situation.job.name,
            message=f"{snapshot.name_taken} belongs to somebody else,"
            f" so metadata.name {situation.job.name} cannot be used: delete what has the name, also"
            " where an orphaning deletion left it, and give the Job's annotation"
            f" {labels.RETRY} a new value; or submit the job under another name",
        )
    if snapshot.newest is None and situation.placing.refusal is not None:
        return situation.placing.refusal
    limit_s = situation.job.spec_field("submissionTimeOutInSeconds") or SUBMISSION_TIME_OUT_S
    return PlanRefused(
        Reason.SUBMISSION_TIMED_OUT,
        field="spec.submissionTimeOutInSeconds",
        value=limit_s,
        message=f"not submitted within spec.submissionTimeOutInSeconds ({limit_s});"
        f" {waited_for(situation)}",
    )


def waited_for(situation: Situation) -> str:
    """What was still missing, for people, and what went wrong with it."""
    trouble = situation.trouble
    detail = f" ({trouble.text})" if trouble is not None else ""
    if situation.snapshot.newest is None:
        if situation.snapshot.newest_generation >= 0:
            return f"its plan record was not read{detail}"
        if (
            situation.placing.question is not None
            and situation.placing.state is not PlacementState.PLACED
        ):
            return f"{placement_awaited(situation)}{detail}"
        return (
            f"planning did not end{detail}"
            if situation.snapshot.is_planning or detail
            else "it was not planned yet"
        )
    found = situation.difference
    missing = [f"{each.kind} {each.name}" for each in found.creates]
    missing += [f"{each.kind} {each.name}" for each in found.patches]
    missing += [f"{each.kind} {each.name}" for each in found.unmendable]
    missing += [f"AADL of PE {pe}" for pe in found.textless]
    missing += [f"pod of PE {pe}" for pe in situation.podless]
    named = ", ".join(missing[:PES_NAMED_MAX])
    more = len(missing) - PES_NAMED_MAX
    left = f" and {more} more" if more > 0 else ""
    return f"still missing: {named or 'nothing'}{left}{detail}"


def progress(situation: Situation) -> DesiredCondition | None:
    """The condition Submitted during trouble, and when it is over.

    None where no report is due: a submission or a resize says itself that it goes on.
    """
    name = JobCondition.SUBMITTED.value
    if situation.trouble is not None:
        return _lasting_trouble(situation)
    now = condition(situation.job.status, name)
    if situation.phase is JobPhase.RESIZING and situation.snapshot.newest is not None:
        message = _being_put_in_force(situation)
        is_plain = now.get("reason") == Reason.RESIZING
        return None if is_plain else DesiredCondition(name, "False", Reason.RESIZING, message)
    if situation.phase is JobPhase.SUBMITTING:
        is_plain = now.get("reason") == Reason.SUBMITTING
        return None if is_plain else DesiredCondition(name, "False", Reason.SUBMITTING)
    return None


def _lasting_trouble(situation: Situation) -> DesiredCondition | None:
    """What the condition Submitted says of trouble that does not pass soon."""
    trouble = situation.trouble
    if trouble is None or situation.now < trouble.since + TROUBLE_SETTLES_S:
        return None
    message = f"{trouble.text}; it is tried again"
    return DesiredCondition(JobCondition.SUBMITTED.value, "False", trouble.reason, message)


def trouble_seen(situation: Situation) -> Change:
    """The condition Submitted changes; the message beside the phase as well, while that lasts."""
    desired, phase = progress(situation), situation.phase
    assert desired is not None, "observed: trouble to report"
    if phase is None:
        return begun(situation)
    if phase not in (JobPhase.SUBMITTING, JobPhase.RESIZING):
        return Change(conditions=(desired,))
    return Change(
        phase=phase.value,
        reason=Reason.SUBMITTING if phase is JobPhase.SUBMITTING else Reason.RESIZING,
        message=desired.message or desired.reason.sentence,
        conditions=(desired,),
    )


def deleting(situation: Situation) -> Change:
    """The Job is being deleted, and something holds it still."""
    return Change(
        phase=JobPhase.DELETING.value,
        reason=Reason.DELETING,
        message=Reason.DELETING.sentence,
        conditions=(
            DesiredCondition(JobCondition.SUBMITTED.value, "False", Reason.DELETING),
            DesiredCondition(JobCondition.HEALTHY.value, "False", Reason.DELETING),
        ),
    )


def damaged(situation: Situation) -> Change:
    """The newest plan record cannot be read."""
    damage = situation.damage
    assert damage is not None, "observed: a damaged record"
    message = f"{damage.text}; it is deleted, and the same plan is made again"
    if not damage.is_lost:
        message = f"{damage.text}; nothing of the job is changed until it can be read"
    generation = situation.snapshot.newest_generation
    return Change(
        conditions=(
            DesiredCondition(JobCondition.FUSED.value, "False", Reason.PLAN_DAMAGED, message),
        ),
        announcements=(Announcement(Reason.PLAN_DAMAGED, message, generation, warning=True),),
    )


def resizing(situation: Situation) -> Change:
    """A newer plan is being put in force."""
    message = _being_put_in_force(situation)
    return Change(
        phase=JobPhase.RESIZING.value,
        reason=Reason.RESIZING,
        message=message,
        conditions=(
            DesiredCondition(JobCondition.SUBMITTED.value, "False", Reason.RESIZING, message),
        ),
    )


def _being_put_in_force(situation: Situation) -> str:
    record = situation.plan.record
    widths = widths_of(record)
    return f"widths {widths} are being put in force as plan generation {record.generation}"


def submitted(situation: Situation) -> Change:
    """Every object of the newest plan exists."""
    record = situation.plan.record
    is_first = situation.phase is JobPhase.SUBMITTING
    text = f"job {situation.job.name} runs with {counted(len(record.pes), 'PE')}"
    widths = widths_of(situation.plan.record)
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
        phase=JobPhase.SUBMITTED.value,
        reason=Reason.SUBMITTED,
        message=message,
        conditions=(*steady(situation), health(situation)),
        fields=(
            ("generation", record.generation),
            ("bundleDigest", record.bundle_digest),
            ("processingElements", len(record.pes)),
            ("widths", tuple(sorted(record.widths.items()))),
        ),
        announcements=(*announcements, *_of_refused_edit(situation)),
    )


def steady(situation: Situation) -> tuple[DesiredCondition, ...]:
    """What every condition but Healthy says of a job whose newest plan is in force."""
    return (
        _accepted(situation),
        fused(situation.plan),
        placed(situation),
        # What runs may lack something that is not a child: reported once, not withdrawn in between.
        _lasting_trouble(situation)
        or DesiredCondition(JobCondition.SUBMITTED.value, "True", Reason.SUBMITTED),
    )


def _accepted(situation: Situation) -> DesiredCondition:
    """What becomes of the spec as it is now."""
    name, spec, plan = JobCondition.ACCEPTED.value, situation.job.spec, situation.snapshot.newest
    if plan is not None and situation.phase not in (None, JobPhase.FAILED):
        if situation.edit_refusal is not None:
            return DesiredCondition(
                name, "False", Reason.EDIT_REFUSED, situation.edit_refusal.message
            )
        if waiting := waiting_fields(spec, plan.inputs):
            text = (
                f"{', '.join(waiting)}: accepted, and taken up by the PEs that the next resize adds"
                " or changes"
            )
            return DesiredCondition(name, "True", Reason.EDIT_TAKEN_UP_LATER, text)
    without_effect = ignored(spec)
    if without_effect:
        return DesiredCondition(name, "True", Reason.FIELDS_IGNORED, without_effect)
    return DesiredCondition(name, "True", Reason.ACCEPTED)


def _of_refused_edit(situation: Situation) -> tuple[Announcement, ...]:
    refusal = situation.edit_refusal
    if refusal is None:
        return ()
    generation = situation.job.generation
    return (Announcement(refusal.reason, refusal.message, generation, warning=True),)


def completed(situation: Situation) -> Change:
    """Every PE has done its work."""
    return Change(
        phase=JobPhase.COMPLETED.value,
        reason=Reason.COMPLETED,
        message=Reason.COMPLETED.sentence,
        conditions=(health(situation),),
    )


def changed_conditions(situation: Situation) -> Change:
    """Conditions that differ from what is so, as after an edit of the spec."""
    return Change(conditions=steady(situation), announcements=_of_refused_edit(situation))


def health_seen(situation: Situation) -> Change:
    """Only the condition Healthy changes."""
    return Change(conditions=(health(situation),))


def health(situation: Situation) -> DesiredCondition:
    """Whether every pod of the newest plan runs."""
    idle = situation.not_running
    if not idle:
        return DesiredCondition(JobCondition.HEALTHY.value, "True", Reason.ALL_RUNNING)
    named = ", ".join(str(pe) for pe in idle[:PES_NAMED_MAX])
    pes, do = counted(len(situation.plan.record.pes), "PE"), "does" if len(idle) == 1 else "do"
    text = f"{len(idle)} of {pes} {do} not run: {named}"
    if len(idle) > PES_NAMED_MAX:
        text += ", …"
    return DesiredCondition(JobCondition.HEALTHY.value, "False", Reason.SOME_NOT_RUNNING, text)
