"""What a Job's status says of a plan: how it is fused, and whether it has a placement.

Of the plan in force, or of the one that waits for its placement. Everything else that a person
reads about a job is made in the other `wording*.py`.
"""

from __future__ import annotations

from contracts.reasons import Reason, warned_of
from contracts.resources import JobCondition, JobPhase
from contracts.resources.conditions import STREAMS_CONNECTED
from contracts.resources.fields import MESSAGE_CHARS_MAX
from contracts.resources.job import Admission
from planner.fusion.reckoning import allocatable_of
from planner.numbering.records import PlanRecord
from planner.refusals import counted, shown
from services.fusion_backend.core.admission import AdmissionInForce
from services.fusion_backend.core.conditions import condition, is_current
from services.fusion_backend.core.effects import Announcement, DesiredCondition, JobStatusChange
from services.fusion_backend.core.naming_pes import PES_NAMED_MAX, with_operators
from services.fusion_backend.core.placement_states import (
    PlacementState,
    message_of,
    reason_of,
    state_in_force,
    waits_for,
)
from services.fusion_backend.core.seen import PlacementSeen
from services.fusion_backend.core.situation import Situation
from services.fusion_backend.core.snapshot import KnownPlan

_UNCONNECTED = Reason.STREAMS_NOT_CONNECTED


def fused(plan: KnownPlan) -> DesiredCondition:
    """How operators became PEs, and what went otherwise than meant."""
    record = plan.record
    operators = counted(len(record.operators), "operator")
    text = f"{operators} in {counted(len(record.pes), 'PE')} ({_fusion(record)})"
    return DesiredCondition(
        JobCondition.FUSED.value, "True", Reason.FUSED, "; ".join((text, *plan.warnings))
    )


def streams_connected(plan: KnownPlan) -> tuple[DesiredCondition, ...]:
    """The condition StreamsConnected; none where a job neither imports nor exports."""
    found = (text for reason, text in map(warned_of, plan.warnings) if reason is _UNCONNECTED)
    return tuple(
        DesiredCondition(STREAMS_CONNECTED, "False", _UNCONNECTED, shown(text, MESSAGE_CHARS_MAX))
        for text in found
    )


def _fusion(record: PlanRecord) -> str:
    fusion = record.fusion
    nodes = counted(fusion.nodes or 0, "node")
    if fusion.scheme == "automatic":
        pes = counted(len(record.pes), "PE")
        cpu = f" with {fusion.allocatable_mcpu / 1000:g} CPUs" if fusion.allocatable_mcpu else ""
        threads = f"{fusion.threads_min} to {fusion.threads_max} threads"
        text = f"automatic: {pes} for {threads} on {nodes}{cpu}"
        measured = record.measured
        return f"{text}; {measured.sentence(allocatable_of(fusion))}" if measured else text
    if fusion.requested == "automatic":
        return f"automatic: {counted(fusion.pes_max or 0, 'PE')} for {nodes}"
    scheme = "legacy" if fusion.scheme == "legacy" else f"manual {fusion.pes_max}"
    return scheme if fusion.type == "noChannelInfluence" else f"{scheme}, {fusion.type}"


def widths_of(record: PlanRecord) -> str:
    """The widths of a plan."""
    return ", ".join(f"{shown(name)}={width}" for name, width in sorted(record.widths.items()))


# --------------------------------------------------------------------------- placement


def placed(situation: Situation) -> DesiredCondition:
    """The condition Placed: of the plan that is requested, else of the one in force."""
    placement = situation.placing
    if placement.question is not None and placement.state is not None:
        record, waiting = placement.question.plan.record, ""
        if situation.snapshot.newest is not None:
            waiting = f"widths {widths_of(record)} wait: "
        return _placed(placement.seen, placement.state, record, waiting)
    return _placed_in_force(situation.admission, situation.plan.record)


