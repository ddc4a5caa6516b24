"""What is searched, and what becomes of it when the search ends.

What is asked for is decided as a whole (placing/deciding.py). Where it is in force already and
cannot be had any more, what can be had of it is looked for as well (partial_placement.py).

By the end the cluster may be another, and the spec as well:
1. an answer to another spec is dropped, and so is a placement that does not hold any more;
2. what no status can hold is refused;
3. the rest counts from now on, with the placement that is then in force.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from contracts.reasons import Reason
from contracts.resources.placement import PlacementPhase
from placement.answers import Answer, Placed, Refused
from placement.checking import violations
from placement.cluster import Cluster
from placement.deciding import Limits, decide
from placement.job import Job
from services.hostpool_manager.core.following import without_lost
from services.hostpool_manager.core.partial_placement import PartialPlacement, partial_placement
from services.hostpool_manager.core.snapshot import (
    Found,
    InForce,
    Placement,
    SearchTarget,
    Tried,
)
from services.hostpool_manager.core.statuses import status_of_answer, too_long


class Dropped(StrEnum):
    """Why an answer counts for nothing."""

    OUTDATED = "outdated"
    """Its Placement is gone, or asks for something else."""
    OVERTAKEN = "overtaken"
    """What it found was taken, or closed, while it was searched."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found; `mended`: what can be had meanwhile of what is in force."""

    answer: Answer
    mended: PartialPlacement | None = None


@dataclass(frozen=True, slots=True)
class Newest:
    """What is known as a search ends; `spec_bytes`: the length of the spec as it is stored."""

    cluster: Cluster
    placement: Placement | None
    job: Job | None
    spec_bytes: int


def search_for(cluster: Cluster, job: Job, limits: Limits, *, is_in_force: bool) -> SearchResult:
    """The answer to a job; `is_in_force`: it was placed, and nodes are others since."""
    answer = decide(cluster, job, limits)
    if isinstance(answer, Placed) or not is_in_force:
        return SearchResult(answer)
    return SearchResult(answer, partial_placement(cluster, job, limits))


def judge(target: SearchTarget, result: SearchResult, newest: Newest) -> Found | Dropped:
    """What is found by a search, or why nothing is."""
    answer, placement, job = result.answer, newest.placement, newest.job
    if placement is None or job is None or not target.is_of(placement):
        return Dropped.OUTDATED
    if isinstance(answer, Placed) and violations(newest.cluster, job, answer):
        return Dropped.OVERTAKEN
    unsayable = too_long(answer, job, newest.spec_bytes)
    if unsayable:
        answer = Refused(Reason.SPEC_INVALID, unsayable)
    in_force = _in_force(newest.cluster, placement, job, SearchResult(answer, result.mended))
    said = status_of_answer(answer, generation=placement.generation, in_force=in_force)
    return Found(placement.uid, placement.generation, said, in_force)


def _in_force(cluster: Cluster, placement: Placement, job: Job, result: SearchResult) -> InForce:
    answer = result.answer
    if isinstance(answer, Placed):
        return InForce(
            placement.plan_generation,
            {each.pool: each.nodes for each in answer.pools},
            answer.assignment,
            answer.is_as_preferred,
        )
    if not placement.is_in_force:
        return placement.in_force
    left = without_lost(cluster, job, placement.in_force)
    is_mended = result.mended is not None and result.mended.holds(cluster)
    return result.mended.beside(cluster, left, job) if result.mended and is_mended else left


def misses_in_a_row(before: Tried | None, found: Found) -> int:
    """How many searches in a row found no placement for a spec, this one counted.

    What is placed and breaks again is a new trouble: its pause must not go on growing.
    """
    if found.said.phase is PlacementPhase.PLACED:
        return 0
    is_of_same = before is not None and (before.uid, before.generation) == (
        found.uid,
        found.generation,
    )
    return 1 + (before.times if before is not None and is_of_same else 0)
