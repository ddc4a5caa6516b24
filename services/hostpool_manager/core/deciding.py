"""Decides what one key needs: the next searches for the cluster, statuses for a job.

For a job:
1. observe its Placement (observing.py) and look up the row of the life cycle (transitions.py): an
   answer, or the refusal of an invalid spec, is written unless the status records it already;
2. write into each HostPool of the job its members, those that are claimed, and what is missing.

A status that is current is not written.
"""

from __future__ import annotations

from collections.abc import Iterable

from contracts.reasons import Reason
from contracts.resources.fields import MESSAGE_CHARS_MAX
from contracts.resources.placement import PlacementPhase
from contracts.showing import shown
from services.chassis.running.life_cycles import Forbidden, Row, Transition
from services.chassis.running.stage import Decision
from services.hostpool_manager.core.choosing import choose
from services.hostpool_manager.core.effects import (
    Effect,
    WriteHostPoolStatus,
    WritePlacementStatus,
)
from services.hostpool_manager.core.observing import observe, outdated_status, phase_of
from services.hostpool_manager.core.snapshot import (
    ClusterSnapshot,
    DesiredPoolStatus,
    ObservedPlacement,
    ObservedPool,
    Placement,
    Snapshot,
)
from services.hostpool_manager.core.statuses import differences, host_pool_status
from services.hostpool_manager.core.transitions import TRANSITIONS, Action, Phase

NAMES_SHOWN_MAX = 5


def decide(snapshot: Snapshot, now: float) -> Decision[Effect]:
    """The decision for the key of a snapshot at `now` (unix seconds)."""
    if isinstance(snapshot, ClusterSnapshot):
        choice = choose(snapshot, now)
        why = Reason.PLACING if choice.searches else Reason.NOTHING_TO_CHANGE
        return Decision(choice.searches, why, choice.requeue_at, {"waiting": choice.waiting})
    observed = snapshot.placement
    if observed is None:
        return Decision((), Reason.NOTHING_TO_CHANGE)
    phase, observation = phase_of(observed), observe(observed)
    row = TRANSITIONS[phase, observation]
    detail = {"phase": phase.value, "observation": observation.name}
    if isinstance(row, Forbidden):
        return Decision((), Reason.WAITING, detail=detail | {"forbidden": row.why})
    # The Placement before its pools: no node may be marked for an answer whose write is refused.
    effects = _answer(observed, row) or _pools(snapshot.pools, observed.placement)
    if not effects:
        return Decision((), Reason.NOTHING_TO_CHANGE, detail=detail)
    status = effects[0].status
    return Decision(effects, status.reason, detail=detail | {"message": status.message})


def _answer(
    observed: ObservedPlacement, row: Row[Phase, Action]
) -> tuple[WritePlacementStatus, ...]:
    """The write of its status, if the life cycle demands one."""
    if not isinstance(row, Transition) or row.action is not Action.WRITE_ANSWER:
        return ()
    status = outdated_status(observed)
    assert status is not None, "observed: a status that is not current"
    return (WritePlacementStatus(observed.placement.ref, observed.placement.uid, status),)


# --------------------------------------------------------------------------- host pools


def _pools(pools: Iterable[ObservedPool], placement: Placement) -> tuple[WriteHostPoolStatus, ...]:
    """The statuses to write; none before a placement is in force: old statuses stay till then."""
    if placement.is_deleting or placement.in_force.generation is None:
        return ()
    desired = [(each, pool_status(each, placement)) for each in pools if not each.pool.is_deleting]
    return tuple(
        WriteHostPoolStatus(observed.pool.namespace, observed.pool.name, observed.pool.uid, status)
        for observed, status in desired
        if differences(observed.status, host_pool_status(observed.status, status, now=""))
    )


def pool_status(observed: ObservedPool, placement: Placement) -> DesiredPoolStatus:
    """The desired status of a HostPool."""
    claimed = tuple(
        dict.fromkeys(
            each.node
            for each in observed.members
            if each.is_there
            and (each.is_marked or not observed.pool.is_marked)
            and not (observed.pool.is_exclusive and each.runs_others)
        )
    )
    before = observed.status.get("generation")
    generation = max(each for each in (before, placement.in_force.generation) if each is not None)
    reason, message = _state(observed, placement, set(claimed))
    return DesiredPoolStatus(
        members=tuple(each.node for each in observed.members),
        claimed=claimed,
        generation=generation,
        observed_generation=observed.pool.generation,
        is_ready=reason is Reason.MEMBERS_READY,
        reason=reason,
        message=shown(message, MESSAGE_CHARS_MAX),
    )


def _state(observed: ObservedPool, placement: Placement, claimed: set[str]) -> tuple[Reason, str]:
    gone = [each.node for each in observed.members if each.node and not each.is_there]
    if observed.missing:
        why = placement.message if placement.phase is not PlacementPhase.PLACED else ""
        places = max(len(observed.members), observed.least)
        what = f"{observed.missing} of {places} members are missing"
        what += f": {_named(gone)} is gone" if len(gone) == 1 else ""
        what += f": {_named(gone)} are gone" if len(gone) > 1 else ""
        return Reason.MEMBERS_MISSING, f"{what}. {why}".rstrip()
    unclaimed = [each for each in observed.members if each.is_there and each.node not in claimed]
    if unclaimed:
        has_marks = observed.pool.is_marked
        unmarked = [each.node for each in unclaimed if has_marks and not each.is_marked]
        occupied = [each.node for each in unclaimed if each.runs_others]
        problems = [
            f"{_named(unmarked)} lack the pool's marks" if unmarked else "",
            f"{_named(occupied)} run PEs of other jobs" if occupied else "",
        ]
        return Reason.CLAIM_INCOMPLETE, "; ".join(each for each in problems if each)
    return Reason.MEMBERS_READY, Reason.MEMBERS_READY.sentence


def _named(nodes: list[str]) -> str:
    first = ", ".join(nodes[:NAMES_SHOWN_MAX])
    more = len(nodes) - NAMES_SHOWN_MAX
    return f"{first} and {more} more" if more > 0 else first
