"""The status and Events of a Job at each turn: phase, reason, sentence, conditions.

They are made from the situation alone, without the time: made again, they are the same. What a
condition says is in `wording_conditions.py`, of a plan in `wording_plans.py`; the status of an
attempt that fails is in `wording_failures.py`.
"""

from __future__ import annotations

from contracts import labels
from contracts.reasons import WARNED_OF, Reason, warned_of
from contracts.resources import JobCondition, JobPhase
from planner.refusals import counted
from services.fusion_backend.core.attempts import is_retried
from services.fusion_backend.core.conditions import condition
from services.fusion_backend.core.effects import (
    Announcement,
    DesiredCondition,
    JobStatusChange,
)
from services.fusion_backend.core.naming_pes import do_not_run
from services.fusion_backend.core.retrying import forgotten
from services.fusion_backend.core.situation import Situation
from services.fusion_backend.core.spec.accepting import ignored
from services.fusion_backend.core.spec.runtime_image import image_of, without_effect
from services.fusion_backend.core.wording_conditions import (
    accepted,
    deletions,
    health,
    is_unreported,
    progress,
    running,
    steady,
    with_losses,
)
from services.fusion_backend.core.wording_hand_overs import hand_over_field, resizing_message
from services.fusion_backend.core.wording_plans import placing_announced, widths_of
from services.fusion_backend.core.wording_shares import excess_announced, within_resources


def begun(situation: Situation) -> JobStatusChange:
    """A new attempt; what it has not come to yet is unknown.

    Written again before the id is taken, it does not restart the time-out.
    """
    job = situation.job
    without_effect = ignored(job.spec)
    announcements: tuple[Announcement, ...] = ()
    if without_effect:
        announcements = (Announcement(Reason.FIELDS_IGNORED, without_effect, job.generation),)
    unknown = (JobCondition.FUSED, JobCondition.PLACED, JobCondition.HEALTHY)
    return JobStatusChange(
        phase=JobPhase.SUBMITTING.value,
        reason=Reason.SUBMITTING,
        message=Reason.SUBMITTING.sentence,
        conditions=(
            accepted(situation),
            *(DesiredCondition(each.value, "Unknown", Reason.SUBMITTING) for each in unknown),
            progress(situation)
            or DesiredCondition(JobCondition.SUBMITTED.value, "False", Reason.SUBMITTING),
        ),
        fields=(
            ("observedRetry", job.retry or None),
            ("deletedProcessingElements", None),
            ("redisConfig", None),
            ("transportCertificate", None),
            *((("handOver", None),) if job.status.get("handOver") else ()),
            *forgotten(job.status, all_=is_retried(situation)),
        ),
        starts=situation.phase is not JobPhase.SUBMITTING,
        announcements=announcements,
    )


def trouble_seen(situation: Situation) -> JobStatusChange:
    """The condition Submitted changes; the message beside the phase as well, while that lasts."""
    desired, phase = progress(situation), situation.phase
    assert desired is not None, "observed: trouble to report"
    if phase is None:
        return begun(situation)
    if phase not in (JobPhase.SUBMITTING, JobPhase.RESIZING):
        return JobStatusChange(conditions=(desired,))
    return JobStatusChange(
        phase=phase.value,
        reason=Reason.SUBMITTING if phase is JobPhase.SUBMITTING else Reason.RESIZING,
        message=desired.message or desired.reason.sentence,
        conditions=(desired,),
    )


def deleting(situation: Situation) -> JobStatusChange:
    """The Job is being deleted, and something holds it still."""
    return JobStatusChange(
        phase=JobPhase.DELETING.value,
        reason=Reason.DELETING,
        message=Reason.DELETING.sentence,
        conditions=(
            DesiredCondition(JobCondition.SUBMITTED.value, "False", Reason.DELETING),
            DesiredCondition(JobCondition.HEALTHY.value, "False", Reason.DELETING),
        ),
    )


