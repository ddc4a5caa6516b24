"""Decides whether a job fits, and where: as a whole or not at all, and the same for the same input.

1. What contradicts itself, or names what does not exist, is refused.
2. What an earlier decision chose is kept, if that can be done without search.
3. One greedy attempt; bounds; some more attempts with numbers that follow from the job's name.
4. The exact search, which alone may say no, or that it ran into its limit.
5. Where colocation and its opposites are only preferred, the same again without them.
6. What has no placement is explained (explaining.py).

Every placement is checked again before it is given (checking.py).
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from services.hostpool_manager.core import exact
from services.hostpool_manager.core.answers import Answer, Family, Placed, Unknown
from services.hostpool_manager.core.bounds import is_impossible
from services.hostpool_manager.core.checking import violations
from services.hostpool_manager.core.cluster import Cluster
from services.hostpool_manager.core.contradicting import contradiction, missing
from services.hostpool_manager.core.explaining import explain
from services.hostpool_manager.core.greedy import Draw, attempt
from services.hostpool_manager.core.job import Job
from services.hostpool_manager.core.problem import Problem, Solution
from services.hostpool_manager.core.settling import settle
from services.hostpool_manager.core.stating import state

PREFERENCES = frozenset({Family.COLOCATION, Family.EXLOCATION})


@dataclass(frozen=True, slots=True)
class Limits:
    """`search_s`: seconds of one exact search; `attempts`: greedy ones before it."""

    search_s: float = 5.0
    attempts: int = 20


def decide(cluster: Cluster, job: Job, limits: Limits = Limits()) -> Answer:
    """A checked placement of all PEs of the job, a refusal with its reason, or Unknown."""
    refused = contradiction(cluster, job) or missing(cluster, job)
    if refused is not None:
        return refused
    kept = _kept(cluster, job)
    if kept is not None:
        return kept
    lifted: frozenset[Family] = frozenset()
    found = _placed(cluster, job, lifted, limits)
    if found is None and not job.is_required:
        lifted = PREFERENCES
        found = _placed(cluster, job, lifted, limits)
    if found is not None:
        return found

    def has_placement(without: frozenset[Family]) -> bool:
        problem = state(cluster, job, without | lifted)
        return isinstance(search(problem, limits), Solution)

    return explain(state(cluster, job, lifted), has_placement)


def _kept(cluster: Cluster, job: Job) -> Placed | None:
    """The earlier decision with what is new, if there was one and one attempt finds it."""
    if not any(pe.assigned for pe in job.pes) and not any(pool.members for pool in job.pools):
        return None
    problem = state(cluster, job, keeps=True)
    found = attempt(problem, Draw())
    return _checked(problem, found) if isinstance(found, Solution) else None


def _placed(
    cluster: Cluster, job: Job, lifted: frozenset[Family], limits: Limits
) -> Placed | Unknown | None:
    problem = state(cluster, job, lifted)
    found = search(problem, limits)
    if found is None:
        return None
    unknown = Unknown(
        "neither a placement that holds was found nor a proof that there is none; one search may "
        f"take {limits.search_s:g} s"
    )
    if isinstance(found, exact.Exhausted):
        return unknown
    return _checked(problem, found) or unknown


def _checked(problem: Problem, solution: Solution) -> Placed | None:
    placed = settle(problem, solution, is_as_preferred=not problem.lifted)
    return None if violations(problem.cluster, problem.job, placed) else placed


def search(problem: Problem, limits: Limits) -> Solution | exact.Exhausted | None:
    """A solution, None where there is none, or neither within the limit."""
    if problem.overfull:
        return None
    found = attempt(problem, Draw())
    if isinstance(found, Solution):
        return found
    if is_impossible(problem):
        return None
    seed = zlib.crc32(problem.job.name.encode())
    for number in range(limits.attempts):
        found = attempt(problem, Draw(seed=seed + number, packs=number % 2 == 0))
        if isinstance(found, Solution):
            return found
    return exact.solve(problem, limits.search_s)
