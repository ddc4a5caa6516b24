"""The connections of one PE, spelt out: what its AADL says at operator ports and at PE ports.

Only here is a wide connection taken apart, and only the part of it that meets this PE.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from services.fusion_backend.core.meaning import ChannelMeaning, Connection, SplitterMeaning
from services.fusion_backend.core.port_numbers import PortNumbers
from services.fusion_backend.core.records import PortKey
from services.fusion_backend.core.topology import (
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
        self._crossing: dict[PortKey, Connections] = {}
        self.arriving: dict[Port, Arriving] = {}
        self.leaving: dict[Port, Leaving] = {}
        for operator in operators:
            for entry in operator.item.inputs:
                place = (operator.index, entry.index)
                self.arriving[place] = self._arriving(topology.inlets.get(place, Inlet()))
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

    def static_from(self, key: PortKey) -> tuple[tuple[int, int, int, int], ...]:
        """(PE, PE input port, operator, operator port) of what a PE output port feeds."""
        inter = self._crossing.get(key, ())
        return tuple(
            sorted({(self._pe_of[target], entry, target, port) for target, port, entry in inter})
        )

    # ------------------------------------------------------------------ inputs

    def _arriving(self, inlet: Inlet) -> Arriving:
        inter: list[Connection] = []
        intra: list[Connection] = []
        for operator, output in inlet.sources:
            self._arrive(operator, output, -1, -1, inter, intra)
        for fan, leg in inlet.fans:
            for source in fan.sources:
                place = source.place(leg.position, leg.channel)
                self._arrive(source.operator, source.output, *place, inter, intra)
        return Arriving(tuple(sorted(inter)), tuple(sorted(intra)))

    def _arrive(
        self,
        operator: int,
        output: int,
        splitter: int,
        channel: int,
        inter: list[Connection],
        intra: list[Connection],
    ) -> None:
        pe = self._pe_of[operator]
        if pe == self._pe:
            intra.append((operator, output, splitter, channel, -1))
            return
        number = self._numbers.id_of(pe, ("out", operator, output, splitter), channel)
        inter.append((operator, output, splitter, channel, number))

    # ------------------------------------------------------------------ outputs

    def _leaving(self, place: Port, outlet: Outlet) -> Leaving:
        targets = list(outlet.targets)
        below: list[tuple[Splitter, FanSource]] = []
        for fan, source in outlet.fans:
            targets += fan.root.targets
            below += [(splitter, source) for splitter in fan.root.splitters]
        inter, intra = self._ends(PortKey("out", *place, -1, -1), targets)
        found = [self._splitter(splitter, source) for splitter, source in below]
        return Leaving(inter, intra, tuple(sorted(found, key=lambda each: each.index)))

    def _ends(self, key: PortKey, targets: list[Port]) -> tuple[Connections, Connections]:
        inter: list[Connection] = []
        intra: list[Connection] = []
        for operator, port in targets:
            pe = self._pe_of[operator]
            if pe == self._pe:
                intra.append((operator, port, -1))
            else:
                number = self._numbers.id_of(pe, ("in", operator, port, -1), -1)
                inter.append((operator, port, number))
        if inter:
            self._crossing[key] = tuple(sorted(inter))
        return self._crossing.get(key, ()), tuple(sorted(intra))

    def _splitter(self, splitter: Splitter, source: FanSource) -> SplitterMeaning:
        return SplitterMeaning(
            index=source.ids[splitter.position],
            kind=splitter.spec.kind,
            port=splitter.spec.port,
            region=splitter.region,
            drop_window_punctuation=splitter.drop_window_punctuation,
            attributes=splitter.spec.attributes,
            channels=tuple(self._channel(leg, source) for leg in splitter.channels),
        )

    def _channel(self, leg: Leg, source: FanSource) -> ChannelMeaning:
        place = source.place(leg.position, leg.channel)
        key = PortKey("out", source.operator, source.output, *place)
        inside = [self._splitter(splitter, source) for splitter in leg.splitters]
        return ChannelMeaning(
            leg.channel,
            *self._ends(key, leg.targets),
            tuple(sorted(inside, key=lambda each: each.index)),
        )
