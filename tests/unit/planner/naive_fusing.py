"""Manual fusion as the specification tells it, sentence by sentence: slow, and of lists only.

Nothing of the planner's own fusion is used. Operators are those of a topology, with constraints as
written; units, containers and the state of the packing are what the pseudo code says they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil, floor

from planner.graph.topology import Operator, Topology


@dataclass
class Container:
    """A PE while it is being filled."""

    operators: list[int] = field(default_factory=list)
    target: int | None = None

    @property
    def full(self) -> bool:
        return self.target is not None and len(self.operators) >= self.target


class NaiveFusion:
    """Units, constraints and packing of one topology."""

    def __init__(self, topology: Topology, *, keeps_places: bool = False) -> None:
        self.topology = topology
        self.keeps_places = keeps_places
        self.operators = topology.operators
        self.edges = [(edge.source, edge.target) for edge in topology.edges]
        self.host_groups = merged(self.declared_and_inferred(each) for each in self.each())
        self.region_of = self.consistent_regions()
        self.units = self.fusable_units()

    def each(self) -> list[Operator]:
        return [self.operators[index] for index in sorted(self.operators)]

    # ------------------------------------------------------------------ 4.2 fusable units

    def declared_and_inferred(self, operator: Operator) -> tuple[int, list[str]]:
        own = operator.constraints
        ids = [f"declared {item}" for item in own.host_colocations]
        if own.host is not None:
            ids.append(f"same host {own.host}")
        if own.pool is not None and own.pool_slot is not None:
            ids.append(f"same place {own.pool} {own.pool_slot}")
        return operator.index, ids

    def fusable_units(self) -> list[list[int]]:
        ids = {
            each.index: [f"written {i}" for i in each.constraints.colocations]
            for each in self.each()
        }
        for operator in self.each():
            if operator.constraints.host_isolation:
                for other in self.on_host_of([operator.index]):
                    ids[other].append(f"isolated with {operator.index}")
        groups = merged(ids.items())
        return sorted(groups, key=min)

    def on_host_of(self, operators: Iterable[int]) -> list[int]:
        """The operators, and all that must be on the same host as one of them."""
        wanted = set(operators)
        return sorted(
            {other for group in self.host_groups if wanted & set(group) for other in group}
        )

    # ------------------------------------------------------------------ 4.8 consistent regions

    def consistent_regions(self) -> dict[int, int]:
        """The region that an operator is fused with: the first that reaches it."""
        seeds: list[tuple[tuple[str, int], list[int]]] = []
        for operator in self.each():
            entry = self.entry(operator.index)
            if entry.get("isStartOfRegion") == "true":
                channel = operator.levels[0].channel if operator.levels else 0
                key = (entry.get("index", "0"), channel)
                known = next((starts for other, starts in seeds if other == key), None)
                if known is None:
                    seeds.append((key, [operator.index]))
                else:
                    known.append(operator.index)
        found: dict[int, int] = {}
        for number, (_, starts) in enumerate(seeds):
            for index in self.reached(starts):
                found.setdefault(index, number)
        return found

    def entry(self, index: int) -> dict[str, str]:
        for annotation in self.operators[index].item.annotations:
            if annotation.tag == "consistentRegionEntry":
                return {item.key: item.text for item in annotation.entries}
        return {}

    def reached(self, starts: list[int]) -> list[int]:
        found: list[int] = []
        left = list(starts)
        while left:
            index = left.pop()
            entry = self.entry(index)
            if entry and index not in found:
                found.append(index)
                if entry.get("isEndOfRegion") != "true":
                    left += [target for source, target in self.edges if source == index]
        return found

    def stands_alone(self, unit: list[int]) -> bool:
        """Isolated, or softly: fewer regions than operators."""
        regions = {self.region_of[index] for index in unit if index in self.region_of}
        soft = len(regions) > 0 and len(regions) != len(unit)
        return soft or any(self.operators[index].constraints.isolation for index in unit)

    # ------------------------------------------------------------------ 4.4 the packing

    def packed(self, pes: int) -> list[list[int]]:
        """The PEs of manual N, by smallest operator."""
        left = self.initial_order()
        completed = [Container(list(unit)) for unit in left if self.stands_alone(unit)]
        left = [unit for unit in left if not self.stands_alone(unit)]
        wanted = min(pes, len(self.operators))
        available = [Container() for _ in range(max(0, wanted - len(completed)))]
        current: Container | None = None
        in_chain = False
        while left:
            if len(left) <= len(available) and any(not each.operators for each in available):
                current = None
            is_head = current is None
            if current is None:
                if not available:
                    available.append(Container())
                current = min(available, key=lambda each: len(each.operators))
            else:
                in_chain = True
            current.target = self.target(left, available)
            left.sort(key=lambda unit: self.rank(unit, current, is_head=is_head))
            beside = [*filled(completed, available), *left]
            fitting = [
                unit
                for unit in left
                if (is_head or sum(self.connections(unit, current)) > 0)
                and self.compatible(unit, current.operators)
                and self.may_be_hosted(unit, current.operators, beside)
            ]
            if fitting:
                current.operators += fitting[0]
                left.remove(fitting[0])
                if current.full:
                    in_chain, current = False, None
            else:
                if not in_chain:
                    available = [each for each in available if each is not current]
                    completed.append(current)
                in_chain, current = False, None
        return sorted(map(sorted, filled(completed, available)), key=min)

    def initial_order(self) -> list[list[int]]:
        table = 16
        while table < max(16, floor(len(self.units) / 0.75) + 1):
            table *= 2

        def bucket(unit: list[int]) -> int:
            value = 31 + sum(31 + index for index in unit)
            return (value ^ (value >> 16)) % table

        return sorted(self.units, key=bucket)

    def target(self, left: list[list[int]], available: list[Container]) -> int:
        open_ones = [each for each in available if not each.full]
        operators = sum(map(len, left)) + sum(len(each.operators) for each in open_ones)
        return max(1, ceil(operators / max(1, len(open_ones))))

    def connections(self, unit: list[int], container: Container) -> tuple[int, int]:
        """How many lead from the container to the unit, and back."""
        inside = container.operators
        feeding = sum(source in inside and target in unit for source, target in self.edges)
        fed = sum(source in unit and target in inside for source, target in self.edges)
        return feeding, fed

    def rank(
        self, unit: list[int], container: Container | None, *, is_head: bool
    ) -> tuple[int, ...]:
        assert container is not None
        feeding, fed = self.connections(unit, container)
        if not is_head:
            return -feeding, -fed
        items = [self.operators[index].item for index in unit]
        has_source = any(len(item.inputs) == 0 for item in items)
        has_sink = any(len(item.outputs) == 0 for item in items)
        return -int(has_source), -int(has_sink), -len(unit), -feeding - fed

    # ------------------------------------------------------------------ 4.6 the rules

    def compatible(self, one: list[int], other: list[int]) -> bool:
        """Whether a unit may join what a container holds; an empty one accepts everything."""
        return not other or not list(self.broken(one, other))

    def broken(self, one: list[int], other: list[int]) -> Iterable[int]:
        """The numbers of the rules that keep the two apart."""
        both = [self.operators[index].constraints for index in (*one, *other)]
        if (
            len({frozenset(each.jvm_arguments) for each in both if each.jvm_arguments is not None})
            > 1
        ):
            yield 1
        if len({each.restartable for each in both}) > 1:
            yield 2
        if len({each.relocatable for each in both}) > 1:
            yield 3
        if any(each.isolation for each in both):
            yield 4
        if is_repeated([item for each in both for item in each.exlocations]):
            yield 5
        for side, beside in ((one, other), (other, one)):
            isolated = any(self.operators[index].constraints.host_isolation for index in side)
            if isolated and any(self.declared_and_inferred(self.operators[i])[1] for i in beside):
                yield 6
        if len({self.is_exclusive(index) for index in (*one, *other)}) > 1:
            yield 7
        if len({self.region_of.get(index) for index in (*one, *other)}) > 1:
            yield 8
        yield from self.broken_on_hosts(self.on_host_of(one), self.on_host_of(other))
        if self.keeps_places:
            yield from self.other_places([*one, *other])

    def broken_on_hosts(self, one: list[int], other: list[int]) -> Iterable[int]:
        both = [self.operators[index].constraints for index in {*one, *other}]
        if is_repeated([item for each in both for item in each.host_exlocations]):
            yield 9
        hosts = [
            {self.operators[i].constraints.host for i in side} - {None} for side in (one, other)
        ]
        if hosts[0] and hosts[1] and not hosts[0] & hosts[1]:
            yield 10
        if self.host_specification(one) != self.host_specification(other):
            yield 11
        places = {(each.pool, each.pool_slot) for each in both if each.pool_slot is not None}
        if is_repeated([pool for pool, _ in places]):
            yield 12

    def other_places(self, operators: list[int]) -> Iterable[int]:
        """Our own rule: a PE has one host, and one pool but for the default one."""
        own = [self.operators[index].constraints for index in operators]
        pools = {self.topology.pools[each.pool] for each in own if each.pool is not None}
        if len({each.host for each in own} - {None}) > 1:
            yield 13
        if len({pool.index for pool in pools if pool.name != "$default"}) > 1:
            yield 14

    # ------------------------------------------------------------------ our own: one host

    def may_be_hosted(self, one: list[int], other: list[int], pes: list[list[int]]) -> bool:
        """Whether one host may have all that follows the two, if they become one of the PEs."""
        if not (self.keeps_places and other and self.is_bound(one) and self.is_bound(other)):
            return True
        here, there = (self.hosted_with(each[0], pes) for each in (one, other))
        on_host = [self.operators[index].constraints for index in {*here, *there}]
        apart: list[object] = [item for each in on_host for item in each.host_exlocations]
        if here != there and is_repeated(apart):
            return False
        if any(each.host_isolation for each in on_host) and {*here, *there} != {*one, *other}:
            return False
        return self.asked_of_host(here) == self.asked_of_host(there)

    def is_bound(self, operators: list[int]) -> bool:
        """Whether others follow these to their host, or stay away from it."""
        own = [self.operators[index] for index in self.on_host_of(operators)]
        return any(
            self.declared_and_inferred(each)[1]
            or each.constraints.host_isolation
            or each.constraints.host_exlocations
            for each in own
        )

    def hosted_with(self, index: int, pes: list[list[int]]) -> list[int]:
        """All that must be on the host of an operator where these are the PEs."""
        return next(group for group in self.hosted(pes) if index in group)

    def hosted(self, pes: Iterable[Iterable[int]]) -> list[list[int]]:
        """Who is on one host where these are the PEs: the closure of all that puts them there."""
        ids = {each.index: list(self.declared_and_inferred(each)[1]) for each in self.each()}
        for number, operators in enumerate(pes):
            for index in operators:
                ids[index].append(f"processing element {number}")
        return merged(ids.items())

    def asked_of_host(self, operators: list[int]) -> set[object]:
        """The names, the places and, but for the default one, the pools."""
        own = [self.operators[index].constraints for index in operators]
        places = {(each.pool, each.pool_slot) for each in own if each.pool_slot is not None}
        pools = {(each.pool,) for each in own if each.pool}
        return {*pools, *places, *({each.host for each in own} - {None})}

    def is_exclusive(self, index: int) -> bool:
        pool = self.operators[index].constraints.pool
        return pool is not None and self.topology.pools[pool].mode == "exclusive"

    def host_specification(self, operators: list[int]) -> tuple[object, ...]:
        own = [self.operators[index].constraints for index in operators]
        pools = {each.pool for each in own} - {None}
        return (
            {each.host for each in own} - {None},
            {tag for pool in pools if pool is not None for tag in self.topology.pools[pool].tags},
            {(each.pool, each.pool_slot) for each in own if each.pool_slot is not None},
            pools,
        )


def filled(*containers: list[Container]) -> list[list[int]]:
    return [each.operators for several in containers for each in several if each.operators]


def is_repeated(items: list[object]) -> bool:
    return len(items) > len(set(items))


def merged(named: Iterable[tuple[int, list[str]]]) -> list[list[int]]:
    """Groups of what shares an id; groups that share a member become one."""
    groups = [({index}, set(ids)) for index, ids in named]
    for place in range(len(groups)):
        members, ids = groups[place]
        for other in groups[:place]:
            if ids & other[1]:
                members |= other[0]
                ids |= other[1]
                other[0].clear()
                other[1].clear()
    return [sorted(members) for members, _ in groups if members]
