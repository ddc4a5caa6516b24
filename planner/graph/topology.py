"""The topology: physical operators, the connections between them, imports and exports.

Only the values are here: flattening.py makes them from the expanded graph, and everything after
(fusing, ports, describing) reads them. Numbers of operators, splitters and pools are for life.

Connections multiply: 1,000 channels before 1,000 channels are a million. What lies behind the
place where they meet is therefore one `Fan`, which all of its sources share: it costs as much as
there are sources and targets. Who needs single connections asks for those of a port, one after the
other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from planner.application import model
from planner.graph.intrinsics import Membership
from planner.numbering.records import OperatorKey, PoolRecord
from planner.numbering.splitters import PathStep

Port = tuple[int, int]
"""(operator, port index)."""


@dataclass(slots=True)
class Operator:
    """A physical operator. `stream_names` are physical names, by position of the output port."""

    index: int
    key: OperatorKey
    item: model.Primitive
    name: str
    logical_name: str
    prefix: str
    levels: tuple[Membership, ...]
    constraints: model.Constraints
    enclosing: tuple[model.Composite, ...]
    stream_names: tuple[str, ...]


class Edge(NamedTuple):
    """One connection between operators; `splitter` and `channel` are -1 outside of a splitter."""

    source: int
    output: int
    target: int
    input: int
    splitter: int
    channel: int


@dataclass(slots=True)
class Leg:
    """What is fed at one place of a fan: at its root (-1, -1) or by one channel of a splitter.

    `position`: of the splitter among those of the fan.
    """

    position: int
    channel: int
    targets: list[Port] = field(default_factory=list)
    splitters: list[Splitter] = field(default_factory=list)


@dataclass(slots=True)
class Splitter:
    """A distributing splitter of a fan. `path`: the way to it from the root of the fan."""

    position: int
    path: tuple[PathStep, ...]
    spec: model.SplitterSpec
    region: int
    drop_window_punctuation: bool
    channels: list[Leg]


class FanSource(NamedTuple):
    """An output port that leads to a fan, with its own ids of the fan's splitters, by position."""

    operator: int
    output: int
    ids: tuple[int, ...]

    def place(self, position: int, channel: int) -> tuple[int, int]:
        """Splitter and channel of a leg, as this port numbers them."""
        return (-1, -1) if position < 0 else (self.ids[position], channel)


@dataclass(slots=True, eq=False)
class Fan:
    """What lies behind a place where connections meet; each source feeds all of it.

    `legs`: those that feed operators; `splitters`: all, by position; `exports`: what is offered to
    other jobs, and on which leg; `targets_count`: the connections of each source.
    """

    root: Leg
    legs: list[Leg]
    splitters: list[Splitter]
    exports: list[tuple[Leg, StreamExport]]
    targets_count: int
    sources: list[FanSource] = field(default_factory=list)


@dataclass(slots=True)
class Outlet:
    """An output port of an operator with all that it feeds: directly, and through fans."""

    targets: list[Port] = field(default_factory=list)
    fans: list[tuple[Fan, FanSource]] = field(default_factory=list)

    @property
    def connections_count(self) -> int:
        """How many connections leave the port."""
        return len(self.targets) + sum(fan.targets_count for fan, _ in self.fans)


@dataclass(slots=True)
class Inlet:
    """An input port of an operator with all that feeds it: directly, and by legs of fans."""

    sources: list[Port] = field(default_factory=list)
    fans: list[tuple[Fan, Leg]] = field(default_factory=list)

    @property
    def connections_count(self) -> int:
        """How many connections reach the port."""
        return len(self.sources) + sum(len(fan.sources) for fan, _ in self.fans)


class Share(NamedTuple):
    """What a channel takes of a stream that is split among so many; keys only of a hash."""

    keys: tuple[str, ...]
    channel: int
    channels: int


@dataclass(frozen=True, slots=True)
class StreamImport:
    """An Import that reaches an input port; texts are substituted.

    `shares`: of each splitter between the two, outermost first.
    """

    operator: str
    item: model.Import
    application: str
    stream: str
    subscription: str
    shares: tuple[Share, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamExport:
    """An Export behind an output port; texts are substituted."""

    operator: str
    stream: str | None
    allow_filter: bool
    congestion_policy: str
    properties: tuple[model.ExportProperty, ...] | None


@dataclass(slots=True)
class Topology:
    """The whole application, physically. Operators by index, ascending."""

    operators: dict[int, Operator]
    outlets: dict[Port, Outlet]
    inlets: dict[Port, Inlet]
    imports: dict[Port, list[StreamImport]]
    exports: dict[tuple[int, int, int, int], list[StreamExport]]
    pools: dict[int, PoolRecord]

    @property
    def edges(self) -> Iterator[Edge]:
        """Every connection; there may be millions, which nobody should keep."""
        for port in self.outlets:
            yield from self.edges_from(port)

    @property
    def connections_count(self) -> int:
        """How many connections there are."""
        return sum(outlet.connections_count for outlet in self.outlets.values())

    def edges_from(self, port: Port) -> Iterator[Edge]:
        """The connections that leave an output port."""
        outlet = self.outlets.get(port)
        if outlet is None:
            return
        for target in outlet.targets:
            yield Edge(*port, *target, -1, -1)
        for fan, source in outlet.fans:
            for leg in fan.legs:
                place = source.place(leg.position, leg.channel)
                for target in leg.targets:
                    yield Edge(*port, *target, *place)

    def edges_into(self, port: Port) -> Iterator[Edge]:
        """The connections that reach an input port."""
        inlet = self.inlets.get(port)
        if inlet is None:
            return
        for source in inlet.sources:
            yield Edge(*source, *port, -1, -1)
        for fan, leg in inlet.fans:
            position, channel = leg.position, leg.channel
            for operator, output, ids in fan.sources:
                splitter = -1 if position < 0 else ids[position]
                yield Edge(operator, output, *port, splitter, channel)