def damaged(situation: Situation) -> JobStatusChange:
    """The newest plan record cannot be read."""
    damage = situation.damage
    assert damage is not None, "observed: a damaged record"
    message = f"{damage.text}; it is deleted, and the same plan is made again"
    if not damage.is_lost:
        message = f"{damage.text}; nothing of the job is changed until it can be read"
    generation = situation.snapshot.newest_generation
    return JobStatusChange(
        conditions=(
            DesiredCondition(JobCondition.FUSED.value, "False", Reason.PLAN_DAMAGED, message),
        ),
        announcements=(Announcement(Reason.PLAN_DAMAGED, message, generation, warning=True),),
    )


def resizing(situation: Situation) -> JobStatusChange:
    """A newer plan is being put in force, after a hand-over where PEs of the job do that."""
    message = resizing_message(situation)
    return JobStatusChange(
        phase=JobPhase.RESIZING.value,
        reason=Reason.RESIZING,
        message=message,
        conditions=(
            DesiredCondition(JobCondition.SUBMITTED.value, "False", Reason.RESIZING, message),
        ),
        fields=hand_over_field(situation),
    )


def _warnings(situation: Situation) -> tuple[str, ...]:
    """What of the submission has no effect: for the plan, and for the runtime of its PEs."""
    plan, spec = situation.plan, situation.job.spec
    is_python, default = plan.record.is_python, situation.snapshot.runtime_image
    image = image_of(spec, is_python=is_python, runtime_image=default)
    return (*plan.warnings, *without_effect(spec, image))


def submitted(situation: Situation) -> JobStatusChange:
    """Every object of the newest plan exists."""
    record = situation.plan.record
    is_first = situation.phase is JobPhase.SUBMITTING
    done = "submitted with" if is_first else "resized to"
    text = f"job {situation.job.name} is {done} {counted(len(record.pes), 'PE')}"
    widths = widths_of(record)
    message = f"{text}, widths {widths}" if widths else text
    reason = Reason.SUBMISSION_SUCCEEDED if is_first else Reason.RESIZED
    announcements: tuple[Announcement, ...] = ()
    if situation.in_progress:
        announcements = (_of_generation(situation, reason, message),)
    if is_first:
        announcements = (*announcements, *_of_warnings(situation))
    return JobStatusChange(
        phase=JobPhase.SUBMITTED.value,
        reason=Reason.SUBMITTED,
        message=running(situation),
        conditions=(
            *steady(situation),
            *within_resources(situation),
            health(situation),
            *_resumed(situation),
        ),
        fields=(
            *forgotten(situation.job.status, all_=True),
            ("generation", record.generation),
            ("bundleDigest", record.bundle_digest),
            ("processingElements", len(record.pes)),
            ("widths", tuple(sorted(record.widths.items()))),
        ),
        announcements=(
            *announcements,
            *_of_refused_edit(situation),
            *placing_announced(situation),
            *excess_announced(situation),
        ),
    )


def _resumed(situation: Situation) -> tuple[DesiredCondition, ...]:
    """Of a job that was completed: PEs of it run again."""
    name = JobCondition.COMPLETED.value
    is_known = bool(condition(situation.job.status, name))
    return (DesiredCondition(name, "False", Reason.SUBMITTED),) if is_known else ()


def _of_warnings(situation: Situation) -> tuple[Announcement, ...]:
    """What the planner warns of: an Event for each reason."""
    generation, found = situation.plan.record.generation, [*map(warned_of, _warnings(situation))]
    return tuple(
        Announcement(reason, "; ".join(texts), generation, warning=True)
        for reason in (Reason.WITHOUT_EFFECT, *WARNED_OF)
        if (texts := [text for its, text in found if its is reason])
    )


def _of_generation(situation: Situation, reason: Reason, message: str) -> Announcement:
    """The Event at the end of a submission or a resize; a Warning names what found no node."""
    generation = situation.plan.record.generation
    idle = situation.without_room
    if not (situation.is_resize and idle):
        return Announcement(reason, message, generation)
    text = f"{message}; {do_not_run(idle)}"
    return Announcement(Reason.SOME_NOT_RUNNING, text, generation, warning=True)


