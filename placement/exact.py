"""Finds a solution, or proves that none exists, by mixed-integer programming (HiGHS).

1. Classes that always find a place are left out: more nodes take one of their units than all other
   units and pools together could touch. They are placed when the others are.
2. Of nodes that look alike to what is left, as many stay as could be used.
3. Where no pool chooses members and a node can be filled in few ways, how many nodes are filled in
   which way is searched (patterning.py): interchangeable nodes become one.
4. Else, or where that met its limit, which units go to which node is searched (program.py).
5. A solution is read in whole numbers, and somebody else checks it (checking.py).

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
"""Classes times nodes of one program: about two seconds to write it down."""
_PATTERNS_SHARE: Final = 0.5


def solve(problem: Problem, limit_s: float) -> Solution | Exhausted | None:
    """A solution, None if none exists, or that the limit was reached first."""
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
    """The others beside what was solved."""
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
