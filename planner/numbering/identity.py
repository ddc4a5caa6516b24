"""Identities that last for the life of a job: operators, pools, splitters, PEs, PE ports.

Each thing has a key that does not depend on the widths of other regions (see records.py). What
the previous record knows keeps its number; what is new takes the next number above the high-water
mark, in the order in which a fresh plan would number it; a number is never given twice. Without a
previous record the numbers are those of a fresh plan.

For another bundle the operators are other operators: nothing is looked up, only the high-water
marks are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy

from planner.numbering.port_numbers import PortNumbers
from planner.numbering.records import (
    Direction,
    HighWater,
    OperatorKey,
    OperatorRecord,
    PlanRecord,
    PortKey,
    PortRuns,
)
from planner.numbering.splitters import SplitterKey, SplitterRecord


class Identities:
    """The numbers of one plan, taken from the previous record or given now."""

    def __init__(self, previous: PlanRecord | None, bundle_digest: str) -> None:
        """Starts from the previous record of the job, if there is one."""
        known = previous if previous and previous.bundle_digest == bundle_digest else None
        high = previous.high_water if previous else HighWater()
        self._high_before = high
        self._known_operators = {r.key: r.operator for r in known.operators} if known else {}
        self._known_ports = PortNumbers(known.port_runs if known else ())
        self._known_splitters = {r.key: r.id for r in known.splitters} if known else {}
        self._known_pools = {pool.name: pool.index for pool in known.pools} if known else {}
        self._operator_high = high.operator
        self._pe_high = high.pe
        self._pool_high = high.pool
        self._port_high = dict(high.ports)
        self._splitter_high = dict(high.splitters)
        self.operators: dict[OperatorKey, int] = {}
        self.pools: dict[str, int] = {}
        self.splitters: dict[SplitterKey, int] = {}
        self.ports = PortNumbers()

    @classmethod
    def given(
        cls,
        *,
        operators: Mapping[OperatorKey, int],
        splitters: Mapping[SplitterKey, int],
        pools: Mapping[str, int],
        pe_high: int,
    ) -> Identities:
        """Numbers that somebody else gave; those of ports are fresh."""
        found = cls(None, "")
        found._known_operators = dict(operators)
        found._known_splitters = dict(splitters)
        found._known_pools = dict(pools)
        found._operator_high = max(operators.values(), default=-1)
        found._pool_high = max(pools.values(), default=-1)
        found._pe_high = pe_high
        found._high_before = HighWater(pe=pe_high)
        return found

    def before_pes(self) -> Identities:
        """The same numbers, with none given to PEs and their ports yet."""
        found = copy(self)
        found._pe_high = self._high_before.pe
        found._port_high = dict(self._high_before.ports)
        found.ports = PortNumbers()
        return found

    def number_operators(self, keys: Iterable[OperatorKey]) -> list[int]:
        """The numbers of operators, given in the order of a fresh plan."""
        numbers: list[int] = []
        for key in keys:
            number = self._known_operators.get(key)
            if number is None:
                self._operator_high += 1
                number = self._operator_high
            self.operators[key] = number
            numbers.append(number)
        return numbers

    def reserve_pools(self, declared: Iterable[int]) -> None:
        """Declared pools have the indices of the ADL; replicas come above."""
        self._pool_high = max([self._pool_high, *declared])

    def number_pool(self, name: str) -> int:
        """The index of a replicated pool."""
        number = self.pools.get(name, self._known_pools.get(name))
        if number is None:
            self._pool_high += 1
            number = self._pool_high
        self.pools[name] = number
        return number

    def number_splitter(self, key: SplitterKey) -> int:
        """The index of a splitter, local to the output port."""
        number = self._known_splitters.get(key)
        if number is None:
            place = (key.operator, key.port)
            number = self._splitter_high.get(place, -1) + 1
            self._splitter_high[place] = number
        self.splitters[key] = number
        return number

    def next_pe(self) -> int:
        """The id of a new PE."""
        self._pe_high += 1
        return self._pe_high

    def number_ports(self, pe: int, direction: Direction, keys: Iterable[PortKey]) -> None:
        """Numbers the ports of one PE and direction, given in the order of a fresh plan."""
        highest = self._port_high.get((pe, direction), -1)
        for key in keys:
            number = self._known_ports.find(pe, key)
            if number is None:
                number = highest = highest + 1
            self.ports.put(pe, key, number)
        if highest >= 0:
            self._port_high[pe, direction] = highest

    def high_water(self, pes: set[int]) -> HighWater:
        """The marks for the record. Those of PEs and operators that are gone need not be kept."""
        operators = set(self.operators.values())
        ports: dict[tuple[int, Direction], int] = {
            place: mark for place, mark in self._port_high.items() if place[0] in pes
        }
        splitters = {
            place: mark for place, mark in self._splitter_high.items() if place[0] in operators
        }
        return HighWater(self._operator_high, self._pe_high, self._pool_high, ports, splitters)

    def operator_records(self, pe_of: dict[int, int]) -> tuple[OperatorRecord, ...]:
        """The operators of the record, by number."""
        ordered = sorted(self.operators.items(), key=lambda item: item[1])
        return tuple(OperatorRecord(key, number, pe_of[number]) for key, number in ordered)

    def port_runs(self) -> PortRuns:
        """The PE ports of the record."""
        return PortRuns(self.ports.runs())

    def splitter_records(self) -> tuple[SplitterRecord, ...]:
        """The splitters of the record."""
        return tuple(SplitterRecord(key, number) for key, number in sorted(self.splitters.items()))
