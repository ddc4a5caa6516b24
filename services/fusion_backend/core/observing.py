"""Looks at a whole snapshot and names what it shows: one observation, the first that holds.

Looks have the order of `Observation`. What an answer was found with (the difference from the plan,
the requested widths) is kept by the situation for the step that follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planner.refusals import PlanRefused
from services.fusion_backend.core import wording
from services.fusion_backend.core.clearing import certificate_remains
from services.fusion_backend.core.conditions import is_current
from services.fusion_backend.core.membership import all_completed
from services.fusion_backend.core.placement_states import PlacementState
from services.fusion_backend.core.provisions_due import servers_awaited
from services.fusion_backend.core.situation import Situation
from services.fusion_backend.core.transitions import Observation, Phase

Look = Callable[[Situation], Observation | None]


def observe(situation: Situation) -> Observation:
    """The first observation that holds."""
    for look in _looks(situation):
        if found := look(situation):
            return found
    return Observation.IN_PLACE


def _looks(situation: Situation) -> Iterator[Look]:
    """What is looked at, in order; what is about a plan only once there is one."""
    yield _about_existence
    if situation.phase is Phase.FAILED:
        yield _about_failure
    yield _about_beginning
    yield _about_time
    if situation.snapshot.newest is None:
        yield _about_first_plan
    else:
        yield _about_widths
        yield _about_children
        yield _about_completeness
        yield _about_work
        yield _about_words


def _about_existence(situation: Situation) -> Observation | None:
    job = situation.snapshot.job
    if job is None:
        return Observation.JOB_GONE
    if not job.deleting:
        return None
    return Observation.JOB_ORPHANING if job.orphaning else Observation.JOB_DELETING


def _about_failure(situation: Situation) -> Observation | None:
    snapshot, job = situation.snapshot, situation.job
    if any(snapshot.children.values()) or snapshot.pods or certificate_remains(snapshot):
        return Observation.REMAINS
    is_same = (
        job.status.get("observedGeneration") == job.generation
        and (job.status.get("observedRetry") or "") == job.retry
    )
    return Observation.FAILED_FOR_GOOD if is_same else Observation.RETRIED


def _about_beginning(situation: Situation) -> Observation | None:
    is_unplanned = situation.snapshot.newest_generation < 0
    may_be_refused = situation.phase in (Phase.NONE, Phase.SUBMITTING)
    if is_unplanned and may_be_refused and situation.spec_refusal:
        return Observation.SPEC_REFUSED
    is_late = situation.deadline is not None and situation.now >= situation.deadline
    if situation.job.id is None and is_late:
        return Observation.TIMED_OUT
    if situation.job.id is None or situation.phase is Phase.NONE:
        return Observation.NOT_BEGUN
    return None


def _about_time(situation: Situation) -> Observation | None:
    if situation.phase is not Phase.SUBMITTING or situation.is_complete:
        return None
    if situation.deadline is not None and situation.now >= situation.deadline:
        return Observation.TIMED_OUT
    return Observation.NAME_TAKEN if situation.snapshot.name_taken else None


def _about_first_plan(situation: Situation) -> Observation | None:
    snapshot = situation.snapshot
    if snapshot.newest_generation >= 0:
        is_damaged = snapshot.newest_generation in snapshot.damaged
        return Observation.PLAN_DAMAGED if is_damaged else Observation.PLAN_UNREAD
    if situation.phase is not Phase.SUBMITTING and situation.spec_refusal:
        return Observation.PLAN_REFUSED
    outcome = situation.first_outcome
    if isinstance(outcome, PlanRefused):
        return Observation.PLAN_REFUSED
    if servers_awaited(snapshot) is not None:
        return Observation.SERVERS_UNKNOWN
    if outcome is not None:
        return _about_first_placement(situation)
    may_plan = situation.may_plan(situation.first_inputs)
    return Observation.UNPLANNED if may_plan else Observation.PLANNING


def _about_first_placement(situation: Situation) -> Observation:
    match situation.placement_state:
        case PlacementState.UNASKED:
            return Observation.PLACEMENT_UNREQUESTED
        case PlacementState.REFUSED:
            return Observation.PLACEMENT_REFUSED
        case PlacementState.UNANSWERED | PlacementState.WAITING:
            return Observation.PLACING
    return Observation.PLANNED


def _about_widths(situation: Situation) -> Observation | None:
    snapshot = situation.snapshot
    if snapshot.newest_generation not in snapshot.heads:
        return Observation.PLAN_LOST
    widths = situation.widths
    if widths.ready is not None:
        return _about_ready_widths(situation)
    if snapshot.is_behind:
        # What is left is an older plan: nothing that runs may be measured by it.
        is_unplanned = widths.unplanned is not None
        return Observation.WIDTHS_UNPLANNED if is_unplanned else Observation.PLAN_REFUSED
    if widths.unplanned is None or widths.unplanned.digest in snapshot.troubled:
        return None
    # What a newer plan replaces need not be written first; what is complete is kept so meanwhile.
    is_held_up = snapshot.is_planning and not situation.in_progress
    return None if is_held_up else Observation.WIDTHS_UNPLANNED


def _about_ready_widths(situation: Situation) -> Observation | None:
    match situation.placement_state:
        case PlacementState.UNASKED:
            return Observation.WIDTHS_UNREQUESTED
        case PlacementState.REFUSED:
            return Observation.WIDTHS_UNPLACED
        case PlacementState.UNANSWERED | PlacementState.WAITING:
            # It may take minutes: what is in force is kept so meanwhile.
            return Observation.WIDTHS_PLACING if situation.snapshot.is_behind else None
    return Observation.WIDTHS_PLANNED


def _about_children(situation: Situation) -> Observation | None:
    found = situation.difference
    if found.textless or found.port_labels_textless:
        return Observation.TEXTS_MISSING
    if found.creates or found.patches or found.orphans or found.unmendable:
        return Observation.CHILDREN_DIFFER
    if found.leaving:
        return Observation.CHILDREN_LEAVING
    return None


def _about_completeness(situation: Situation) -> Observation | None:
    if situation.in_progress and situation.podless:
        return Observation.PODS_MISSING
    if situation.leftovers:
        return Observation.LEFTOVERS
    if situation.outdated_statuses:
        return Observation.WIDTHS_UNSAID
    return Observation.COMPLETE if situation.in_progress else None


def _about_work(situation: Situation) -> Observation | None:
    is_done = all_completed(situation.snapshot, situation.plan.record)
    if is_done and situation.phase is Phase.SUBMITTED:
        return Observation.WORK_DONE
    if not is_done and situation.phase is Phase.COMPLETED:
        return Observation.WORK_RESUMED
    return None


def _about_words(situation: Situation) -> Observation | None:
    status = situation.job.status
    is_seen = status.get("observedGeneration") == situation.job.generation
    if not is_seen or not all(is_current(status, each) for each in wording.steady(situation)):
        return Observation.STATUS_DIFFERS
    if situation.phase is Phase.SUBMITTED and situation.health_changed:
        return Observation.HEALTH_CHANGED
    return Observation.WIDTHS_PLACING if situation.question is not None else None
