"""How often a PE may have been launched, from the plans that its job had.

Every generation of a plan names the content of each PE. A PE is launched once when it comes, and
once more when its content changes: a PE that no plan changed has one launch, whatever broke. Plans
that follow fast may coalesce, so between several changes fewer launches are right, too.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from contracts import labels
from loadtest.api import CORE, Api, Follower
from services.fusion_backend.core.recording import parts_of, plan_of
from tests.e2e.watching import Obj

Contents = Mapping[int, Mapping[str, str]]
"""The content id of each PE by name, by generation of the plan."""


@dataclass(frozen=True, slots=True)
class Demand:
    """How many launches of one PE are right, both ends included."""

    least: int
    most: int


def demanded(contents: Contents, *, ran_at: int) -> dict[str, Demand]:
    """What the plans demand of every PE; the job ran with generation `ran_at` before all else.

    A generation that nobody saw may have changed what the next one changed back.
    """
    names = {name for plan in contents.values() for name in plan}
    return {name: _demand_of(name, contents, ran_at) for name in names}


def _demand_of(name: str, contents: Contents, ran_at: int) -> Demand:
    seen = [(n, contents[n][name]) for n in sorted(contents) if name in contents[n]]
    changes = sum(
        later - earlier if later - earlier > 1 else int(before != after)
        for (earlier, before), (later, after) in pairwise(seen)
    )
    at_rest = contents[ran_at].get(name)
    is_other = at_rest is not None and at_rest != seen[-1][1]
    return Demand(2 if is_other else 1, 1 + changes)


def surplus(demand: Mapping[str, Demand], counts: Mapping[str, int]) -> dict[str, str]:
    """The PEs whose number of launches is not what the plans demand, each with a sentence."""
    found = {}
    for name, count in counts.items():
        asked = demand[name]
        if not asked.least <= count <= asked.most:
            found[name] = f"{count} launches, not {asked.least} to {asked.most}"
    return found


class PlansSeen(Follower):
    """Every plan record that a job had, also those that were removed since."""

    def __init__(self, api: Api, job: str) -> None:
        selector = f"?labelSelector={labels.PLAN},{labels.JOB}%3D{job}"
        super().__init__(api, f"{CORE}/configmaps{selector}", asyncio.Condition())
        self._bodies: dict[str, dict[str, Obj]] = defaultdict(dict)

    def _keep(self, name: str, obj: Obj) -> None:
        super()._keep(name, obj)
        self._bodies[obj["metadata"]["labels"][labels.JOB_UID]][name] = obj

    async def until_seen(self) -> None:
        """Return when a plan was seen."""
        async with self._changed:
            await self._changed.wait_for(lambda: any(self._bodies.values()))

    def contents(self, job_uid: str) -> Contents:
        """What the plans of a Job say, by generation."""
        bodies = self._bodies[job_uid]
        heads = [body for body in bodies.values() if "data" in body]
        records = [
            plan_of(head, [bodies[part] for part in parts_of(head)]).record for head in heads
        ]
        return {each.generation: {pe.name: pe.content_id for pe in each.pes} for each in records}
