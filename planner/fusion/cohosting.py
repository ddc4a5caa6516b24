"""Which operators must be on one host while PEs are filled, and whether two PEs may be one.

What shares a PE shares a host, and so do all that are bound to its host by a token, a host name or
a place of a pool. So a fusion may bring operators of other PEs to one host: of three that are
ex-located, co-located and neither, two may share a PE where the third one forbids it. `conflict` of
profiles.py looks at two PEs; this is about all of them.

1. What the application holds together is together from the beginning, whatever becomes of it:
   contradicting.py looks at that.
2. Two PEs become one if all that is then on their host may be there: no id of ex-location comes
   twice, and both hosts are required by the same names, pools and places. Host isolation needs
   no check: `conflict` lets nobody into its PE whom others follow.
3. Operators that nothing binds to a host, nor keeps from one, go with whomever they are put: nobody
   else follows them. They are not known here, so that most applications cost nothing.

So where units contradict each other nowhere, PEs do not either, k operators that are ex-located are
on k hosts, and no host has to have what none had to have before. Where hosts are zones, names,
pools and places are those of the nodes in them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from contracts.labels import HOSTNAME
from planner.fusion.constraints import Unit
from planner.fusion.placing import (
    DEFAULT_POOL,
    HostRules,
    on_one_host,
    on_one_node,
)
from planner.graph.topology import Operator, Topology
from planner.refusals import shown


class Cohosting:
    """What is on one host so far; anything done can be undone.

    A PE is known by one of its units that is bound to a host: `joined` says which.
    """

    def __init__(self, topology: Topology, units: Iterable[Unit], in_force: HostRules) -> None:
        """Each unit is a PE of its own."""
        bound = [] if in_force.is_original else [unit for unit in units if _is_bound(unit)]
        demands = [_demands_of_unit(topology, unit, in_force) for unit in bound]
        self._number = {unit: number for number, unit in enumerate(bound)}
        self._steps: list[_Step] = []
        self._hosts = self._nodes = _Groups(demands, self._steps)
        if in_force.topology_key != HOSTNAME:
            self._nodes = _Groups(
                [_Demands(places=set(each.places)) for each in demands], self._steps
            )
        hosts: dict[object, int] = {}
        nodes: dict[object, int] = {}
        for number, unit in enumerate(bound):
            for operator in _operators(topology, unit):
                for each in on_one_host(operator, in_force):
                    self._hosts.join(hosts.setdefault(each, number), number)
                for each in on_one_node(operator, in_force):
                    self._nodes.join(nodes.setdefault(each, number), number)

    def __bool__(self) -> bool:
        """Whether anything is bound to a host."""
        return bool(self._number)

    def refusal(self, pe: Unit | None, unit: Unit | None) -> str | None:
        """Why a unit (or another PE) may not join a PE, or None."""
        if pe is None or unit is None or unit not in self._number:
            return None
        one, other = self._number[pe], self._number[unit]
        mine, theirs = self._hosts.demands_of(one), self._hosts.demands_of(other)
        if mine is not theirs and not mine.apart.isdisjoint(theirs.apart):
            both = repr(shown(min(mine.apart & theirs.apart)))
            return f"what would be on one host is ex-located (CDISR3211E): by {both}"
        if self._nodes.demands_of(one).places != self._nodes.demands_of(other).places:
            return "what would be on one host asks for other hosts (CDISR3209E)"
        return None

    def joined(self, pe: Unit | None, unit: Unit | None) -> Unit | None:
        """Puts a unit into a PE, come what may. Who stands for the PE from now on."""
        if unit not in self._number or unit is None:
            return pe
        if pe is not None:
            one, other = self._number[pe], self._number[unit]
            self._hosts.join(one, other)
            self._nodes.join(one, other)
        return pe or unit

    def mark(self) -> int:
        """How things are, for `undo`."""
        return len(self._steps)

    def undo(self, mark: int) -> None:
        """Puts everything back to how it was then."""
        while len(self._steps) > mark:
            self._steps.pop().undo()


@dataclass(slots=True)
class _Demands:
    """What a group asks for: ids of ex-location; names, pools and places."""

    apart: set[Any] = field(default_factory=set)
    places: set[Any] = field(default_factory=set)

    @property
    def all(self) -> tuple[set[Any], ...]:
        return self.apart, self.places


class _Groups:
    """Units joined by size, without shortening of ways, so that it can be undone in reverse."""

    def __init__(self, demands: list[_Demands], steps: list[_Step]) -> None:
        self.demands = demands
        self.sizes = [1] * len(demands)
        self.parent = list(range(len(demands)))
        self._steps = steps

    def demands_of(self, number: int) -> _Demands:
        """What the group of a unit asks for."""
        return self.demands[self.root(number)]

    def root(self, number: int) -> int:
        """Who stands for the group."""
        while (parent := self.parent[number]) != number:
            number = parent
        return number

    def join(self, one: int, other: int) -> None:
        """Makes one group of two."""
        small, large = sorted(
            (self.root(one), self.root(other)), key=lambda root: (self.sizes[root], -root)
        )
        if small == large:
            return
        added = []
        for mine, theirs in zip(self.demands[large].all, self.demands[small].all, strict=True):
            added.append(theirs - mine)
            mine.update(added[-1])
        self.parent[small] = large
        self.sizes[large] += self.sizes[small]
        self._steps.append(_Step(self, small, large, added))


@dataclass(slots=True)
class _Step:
    """A group joined another one, which got what is added."""

    groups: _Groups
    small: int
    large: int
    added: list[set[Any]]

    def undo(self) -> None:
        self.groups.parent[self.small] = self.small
        self.groups.sizes[self.large] -= self.groups.sizes[self.small]
        for mine, added in zip(self.groups.demands[self.large].all, self.added, strict=True):
            mine.difference_update(added)


def _is_bound(unit: Unit) -> bool:
    return unit.profile.host_colocated or bool(unit.profile.host_exlocations)


def _operators(topology: Topology, unit: Unit) -> Iterable[Operator]:
    return (topology.operators[index] for index in unit.operators)


def _demands_of_unit(topology: Topology, unit: Unit, in_force: HostRules) -> _Demands:
    found = _Demands()
    for operator in _operators(topology, unit):
        own = operator.constraints
        if in_force.required:
            found.apart.update(own.host_exlocations)
        found.places.update(on_one_node(operator, in_force))
        if own.pool is not None and topology.pools[own.pool].name != DEFAULT_POOL:
            found.places.add(("pool", own.pool))
    return found


NOBODY_BOUND: Final = Cohosting(Topology({}, {}, {}, {}, {}, {}), (), HostRules())
"""Where nothing is bound to a host, or, as in the original, nobody asks what else is there."""
