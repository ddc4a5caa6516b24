"""Decides what one key needs: the next searches for the cluster, statuses for a job.

For a job:
1. a spec that cannot be read is refused at once;
2. an answer that was found is written into its Placement, where it does not stand there yet;
3. each HostPool of the job says its members, which of them are claimed, and what is missing.

What stands already as it should is not written.
"""

from __future__ import annotations

from contracts.reasons import Reason
from contracts.resources.placement import PlacementPhase
from services.chassis.stage import Decision
from services.hostpool_manager.core.choosing import choose
from services.hostpool_manager.core.effects import (
    Effect,
    WriteHostPoolStatus,
    WritePlacementStatus,
)
from services.hostpool_manager.core.placing.answers import Refused
from services.hostpool_manager.core.saying import (
    changes,
    host_pool_status,
    placement_status,
    said_of,
)
from services.hostpool_manager.core.snapshot import (
    ClusterSnapshot,
    JobSnapshot,
    Placement,
    PlacementSaid,
    PoolSaid,
    PoolSeen,
    Snapshot,
)

NAMES_SHOWN_MAX = 5


def decide(snapshot: Snapshot, now: float) -> Decision[Effect]:
    """What the key of a snapshot needs now (unix seconds)."""
    if isinstance(snapshot, ClusterSnapshot):
        choice = choose(snapshot, now)
        why = Reason.PLACING if choice.searches else Reason.NOTHING_TO_CHANGE
        return Decision(choice.searches, why, choice.recheck_at, {"waiting": choice.waiting})
    placement = snapshot.placement
    effects: list[Effect] = []
    reason: Reason = Reason.WAITING
    if placement is not None and not placement.is_deleting:
        said = _to_say(snapshot, placement)
        if said is not None:
            reason = said.reason
            if changes(snapshot.status, placement_status(snapshot.status, said, "")):
                effects.append(WritePlacementStatus(placement.ref, placement.uid, said))
        # Pools after that: no node is marked for a placement that somebody else refuses to hear of.
        effects = effects or _pools(snapshot, placement)
    if not effects:
        return Decision((), Reason.NOTHING_TO_CHANGE)
    detail = {"phase": placement.phase, "message": placement.message} if placement else None
    return Decision(tuple(effects), reason, detail=detail)


def _to_say(snapshot: JobSnapshot, placement: Placement) -> PlacementSaid | None:
    if not placement.problem:
        return snapshot.found
    return said_of(
        Refused(Reason.SPEC_INVALID, placement.problem),
        generation=placement.generation,
        in_force=placement.in_force,
    )


# --------------------------------------------------------------------------- host pools


def _pools(snapshot: JobSnapshot, placement: Placement) -> list[Effect]:
    """Until a placement was found there is nothing to say; what a pool said then stays."""
    if placement.in_force.generation is None:
        return []
    written: list[Effect] = []
    for seen in snapshot.pools:
        if seen.pool.is_deleting:
            continue
        said = pool_said(seen, placement)
        if changes(seen.status, host_pool_status(seen.status, said, "")):
            pool = seen.pool
            written.append(WriteHostPoolStatus(pool.namespace, pool.name, pool.uid, said))
    return written


def pool_said(seen: PoolSeen, placement: Placement) -> PoolSaid:
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
    return PoolSaid(
        members=tuple(each.node for each in seen.members),
        claimed=claimed,
        generation=generation,
        observed_generation=seen.pool.generation,
        is_ready=reason is Reason.MEMBERS_READY,
        reason=reason,
        message=message,
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
    shown = ", ".join(nodes[:NAMES_SHOWN_MAX])
    more = len(nodes) - NAMES_SHOWN_MAX
    return f"{shown} and {more} more" if more > 0 else shown
