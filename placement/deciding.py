"""Decides whether a job fits, and where: as a whole or not at all.

The same input has the same answer, unless a limit in seconds ends the search.

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
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from placement import exact
from placement.answers import Answer, Family, Placed, Unknown
from placement.bounds import is_impossible
from placement.building import build_problem
from placement.checking import violations
from placement.cluster import Cluster
from placement.contradicting import contradiction, missing
from placement.explaining import explain
from placement.greedy import Draw, attempt
from placement.job import Job
from placement.problem import Problem, Solution
from placement.rows import Exhausted
from placement.settling import settle

PREFERENCES: Final = frozenset({Family.COLOCATION, Family.EXLOCATION})
CELLS_MAX: Final = 50_000_000
"""Classes times nodes that greedy attempts after the first may look at: about three seconds."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`search_s`: seconds of one decision, its explanation included; `attempts`: greedy ones.

    `clock` gives seconds that only grow. Without one, no search gets more than half of what the
    searches before it were given and might have left.
    """

    search_s: float = 5.0
    attempts: int = 20
    clock: Callable[[], float] | None = None


@dataclass(slots=True)
class Budget:
    """The seconds that are left of one decision."""

    limits: Limits
    until: float = field(init=False)
    unspent_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.unspent_s = self.limits.search_s
        clock = self.limits.clock
        self.until = 0.0 if clock is None else clock() + self.limits.search_s

    def is_over(self) -> bool:
        """Whether nothing is left."""
        return self.limits.clock is not None and self.limits.clock() >= self.until

    def next_s(self) -> float:
        """Seconds for one more search."""
        if self.limits.clock is not None:
            return max(0.0, self.until - self.limits.clock())
        self.unspent_s /= 2
        return self.unspent_s


def decide(cluster: Cluster, job: Job, limits: Limits = Limits()) -> Answer:
    """A checked placement of all PEs of the job, a refusal with its reason, or Unknown."""
    budget = Budget(limits)
    refused = contradiction(cluster, job) or missing(cluster, job)
    if refused is not None:
        return refused
    kept = _kept(cluster, job, budget)
    if kept is not None:
        return kept
    lifted: frozenset[Family] = frozenset()
    found = _placed(cluster, job, lifted, budget)
    if found is None and not job.is_required:
        lifted = PREFERENCES
        found = _placed(cluster, job, lifted, budget)
    if found is not None:
        return found

    def has_placement(without: frozenset[Family]) -> bool | None:
        found = search(build_problem(cluster, job, without | lifted), budget)
        return None if isinstance(found, Exhausted) else found is not None

    return explain(build_problem(cluster, job, lifted), has_placement)


def _kept(cluster: Cluster, job: Job, budget: Budget) -> Placed | None:
    """The earlier decision with what is new, if there was one and one attempt finds it."""
    if not any(kind[0].assigned for kind in job.kinds) and not any(p.members for p in job.pools):
        return None
    problem = build_problem(cluster, job, keeps=True)
    found = attempt(problem, Draw(), budget.is_over)
    return _checked(problem, found) if isinstance(found, Solution) else None


def _placed(
    cluster: Cluster, job: Job, lifted: frozenset[Family], budget: Budget
) -> Placed | Unknown | None:
    problem = build_problem(cluster, job, lifted)
    found = search(problem, budget)
    if found is None:
        return None
    unknown = Unknown(
        "neither a placement that holds was found nor a proof that there is none; one decision may "
        f"take {budget.limits.search_s:g} s"
    )
    if isinstance(found, Exhausted):
        return unknown
    return _checked(problem, found) or unknown


def _checked(problem: Problem, solution: Solution) -> Placed | None:
    placed = settle(problem, solution, is_as_preferred=not problem.lifted)
    return None if violations(problem.cluster, problem.job, placed) else placed


def search(problem: Problem, budget: Budget) -> Solution | Exhausted | None:
    """A solution, None if none exists, or neither within the time left."""
    if problem.overfull:
        return None
    found = attempt(problem, Draw(), budget.is_over)
    if isinstance(found, Solution):
        return found
    if budget.is_over():
        return Exhausted()
    if is_impossible(problem):
        return None
    seed = zlib.crc32(problem.job.name.encode())
    cells = sum(len(each.nodes) for each in problem.classes)
    for number in range(min(budget.limits.attempts, CELLS_MAX // max(1, cells))):
        draw = Draw(seed=seed + number, packs=number % 2 == 0)
        found = attempt(problem, draw, budget.is_over)
        if isinstance(found, Solution):
            return found
        if budget.is_over():
            return Exhausted()
    return exact.solve(problem, budget.next_s())
