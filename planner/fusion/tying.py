"""Which constraints hold two operators together: what a refusal tells beside what keeps them apart.

Two operators may be held together by a third one, or by many: the shortest way from the one to the
other is named.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planner.fusion.placing import HostRules
from planner.graph.topology import Operator, Topology
from planner.refusals import shown

TIES_NAMED_MAX = 4

Tie = tuple[str, str]
"""(what kind of constraint, its value): operators that share one are together."""


class _Step(NamedTuple):
    """An operator that was reached, by which tie, and from where."""

    before: Operator
    tie: Tie
    operator: Operator


def ties_in_pe(topology: Topology, members: Sequence[Operator], in_force: HostRules) -> list[Tied]:
    """What makes operators share a PE: all of a host that is isolated share one, too."""
    isolated = any(each.constraints.host_isolation for each in members) and in_force.required
    return [
        Tied(
            each, [*_of_partition(each), *(_of_host(topology, each, in_force) if isolated else ())]
        )
        for each in members
    ]


def ties_on_host(
    topology: Topology, members: Sequence[Operator], in_force: HostRules
) -> list[Tied]:
    """What puts operators on one host: those that share a PE are on one, too."""
    return [
        Tied(each, [*_of_partition(each), *_of_host(topology, each, in_force)]) for each in members
    ]


class Tied(NamedTuple):
    """An operator and what may tie it to others."""

    operator: Operator
    ties: list[Tie]


def _of_partition(operator: Operator) -> Iterator[Tie]:
    for identifier in operator.constraints.colocations:
        yield "the partition coLocation", identifier


def _of_host(topology: Topology, operator: Operator, in_force: HostRules) -> Iterator[Tie]:
    own = operator.constraints
    for identifier in own.host_colocations if in_force.required else ():
        yield "the host coLocation", identifier
    if own.host is not None:
        yield "the host", in_force.named(own.host)
    if own.pool is not None and own.pool_slot is not None:
        yield f"place {own.pool_slot} of the host pool", topology.pools[own.pool].name


def shortest_chain(tied: Sequence[Tied], one: Operator, other: Operator) -> str:
    """The ties on the shortest way from one operator to the other, as the end of a sentence."""
    steps = _way(tied, one, other)
    if len(steps) == 1:
        return f"by {_named(steps[0].tie)}"
    ties = [
        f"{_named(step.tie)} of {_quoted(step.before)} and {_quoted(step.operator)}"
        for step in steps[:TIES_NAMED_MAX]
    ]
    more = f" and {len(steps) - TIES_NAMED_MAX} more" if len(steps) > TIES_NAMED_MAX else ""
    return f"by {', '.join(ties)}{more}"


def _way(tied: Sequence[Tied], one: Operator, other: Operator) -> list[_Step]:
    """Breadth first; each tie is followed once."""
    ties = {each.operator.index: each.ties for each in tied}
    holding: dict[Tie, list[Operator]] = {}
    for each in tied:
        for tie in each.ties:
            holding.setdefault(tie, []).append(each.operator)
    found: dict[int, _Step] = {}
    coming = deque([one])
    while coming and other.index not in found:
        before = coming.popleft()
        for tie in ties[before.index]:
            for operator in holding.pop(tie, ()):
                if operator.index not in found and operator is not one:
                    found[operator.index] = _Step(before, tie, operator)
                    coming.append(operator)
    steps: list[_Step] = []
    at = other
    while at is not one:
        steps.append(found[at.index])
        at = found[at.index].before
    return steps[::-1]


def _named(tie: Tie) -> str:
    kind, value = tie
    return f"{kind} {shown(value)!r}"


def _quoted(operator: Operator) -> str:
    return repr(shown(operator.name))
