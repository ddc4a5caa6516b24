"""The connections of one PE, spelt out: what its AADL says at operator ports and at PE ports.

Only here is a wide connection taken apart, and only the part of it that meets this PE.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from planner.description.meaning import (
    ChannelMeaning,
    Connection,
    SplitterMeaning,
)
from planner.graph.topology import (
    Edge,
    FanSource,
    Inlet,
    Leg,
    Operator,
    Outlet,
    Port,
    Splitter,
    Topology,
)
from planner.numbering.port_numbers import PortNumbers, Way

Connections = tuple[Connection, ...]


class Arriving(NamedTuple):
    """What reaches an input port, from other PEs and from this one."""

    inter: Connections
    intra: Connections


class Leaving(NamedTuple):
    """What leaves an output port outside of splitters, and its splitters."""

    inter: Connections
    intra: Connections
    splitters: tuple[SplitterMeaning, ...]


class PeConnections:
    """The connections of the operators of one PE."""

    def __init__(
        self,
        pe: int,
        operators: Iterable[Operator],
        *,
        topology: Topology,
        numbers: PortNumbers,
        pe_of: Mapping[int, int],
    ) -> None:
        """Spells them out."""
        self._pe = pe
        self._numbers = numbers
        self._pe_of = pe_of
        self._crossing: dict[tuple[Way, int], Connections] = {}
        self.arriving: dict[Port, Arriving] = {}
        self.leaving: dict[Port, Leaving] = {}
        for operator in operators:
            for entry in operator.item.inputs:
                place = (operator.index, entry.index)
                self.arriving[place] = self._arriving(topology.inlets.get(place, _NO_INLET))
            for exit_ in operator.item.outputs:
                place = (operator.index, exit_.index)
                self.leaving[place] = self._leaving(place, topology.outlets[place])

    def inside(self) -> list[Edge]:
        """The connections within the PE."""
        return [
            Edge(source, output, *place, splitter, channel)
            for place, arriving in self.arriving.items()
            for source, output, splitter, channel, _ in arriving.intra
        ]

    def static_into(self, port: Port) -> tuple[tuple[int, int], ...]:
        """(PE, PE output port) of what reaches an input port from other PEs."""
        inter = self.arriving[port].inter
        return tuple(sorted({(self._pe_of[end[0]], end[4]) for end in inter}))

    def static_from(self, way: Way, channel: int) -> tuple[tuple[int, int, int, int], ...]:
        """(PE, PE input port, operator, operator port) of what a PE output port feeds."""
        inter = self._crossing.get((way, channel), ())
        return tuple(
            sorted({(self._pe_of[target], entry, target, port) for target, port, entry in inter})
        )

    def downstream(self) -> dict[int, set[int]]:
        """The operators of other PEs that take what an operator gives, by that one."""
        found: dict[int, set[int]] = {}
        for (way, _), inter in self._crossing.items():
            found.setdefault(way[0], set()).update(end[0] for end in inter)
        return found

    # ------------------------------------------------------------------ inputs

    def _arriving(self, inlet: Inlet) -> Arriving:
        inter: list[Connection] = []
        intra: list[Connection] = []
        for operator, output in inlet.sources:
            self._arrive((operator, output, -1), -1, inter, intra)
        for fan, leg in inlet.fans:
            for operator, output, ids in fan.sources:
                splitter = -1 if leg.position < 0 else ids[leg.position]
                self._arrive((operator, output, splitter), leg.channel, inter, intra)
        return Arriving(_sorted(inter), _sorted(intra))

    def _arrive(
        self, way: Way, channel: int, inter: list[Connection], intra: list[Connection]
    ) -> None:
        pe = self._pe_of[way[0]]
        if pe == self._pe:
            intra.append((*way, channel, -1))
        else:
            inter.append((*way, channel, self._numbers.output_id(pe, way, channel)))

    # ------------------------------------------------------------------ outputs

    def _leaving(self, place: Port, outlet: Outlet) -> Leaving:
        targets = list(outlet.targets)
        splitters: list[SplitterMeaning] = []
        for fan, source in outlet.fans:
            targets += fan.root.targets
            splitters += self._splitters(fan.root.splitters, source)
        return Leaving(*self._ends((*place, -1), -1, targets), _by_index(splitters))

    def _ends(self, way: Way, channel: int, targets: list[Port]) -> tuple[Connections, Connections]:
        inter: list[Connection] = []
        intra: list[Connection] = []
        for target in targets:
            pe = self._pe_of[target[0]]
            if pe == self._pe:
                intra.append((*target, -1))
            else:
                inter.append((*target, self._numbers.input_id(pe, target)))
        crossing = _sorted(inter)
        if inter:
            self._crossing[way, channel] = crossing
        return crossing, _sorted(intra)

    def _splitters(self, splitters: list[Splitter], source: FanSource) -> list[SplitterMeaning]:
        return [
            SplitterMeaning(
                index=source.ids[splitter.position],
                kind=splitter.spec.kind,
                port=splitter.spec.port,
                region=splitter.region,
                drop_window_punctuation=splitter.drop_window_punctuation,
                attributes=splitter.spec.attributes,
                channels=tuple([self._channel(leg, source) for leg in splitter.channels]),
            )
            for splitter in splitters
        ]

    def _channel(self, leg: Leg, source: FanSource) -> ChannelMeaning:
        way = (source.operator, source.output, source.ids[leg.position])
        inside = self._splitters(leg.splitters, source)
        return ChannelMeaning(
            leg.channel, *self._ends(way, leg.channel, leg.targets), _by_index(inside)
        )


_NO_INLET = Inlet()


def _sorted(connections: list[Connection]) -> Connections:
    connections.sort()
    return tuple(connections)


def _by_index(splitters: list[SplitterMeaning]) -> tuple[SplitterMeaning, ...]:
    splitters.sort(key=lambda each: each.index)
    return tuple(splitters)
