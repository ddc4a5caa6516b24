"""How many nodes exclusive host pools of a namespace may have, and the refusal of more.

An exclusive pool keeps its nodes from everybody else, so one namespace could take the cluster. The
quota bounds what is added: a job that has more already, as after the quota was lowered, keeps as
many as it has, also over a resize.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from contracts.reasons import Reason
from contracts.showing import counted
from placement.answers import Answer, Placed, Refused
from placement.job import Job
from services.hostpool_manager.core.parts import exclusive_members
from services.hostpool_manager.core.snapshot import Placement, Ref

SETTING: Final = "MILLRACE_EXCLUSIVE_NODES_MAX"
POOLS_SHOWN_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class Quotas:
    """Nodes that exclusive pools of a namespace may have; None: any number."""

    of_each: int | None = None
    of_namespaces: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def parse(text: str) -> Quotas:
        """The quotas of a text such as `4,team-a=10`; raises ValueError."""
        of_each, named = None, dict[str, int]()
        for item in filter(None, map(str.strip, text.split(","))):
            namespace, _, number = item.rpartition("=")
            if not (number.isascii() and number.isdigit()) or ("=" in item and not namespace):
                raise ValueError(f"{item!r} is neither a number nor NAMESPACE=NUMBER")
            if namespace in named or (not namespace and of_each is not None):
                raise ValueError(f"{item!r} gives a second quota of the same namespaces")
            if namespace:
                named[namespace] = int(number)
            else:
                of_each = int(number)
        return Quotas(of_each, named)

    def of(self, namespace: str) -> int | None:
        """The quota of a namespace."""
        return self.of_namespaces.get(namespace, self.of_each)


@dataclass(frozen=True, slots=True)
class QuotaLeft:
    """The quota of a namespace, and the nodes in exclusive pools of its other jobs."""

    quota: int
    of_others: int = 0


def quota_left(quotas: Quotas, placements: Mapping[Ref, Placement], ref: Ref) -> QuotaLeft | None:
    """What counts for one job; None: its namespace has no quota."""
    quota = quotas.of(ref.namespace)
    if quota is None:
        return None
    others = (
        exclusive_members(placement)
        for other, placement in placements.items()
        if other.namespace == ref.namespace and other != ref
    )
    return QuotaLeft(quota, len(frozenset[str]().union(*others) - {""}))


def over_quota(
    left: QuotaLeft | None, placement: Placement, job: Job, answer: Answer
) -> Refused | None:
    """The refusal of a placement with more nodes in exclusive pools than the quota allows."""
    if left is None or not isinstance(answer, Placed):
        return None
    exclusive = {pool.index: pool.name for pool in job.chosen_pools if pool.is_exclusive}
    members = {
        exclusive[each.pool]: len({node for node in each.nodes if node})
        for each in answer.pools
        if each.pool in exclusive
    }
    wanted, has = sum(members.values()), len(exclusive_members(placement) - {""})
    if wanted <= has or wanted + left.of_others <= left.quota:
        return None
    named = [f"{name} ({number})" for name, number in sorted(members.items())][:POOLS_SHOWN_MAX]
    more = f" and {len(members) - len(named)} more" if len(members) > len(named) else ""
    return Refused(
        Reason.NODE_QUOTA_EXCEEDED,
        f"the exclusive host pools {', '.join(named)}{more} take"
        f" {counted(wanted, 'node')} and other jobs of namespace {placement.ref.namespace}"
        f" have {left.of_others} in theirs: at most"
        f" {left.quota} are allowed ({SETTING}). Make the pools smaller or shared, or ask an"
        " administrator for a larger quota",
    )