def placing_announced(situation: Situation) -> tuple[Announcement, ...]:
    """An Event when the condition Placed turns False, as while a job waits for capacity."""
    desired, name = placed(situation), JobCondition.PLACED.value
    if desired.status != "False" or condition(situation.job.status, name).get("status") == "False":
        return ()
    is_waiting = situation.placing.question is not None
    generation = situation.snapshot.newest_generation + int(is_waiting)
    return (Announcement(desired.reason, desired.message, generation, warning=True),)


def _placed_in_force(admission: AdmissionInForce, record: PlanRecord) -> DesiredCondition:
    """The condition Placed of the plan in force; it claims no more than was found out."""
    name, refusal = JobCondition.PLACED.value, admission.refusal
    if refusal is not None:
        return DesiredCondition(name, "False", refusal.reason, refusal.message)
    if not admission.has_placement:
        if admission.admission is Admission.IGNORE:
            return DesiredCondition(name, "Unknown", Reason.NOT_CHECKED)
        return DesiredCondition(name, "True", Reason.NO_CONSTRAINTS)
    if admission.left_out:
        message = _left_out(admission.left_out, record)
        return DesiredCondition(name, "False", Reason.UNSCHEDULABLE, message)
    return _placed(admission.seen, state_in_force(admission.seen), record)


def _left_out(pes: tuple[int, ...], record: PlanRecord) -> str:
    """What fits by its requests, selectors and tolerations, and has no node all the same."""
    named = ", ".join(f"PE {pe}" for pe in pes[:PES_NAMED_MAX])
    more = f" and {len(pes) - PES_NAMED_MAX} more" if len(pes) > PES_NAMED_MAX else ""
    have, their = ("has", "its") if len(pes) == 1 else ("have", "their")
    text = (
        f"{named}{more} {have} no node, although nodes have room for what {their} pods request: the"
        f" scheduler's reason is in the status of the ProcessingElement"
    )
    return with_operators(text, record)


def _placed(
    seen: PlacementSeen | None, state: PlacementState, record: PlanRecord, waiting: str = ""
) -> DesiredCondition:
    name = JobCondition.PLACED.value
    if state is PlacementState.PLACED:
        return DesiredCondition(name, "True", Reason.PLACED)
    if seen is None or state in (PlacementState.UNASKED, PlacementState.UNANSWERED):
        return DesiredCondition(name, "Unknown", Reason.PLACING)
    return DesiredCondition(name, "False", reason_of(seen), f"{waiting}{message_of(seen, record)}")


def reports_placing(situation: Situation) -> bool:
    """Whether the status says what is so of the plan that waits for its placement."""
    return is_current(situation.job.status, placed(situation))


def placing(situation: Situation) -> JobStatusChange:
    """A plan waits for its placement; a submission says beside its phase what it waits for."""
    placement, desired = situation.placing, placed(situation)
    announcements = placing_announced(situation)
    if placement.question is None or situation.snapshot.newest is not None:
        return JobStatusChange(conditions=(desired,), announcements=announcements)
    plan = placement.question.plan
    return JobStatusChange(
        phase=situation.job.phase,
        reason=Reason.SUBMITTING if situation.phase is JobPhase.SUBMITTING else desired.reason,
        message=_waits(placement.seen, desired, plan),
        conditions=(fused(plan), desired),
        announcements=announcements,
    )


def _waits(seen: PlacementSeen | None, desired: DesiredCondition, plan: KnownPlan) -> str:
    if desired.status != "False":
        pes = counted(len(plan.record.pes), "PE")
        return f"it is being decided where {pes} can run"
    assert seen is not None, "what is False has an answer"
    return f"{waits_for(seen)}: {desired.message}"


def placement_awaited(situation: Situation) -> str:
    """What a submission was waiting for that has its plan, for people."""
    placement = situation.placing
    if placement.state is PlacementState.WAITING and placement.seen and placement.question:
        message = message_of(placement.seen, placement.question.plan.record)
        return f"it has no placement: {reason_of(placement.seen)}: {message}"
    if placement.state is PlacementState.UNANSWERED:
        return f"nobody decided where it runs: Placement {situation.job.name} has no answer"
    return "its Placement does not request it yet"
