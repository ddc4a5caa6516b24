"""Runs a search, and judges its result when the search ends.

A search places all of a job or refuses it (placement/deciding.py). If the job is in force already
and no placement of all of it exists any more, a partial placement is searched as well
(partial_placement.py).

Cluster and spec may have changed during the search:
1. an answer to an outdated spec is dropped, and so is a placement that does not hold any more;
2. an answer that is too large for a status, or exceeds the quota of nodes, becomes a refusal;
3. every other answer counts from now on, with the placement that is then in force.
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
from services.hostpool_manager.core.partial_placement import (
    PartialPlacement,
    in_force_after,
    partial_placement,
)
from services.hostpool_manager.core.quotas import QuotaLeft, over_quota
from services.hostpool_manager.core.snapshot import (
    Found,
    LastSearch,
    Placement,
    SearchTarget,
)
from services.hostpool_manager.core.statuses import status_of_answer, too_large


class Dropped(StrEnum):
    """Why an answer is dropped."""

    OUTDATED = "outdated"
    """Its Placement is gone, or its spec changed."""
    OVERTAKEN = "overtaken"
    """Another job took its nodes, or they were cordoned, during the search."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer of a search; `partial`: for a job in force that has no placement any more."""

    answer: Answer
    partial: PartialPlacement | None = None


@dataclass(frozen=True, slots=True)
class Newest:
    """The state at the end of a search; `spec_bytes`: the size of the spec as it is stored.

    `quota`: how many nodes exclusive pools may have, if that is limited.
    """

    cluster: Cluster
    placement: Placement | None
    job: Job | None
    spec_bytes: int
    quota: QuotaLeft | None = None


def search_for(cluster: Cluster, placement: Placement, job: Job, limits: Limits) -> SearchResult:
    """The answer for all of a job, and a partial placement if it is in force and does not fit."""
    answer = decide(cluster, job, limits)
    if isinstance(answer, Placed) or not placement.is_in_force:
        return SearchResult(answer)
    return SearchResult(answer, partial_placement(cluster, job, limits))


def judge(target: SearchTarget, result: SearchResult, newest: Newest) -> Found | Dropped:
    """The answer that counts from now on, or why the answer is dropped."""
    answer, placement, job = result.answer, newest.placement, newest.job
    if placement is None or job is None or not target.is_of(placement):
        return Dropped.OUTDATED
    if isinstance(answer, Placed) and violations(newest.cluster, job, answer):
        return Dropped.OVERTAKEN
    why_too_large = too_large(answer, job, spec_bytes=newest.spec_bytes)
    if why_too_large:
        answer = Refused(Reason.SPEC_INVALID, why_too_large)
    answer = over_quota(newest.quota, placement, job, answer) or answer
    in_force = in_force_after(newest.cluster, placement, job, answer, result.partial)
    status = status_of_answer(answer, spec_generation=placement.spec_generation, in_force=in_force)
    return Found(placement.uid, placement.spec_generation, status)


def misses_in_a_row(before: LastSearch | None, found: Found) -> int:
    """How many searches in a row found no placement for a spec, with this one.

    A placement resets the count: if it breaks again, the pause starts small.
    """
    if found.status.phase is PlacementPhase.PLACED:
        return 0
    is_of_same = before is not None and (before.uid, before.spec_generation) == (
        found.uid,
        found.spec_generation,
    )
    return 1 + (before.misses if before is not None and is_of_same else 0)