def _of_refused_edit(situation: Situation) -> tuple[Announcement, ...]:
    refusal = situation.edit_refusal
    if refusal is None:
        return ()
    generation = situation.job.generation
    return (Announcement(refusal.reason, refusal.message, generation, warning=True),)


def ended(_situation: Situation) -> JobStatusChange:
    """Nothing is left to do: PEs may end."""
    return JobStatusChange(fields=(("hasEnded", True),))


def completed(situation: Situation) -> JobStatusChange:
    """Every PE has done its work."""
    return JobStatusChange(
        phase=JobPhase.COMPLETED.value,
        reason=Reason.COMPLETED,
        message=Reason.COMPLETED.sentence,
        conditions=(
            health(situation),
            DesiredCondition(JobCondition.COMPLETED.value, "True", Reason.COMPLETED),
        ),
    )


def deletions_recorded(situation: Situation) -> JobStatusChange:
    """PEs that somebody deleted stay away, or are back."""
    job, to_record = situation.job, situation.deletions_to_record
    added = to_record - job.recorded_deletions
    announcements: tuple[Announcement, ...] = ()
    if added:
        message, generation = deletions(situation), situation.plan.record.generation
        announcements = (Announcement(Reason.PE_DELETED, message, generation, warning=True),)
    is_submitted = situation.phase is JobPhase.SUBMITTED
    return JobStatusChange(
        phase=JobPhase.SUBMITTED.value if is_submitted else "",
        reason=Reason.SUBMITTED,
        message=running(situation),
        conditions=(health(situation),),
        reports_health=True,
        fields=(
            ("deletedProcessingElements", tuple(sorted(to_record)) or None),
            ("observedRetry", job.retry or None),
        ),
        announcements=announcements,
        missing=tuple(labels.pe_name(job.name, pe) for pe in sorted(added)),
    )


def changed_conditions(situation: Situation) -> JobStatusChange:
    """Conditions that differ from what is so, as after an edit of the spec."""
    return JobStatusChange(
        conditions=(*steady(situation), *within_resources(situation)),
        announcements=(
            *_of_refused_edit(situation),
            *placing_announced(situation),
            *excess_announced(situation),
        ),
    )


def health_seen(situation: Situation) -> JobStatusChange:
    """How many PEs run; an Event if Healthy turns False or has another cause."""
    desired = health(situation)
    recorded = condition(situation.job.status, JobCondition.HEALTHY.value)
    is_known = (recorded.get("status"), recorded.get("reason")) == (desired.status, desired.reason)
    is_news = not is_known or is_unreported(situation)
    announcements: tuple[Announcement, ...] = ()
    # A deletion has its Event from the write that records it, and a loss has that of its PE.
    is_announced = desired.reason in (Reason.PE_DELETED, Reason.TUPLES_LOST)
    if desired.status == "False" and is_news and not is_announced:
        generation = situation.plan.record.generation
        announcements = (Announcement(desired.reason, desired.message, generation, warning=True),)
    return JobStatusChange(
        phase=JobPhase.SUBMITTED.value,
        reason=Reason.SUBMITTED,
        message=running(situation),
        conditions=(desired,),
        reports_health=True,
        announcements=announcements,
    )


def losses_seen(situation: Situation) -> JobStatusChange:
    """What Healthy says of lost tuples, or that it says nothing of them any more.

    While a plan is put in force, which may take long, what it says besides stays as it is.
    """
    if not situation.is_put_in_force:
        desired = with_losses(situation)
        return JobStatusChange(conditions=(desired,), reports_health=True)
    if situation.phase is JobPhase.COMPLETED:
        return JobStatusChange(conditions=(health(situation),), reports_health=True)
    return health_seen(situation)
