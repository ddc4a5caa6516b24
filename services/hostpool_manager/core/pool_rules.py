"""The rules of a HostPool's status: which of its members are there and claimed.

The first rule that holds decides (services/chassis/running/rules.py). Before a placement is in
force nothing is written: an older status stays until then. `$default` is no set of nodes: it is
ready at once, and a job without host constraints has no Placement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Final

from contracts.reasons import Reason
from contracts.resources.fields import MESSAGE_CHARS_MAX
from contracts.resources.placement import PlacementPhase
from contracts.showing import agreeing, counted, shown
from services.chassis.running.rules import Rule, always
from services.hostpool_manager.core.snapshot import (
    DesiredPoolStatus,
    Member,
    ObservedPool,
    Placement,
)

NAMES_SHOWN_MAX = 5


class PoolObservation(Enum):
    """The state of a HostPool; a rule has one each."""

    PLACEMENT_LEAVING = "its Placement is being deleted"
    LEAVING = "it is being deleted"
    IS_DEFAULT = "it is the default pool of a job, which has no members of its own"
    NOTHING_IN_FORCE = "no placement of its job is in force"
    MEMBERS_MISSING = "it has fewer members than it needs"
    CLAIM_INCOMPLETE = "a member lacks its marks, or runs PEs of other jobs"
    READY = "every member is there and claimed"


@dataclass(frozen=True)
class PoolSituation:
    """A HostPool and the Placement of its job, if the job has one."""

    observed: ObservedPool
    placement: Placement | None

    @property
    def generation_in_force(self) -> int | None:
        """The plan generation whose placement is in force."""
        return self.placement.in_force.plan_generation if self.placement is not None else None

    @cached_property
    def claimed(self) -> tuple[str, ...]:
        """The members on which pods of the pool may be created."""
        pool = self.observed.pool
        return tuple(
            dict.fromkeys(
                each.node
                for each in self.observed.members
                if each.is_there
                and (each.is_marked or not pool.is_marked)
                and not (pool.is_exclusive and each.runs_others)
            )
        )

    @cached_property
    def unclaimed(self) -> tuple[Member, ...]:
        """The members that are there and not claimed."""
        claimed = set(self.claimed)
        members = self.observed.members
        return tuple(each for each in members if each.is_there and each.node not in claimed)

    def status(self, reason: Reason, message: str) -> DesiredPoolStatus:
        """The status of the pool with a reason and its message."""
        before = self.observed.status.get("generation")
        in_force = None if self.observed.pool.is_default else self.generation_in_force
        generations = [each for each in (before, in_force) if each is not None]
        return DesiredPoolStatus(
            members=tuple(each.node for each in self.observed.members),
            claimed=self.claimed,
            plan_generation=max(generations, default=None),
            observed_generation=self.observed.pool.spec_generation,
            is_ready=reason is Reason.MEMBERS_READY,
            reason=reason,
            message=shown(message, MESSAGE_CHARS_MAX),
        )


def missing_message(at: PoolSituation) -> str:
    """Which members are gone, and why there are no others."""
    observed, placement = at.observed, at.placement
    gone = [each.node for each in observed.members if each.node and not each.is_there]
    is_unplaced = placement is not None and placement.phase is not PlacementPhase.PLACED
    why = placement.message if placement is not None and is_unplaced else ""
    places = max(len(observed.members), observed.least)
    are = agreeing(observed.missing, "are")
    what = f"{observed.missing} of {counted(places, 'member')} {are} missing"
    what += f": {_named(gone)} is gone" if len(gone) == 1 else ""
    what += f": {_named(gone)} are gone" if len(gone) > 1 else ""
    return f"{what}. {why}".rstrip()


def unclaimed_message(at: PoolSituation) -> str:
    """Which members lack the marks, or run PEs of other jobs."""
    has_marks = at.observed.pool.is_marked
    unmarked = [each.node for each in at.unclaimed if has_marks and not each.is_marked]
    occupied = [each.node for each in at.unclaimed if each.runs_others]
    problems = [
        (unmarked, "lack the pool's marks"),
        (occupied, "run PEs of other jobs"),
    ]
    return "; ".join(f"{_named(who)} {agreeing(len(who), do)}" for who, do in problems if who)


def ready_message(_at: PoolSituation) -> str:
    """That every member is there and claimed."""
    return Reason.MEMBERS_READY.sentence


def default_message(_at: PoolSituation) -> str:
    """That the pool stands for all nodes."""
    return "The pool has no members of its own: PEs without another host pool may run on any node."


def leave(_at: PoolSituation) -> None:
    """Leave the status as it is."""


def _named(nodes: list[str]) -> str:
    first = ", ".join(nodes[:NAMES_SHOWN_MAX])
    more = len(nodes) - NAMES_SHOWN_MAX
    return f"{first} and {more} more" if more > 0 else first


_O = PoolObservation
PoolAction = Callable[[PoolSituation], str | None]
PoolRule = Rule[PoolSituation, PoolAction]
POOL_RULES: Final[tuple[PoolRule, ...]] = (
    Rule(
        _O.PLACEMENT_LEAVING,
        lambda at: at.placement is not None and at.placement.is_deleting,
        leave,
        Reason.OWNER_DELETED,
    ),
    Rule(_O.LEAVING, lambda at: at.observed.pool.is_deleting, leave, Reason.OWNER_DELETED),
    Rule(
        _O.IS_DEFAULT,
        lambda at: at.observed.pool.is_default and bool(at.observed.pool.job_uid),
        default_message,
        Reason.MEMBERS_READY,
    ),
    Rule(
        _O.NOTHING_IN_FORCE,
        lambda at: at.generation_in_force is None,
        leave,
        Reason.WAITING,
    ),
    Rule(
        _O.MEMBERS_MISSING,
        lambda at: at.observed.missing > 0,
        missing_message,
        Reason.MEMBERS_MISSING,
    ),
    Rule(
        _O.CLAIM_INCOMPLETE,
        lambda at: bool(at.unclaimed),
        unclaimed_message,
        Reason.CLAIM_INCOMPLETE,
    ),
    Rule(_O.READY, always, ready_message, Reason.MEMBERS_READY),
)
