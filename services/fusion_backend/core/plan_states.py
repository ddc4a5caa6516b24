"""What is known of the newest plan record, and of the plan that comes next."""

from __future__ import annotations

from contracts.resources import JobPhase
from planner.planning import PlanResult
from planner.refusals import PlanRefused
from services.fusion_backend.core.placement_states import PlacementState
from services.fusion_backend.core.provisions_due import servers_awaited
from services.fusion_backend.core.situation import Situation
from services.fusion_backend.core.snapshot import Damage
from services.fusion_backend.core.spec.inputs import PlanInputs


def damage_of(at: Situation) -> Damage | None:
    """Why the newest record cannot be read."""
    if at.snapshot.newest is not None:
        return None
    return at.snapshot.damaged.get(at.snapshot.newest_generation)


def is_unread(at: Situation) -> bool:
    """Whether the newest record is still to be read."""
    return at.snapshot.newest is None and at.snapshot.newest_generation >= 0


def is_lost(at: Situation) -> bool:
    """Whether the newest record was deleted, and we still know its plan."""
    snapshot = at.snapshot
    return snapshot.newest is not None and snapshot.newest_generation not in snapshot.heads


def is_plan_refused(at: Situation) -> bool:
    """Whether there is no plan to go by, and the planner refuses to make one."""
    if is_unread(at) or is_lost(at):
        return False
    if at.snapshot.newest is not None:
        is_answered = at.widths.ready is None and at.widths.unplanned is None
        return at.snapshot.is_behind and is_answered
    if at.phase is not JobPhase.SUBMITTING and at.spec_refusal is not None:
        return True
    return isinstance(at.first_outcome, PlanRefused)


def awaits_servers(at: Situation) -> bool:
    """Whether there is no plan, and its redis servers are to be found first."""
    if at.snapshot.newest is not None or is_unread(at) or is_plan_refused(at):
        return False
    return servers_awaited(at.snapshot) is not None


def planned_inputs(at: Situation) -> PlanInputs | None:
    """The inputs of the plan that comes next, once the planner has answered."""
    if at.snapshot.newest is not None:
        return at.widths.ready
    return at.first_inputs if isinstance(at.first_outcome, PlanResult) else None


def awaits_record(at: Situation) -> bool:
    """Whether there is no plan, or another record comes at once: what it replaces is not written.

    A newer plan may wait for its placement for minutes, and the planner may fail for reasons of its
    own. What is in force is kept so meanwhile, unless it is an older plan than the status says.
    """
    snapshot = at.snapshot
    if snapshot.newest is None or is_lost(at):
        return True
    if at.widths.ready is not None:
        is_waiting = at.placing.state in (PlacementState.UNANSWERED, PlacementState.WAITING)
        return snapshot.is_behind or not is_waiting
    unplanned = at.widths.unplanned
    if unplanned is None or unplanned.digest in snapshot.troubled:
        return snapshot.is_behind
    return snapshot.is_behind or at.in_progress or not snapshot.is_planning


def is_text_missing(at: Situation) -> bool:
    """Whether a text of the newest plan has to be written and is not known."""
    if awaits_record(at):
        return False
    return bool(at.difference.textless) or at.difference.port_labels_textless


def is_in_force(at: Situation) -> bool:
    """Whether every object of the newest plan exists and nothing else, and regions say so."""
    if awaits_record(at) or not at.difference.is_empty:
        return False
    has_pods = not (at.in_progress and at.podless)
    return has_pods and not at.leftovers and not at.outdated_statuses
