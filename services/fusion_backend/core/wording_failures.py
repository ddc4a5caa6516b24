"""The status of a Job whose attempt fails: which refusal it was, and what it prevents."""

from __future__ import annotations

from collections.abc import Iterator

from contracts import labels
from contracts.passing import CAN_PASS
from contracts.reasons import Reason
from contracts.resources import JobCondition, JobPhase
from planner.refusals import PlanRefused
from services.fusion_backend.core.appearing import lacked
from services.fusion_backend.core.attempts import has_bundle_folder
from services.fusion_backend.core.awaited import Awaited
from services.fusion_backend.core.conditions import condition
from services.fusion_backend.core.effects import (
    Announcement,
    DesiredCondition,
    FieldValue,
    JobStatusChange,
)
from services.fusion_backend.core.placement_states import PlacementState, is_of_capacity
from services.fusion_backend.core.retrying import Failure
from services.fusion_backend.core.situation import Situation
from services.fusion_backend.core.snapshot import SUBMISSION_TIME_OUT_S
from services.fusion_backend.core.spec.accepting import sentence
from services.fusion_backend.core.spec.inputs import template_of
from services.fusion_backend.core.wording_conditions import PES_NAMED_MAX, accepted
from services.fusion_backend.core.wording_plans import placed, placement_awaited

_ABOUT_FUSION = frozenset(
    {
        Reason.FUSION_INVALID,
        Reason.CONSTRAINTS_CONTRADICT,
        Reason.STATE_CANNOT_FOLLOW,
        Reason.STORE_NOT_SHARED,
        Reason.PE_TOO_LARGE,
        Reason.PLAN_TOO_LARGE,
        Reason.PLANNING_FAILED,
        Reason.PLANNING_LIMIT_EXCEEDED,
    }
)
_ABOUT_SUBMISSION = frozenset({Reason.SUBMISSION_TIMED_OUT, Reason.NAME_TAKEN})


def failed(situation: Situation) -> JobStatusChange:
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
    return JobStatusChange(
        phase=JobPhase.FAILED.value,
        reason=refusal.reason,
        message=message,
        conditions=tuple(_of_failure(situation, refusal, message)),
        fields=tuple(fields),
        is_of_older_spec=_was_edited_since(situation),
        failure=_failure(situation, refusal),
        announcements=(
            Announcement(refusal.reason, message, situation.job.generation, warning=True),
        ),
    )


def _failure(situation: Situation, refusal: PlanRefused) -> Failure:
    """Whether another attempt follows, and what it may begin for before its time."""
    return Failure(
        refusal.reason in CAN_PASS,
        situation.job.retry_s,
        awaited=_nodes_lacked(situation, refusal),
        looks_for_bundle=refusal.reason is Reason.BUNDLE_MISSING and has_bundle_folder(situation),
    )


def _nodes_lacked(situation: Situation, refusal: PlanRefused) -> tuple[Awaited, ...]:
    """The nodes that there is no placement without, or the room that was waited for."""
    placing = situation.placing
    question, seen = placing.question, placing.seen
    if question is None or question.refusal is not None:
        return ()
    if refusal is placing.refusal:
        return lacked(situation.snapshot, question.spec)
    is_late = refusal.reason is Reason.SUBMISSION_TIMED_OUT
    waits = is_late and placing.state is PlacementState.WAITING
    if waits and seen is not None and is_of_capacity(seen):
        return lacked(situation.snapshot, question.spec, is_of_capacity=True)
    return ()


def _of_failure(
    situation: Situation, refusal: PlanRefused, message: str
) -> Iterator[DesiredCondition]:
    """The culprit and what it prevents are False; what nobody came to is unknown."""
    culprit, reason = _culprit(situation, refusal), refusal.reason
    for each in JobCondition:
        if each is JobCondition.COMPLETED:
            continue  # a job that never was submitted says nothing of it
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
                accepted(situation)
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
