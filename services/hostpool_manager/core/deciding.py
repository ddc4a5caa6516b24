"""Decides what one key needs: the next searches for the cluster, statuses for a job.

For a job:
1. what its Placement is like (observing.py), and the row of its life cycle (transitions.py): an
   answer, or that its spec cannot be read, is written where the status does not say it yet;
2. each HostPool of the job says its members, which of them are claimed, and what is missing.

What stands already as it should is not written.
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
    Placement,
    PlacementSeen,
    PoolSeen,
    PoolStatus,
    Snapshot,
)
from services.hostpool_manager.core.statuses import differences, host_pool_status
from services.hostpool_manager.core.transitions import TRANSITIONS, Action, Phase

NAMES_SHOWN_MAX = 5


def decide(snapshot: Snapshot, now: float) -> Decision[Effect]:
    """What the key of a snapshot needs now (unix seconds)."""
    if isinstance(snapshot, ClusterSnapshot):
        choice = choose(snapshot, now)
        why = Reason.PLACING if choice.searches else Reason.NOTHING_TO_CHANGE
        return Decision(choice.searches, why, choice.requeue_at, {"waiting": choice.waiting})
    seen = snapshot.seen
    if seen is None:
        return Decision((), Reason.NOTHING_TO_CHANGE)
    phase, observation = phase_of(seen), observe(seen)
    row = TRANSITIONS[phase, observation]
    detail = {"phase": phase.value, "observation": observation.name}
    if isinstance(row, Forbidden):
        return Decision((), Reason.WAITING, detail=detail | {"forbidden": row.why})
    # Pools after that: no node is marked for a placement that somebody else refuses to hear of.
    effects = _answer(seen, row) or _pools(snapshot.pools, seen.placement)
    if not effects:
        return Decision((), Reason.NOTHING_TO_CHANGE, detail=detail)
    said = effects[0].said
    return Decision(effects, said.reason, detail=detail | {"message": said.message})


def _answer(seen: PlacementSeen, row: Row[Phase, Action]) -> tuple[WritePlacementStatus, ...]:
    """What its status is to say, where the life cycle has it written now."""
    if not isinstance(row, Transition) or row.action is not Action.WRITE_ANSWER:
        return ()
    said = outdated_status(seen)
    assert said is not None, "observed: something that the status does not say"
    return (WritePlacementStatus(seen.placement.ref, seen.placement.uid, said),)


# --------------------------------------------------------------------------- host pools


def _pools(pools: Iterable[PoolSeen], placement: Placement) -> tuple[WriteHostPoolStatus, ...]:
    """Until a placement was found there is nothing to say; what a pool said then stays."""
    if placement.is_deleting or placement.in_force.generation is None:
        return ()
    wanted = [(each, pool_status(each, placement)) for each in pools if not each.pool.is_deleting]
    return tuple(
        WriteHostPoolStatus(seen.pool.namespace, seen.pool.name, seen.pool.uid, said)
        for seen, said in wanted
        if differences(seen.status, host_pool_status(seen.status, said, ""))
    )


def pool_status(seen: PoolSeen, placement: Placement) -> PoolStatus:
    """What is true of a HostPool."""
    claimed = tuple(
        dict.fromkeys(
            each.node
            for each in seen.members
            if each.is_there
            and (each.is_marked or not seen.pool.is_marked)
            and not (seen.pool.is_exclusive and each.runs_others)
        )
    )
    before = seen.status.get("generation")
    generation = max(each for each in (before, placement.in_force.generation) if each is not None)
    reason, message = _state(seen, placement, frozenset(claimed))
    return PoolStatus(
        members=tuple(each.node for each in seen.members),
        claimed=claimed,
        generation=generation,
        observed_generation=seen.pool.generation,
        is_ready=reason is Reason.MEMBERS_READY,
        reason=reason,
        message=shown(message, MESSAGE_CHARS_MAX),
    )


def _state(seen: PoolSeen, placement: Placement, claimed: frozenset[str]) -> tuple[Reason, str]:
    gone = [each.node for each in seen.members if each.node and not each.is_there]
    if seen.missing:
        why = placement.message if placement.phase is not PlacementPhase.PLACED else ""
        places = max(len(seen.members), seen.least)
        what = f"{seen.missing} of {places} members are missing"
        what += f": {_named(gone)} is gone" if len(gone) == 1 else ""
        what += f": {_named(gone)} are gone" if len(gone) > 1 else ""
        return Reason.MEMBERS_MISSING, f"{what}. {why}".rstrip()
    unclaimed = [each for each in seen.members if each.is_there and each.node not in claimed]
    if unclaimed:
        unmarked = [each.node for each in unclaimed if not each.is_marked and seen.pool.is_marked]
        occupied = [each.node for each in unclaimed if each.runs_others]
        said = [
            f"{_named(unmarked)} lack the pool's marks" if unmarked else "",
            f"{_named(occupied)} run PEs of other jobs" if occupied else "",
        ]
        return Reason.CLAIM_INCOMPLETE, "; ".join(each for each in said if each)
    return Reason.MEMBERS_READY, Reason.MEMBERS_READY.sentence


def _named(nodes: list[str]) -> str:
    first = ", ".join(nodes[:NAMES_SHOWN_MAX])
    more = len(nodes) - NAMES_SHOWN_MAX
    return f"{first} and {more} more" if more > 0 else first
