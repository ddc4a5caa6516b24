"""Finds a solution, or proves that none exists, by mixed-integer programming (HiGHS).

1. Classes that always find a place are left out: more nodes take one of their units than all other
   units and pools together could touch. They are placed last.
2. Of nodes alike to the other classes, only as many stay as could be used.
3. If no pool chooses members and a node can be filled in few ways, patterning.py searches how many
   nodes are filled in each way: interchangeable nodes become one.
4. Otherwise, or if step 3 met its limit, program.py searches the node of each unit.
5. The solution is converted to whole numbers, and checking.py checks it.

"No" comes from the solver's own proof over all nodes. A limit in seconds ends the search, and a
program that would take longer to write down is not begun.
"""

from __future__ import annotations

from typing import Final

from placement.cluster import Bools
from placement.greedy import Draw, State
from placement.patterning import search_patterns
from placement.problem import Problem, Solution
from placement.program import Counts, Program
from placement.reducing import alike, hard_classes
from placement.rows import Exhausted

COMPARED_MAX: Final = 20_000_000
"""Classes times nodes that are compared to find nodes that look alike."""
CELLS_MAX: Final = 600_000
"""The most classes times nodes of a program: building it takes about 2 s."""
_PATTERNS_SHARE: Final = 0.5


def solve(problem: Problem, limit_s: float) -> Solution | Exhausted | None:
    """A solution, None if none exists, or Exhausted if a limit came first."""
    hard = hard_classes(problem)
    if limit_s <= 0 or len(hard) * len(problem.cluster) > COMPARED_MAX:
        return Exhausted()
    kept = alike(problem, hard)
    found = search_patterns(problem, hard, kept, _PATTERNS_SHARE * limit_s)
    if isinstance(found, list):
        members = [pool.forced for pool in problem.pools]
        return _completed(problem, hard, found, members)
    if found is None or len(hard) * len(kept.nodes) > CELLS_MAX:
        return found
    program = Program(problem, hard, kept.nodes)
    if not program.state():
        return None
    solved = program.run((1 - _PATTERNS_SHARE) * limit_s)
    if solved is None or isinstance(solved, Exhausted):
        return solved
    return _completed(problem, hard, *solved)


def _completed(
    problem: Problem, hard: list[int], counts: list[Counts], members: list[Bools]
) -> Solution | Exhausted:
    """Place the classes left out, too."""
    state = State(problem, Draw())
    for at, (nodes, taken) in zip(hard, counts, strict=True):
        state.take(at, nodes, taken)
    for pool, chosen in zip(problem.pools, members, strict=True):
        state.members[pool.position] |= chosen
        state.touched |= chosen
        if pool.is_exclusive:
            state.owner[state.members[pool.position]] = pool.position
    for at in range(len(problem.classes)):
        if at not in state.counts and not state.place(at):
            return Exhausted()
    return state.solution() if state.complete_members() is None else Exhausted()
