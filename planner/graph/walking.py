"""Following an output port through composites, mergers and splitters to operators.

1. A port is followed to where it ends: at operators, and at places where connections meet.
2. What lies behind such a place is explored once, into a `Fan` that all ports share which lead
   there. Inside of it splitters that distribute become records; splitters that broadcast, mergers
   and composites vanish. This is depth first and in the order of connections, because a fresh plan
   numbers splitters in that order.
3. Each port numbers the splitters of its fans for itself.

All of it is bounded: connections multiply, and the ADL is untrusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import repeat

from contracts.reasons import Reason
from planner.application import model
from planner.application.submission import RegionWidths
from planner.graph.expansion import Socket, Vertex
from planner.graph.intrinsics import substituted
from planner.graph.naming import Naming, VertexPath
from planner.graph.topology import (
    Fan,
    FanSource,
    Inlet,
    Leg,
    Outlet,
    Port,
    Share,
    Splitter,
    StreamExport,
    StreamImport,
)
from planner.numbering.identity import Identities
from planner.numbering.splitters import PathStep, SplitterKey
from planner.refusals import PlanRefused

STEPS_PER_CONNECTION_MAX = 10
DEPTH_MAX = 100_000

Level = tuple[int, int]
"""(region, input port) of a splitter."""


@dataclass(slots=True)
class _Context:
    """Where an exploration stands: the leg that it is on, and the way to it."""

    leg: Leg
    path: tuple[PathStep, ...]
    ordinals: dict[Level, int] = field(default_factory=dict)


class Walk:
    """Follows every output port to operators."""

    def __init__(
        self,
        numbers: Mapping[Vertex, int],
        identities: Identities,
        naming: Naming,
        connections_max: int,
        widths: RegionWidths,
    ) -> None:
        """Nothing followed yet."""
        self._numbers = numbers
        self._identities = identities
        self._naming = naming
        self._connections_max = connections_max
        self._widths = widths
        self._connections_left = connections_max
        self._steps_left = connections_max * STEPS_PER_CONNECTION_MAX
        self._fans: dict[Socket, Fan] = {}
        self.outlets: dict[Port, Outlet] = {}
        self.inlets: dict[Port, Inlet] = {}
        self.imports: dict[Port, list[StreamImport]] = {}
        self.exports: dict[tuple[int, int, int, int], list[StreamExport]] = {}

    def follow_operator(self, vertex: Vertex) -> None:
        """Records what each output port of an operator reaches."""
        for socket in vertex.outputs:
            port = (self._numbers[vertex], socket.index)
            self.outlets[port] = self._outlet(port, socket)

    def follow_import(self, vertex: Vertex) -> None:
        """Records an Import at each operator port that it reaches."""
        found = self._import(vertex)
        for socket in vertex.outputs:
            for port, shares in self._reached(socket):
                arriving = replace(found, shares=shares)
                known = self.imports.setdefault(port, [])
                if arriving not in known:
                    known.append(arriving)

    def _reached(self, socket: Socket) -> Iterator[tuple[Port, tuple[Share, ...]]]:
        for end in self._ends(socket):
            kind = end.vertex.kind
            if kind == "primitive":
                yield self._port(end), ()
            elif kind != "export":  # an Import that feeds an Export moves nothing in this job
                fan = self._fan(end)
                for leg in fan.legs:
                    shares = _shares(fan, leg)
                    yield from ((target, shares) for target in leg.targets)

    # ------------------------------------------------------------------ one port

    def _outlet(self, port: Port, socket: Socket) -> Outlet:
        outlet = Outlet()
        ordinals: dict[Level, int] = {}
        for end in self._ends(socket):
            kind = end.vertex.kind
            if kind == "primitive":
                self._count(1)
                target = self._port(end)
                outlet.targets.append(target)
                self._inlet(target).sources.append(port)
            elif kind == "export":
                self.exports.setdefault((*port, -1, -1), []).append(self._export(end.vertex))
            else:
                fan = self._fan(end)
                self._count(fan.targets_count + len(fan.splitters))
                source = FanSource(*port, self._splitter_ids(port, fan, ordinals))
                fan.sources.append(source)
                outlet.fans.append((fan, source))
                for leg, export in fan.exports:
                    place = source.place(leg.position, leg.channel)
                    self.exports.setdefault((*port, *place), []).append(export)
        return outlet

    def _ends(self, socket: Socket) -> Iterator[Socket]:
        """Operator ports, Exports, and places where connections meet, in order.

        Where a composite or a merger leads on in one way only, it is passed.
        """
        for first in socket.outgoing:
            end, depth = first, 0
            while end.vertex.kind in ("composite", "merger") and len(onward := _onward(end)) == 1:
                self._step(in_a_circle=(depth := depth + 1) > DEPTH_MAX)
                (end,) = onward
            yield end

    def _splitter_ids(self, port: Port, fan: Fan, ordinals: dict[Level, int]) -> tuple[int, ...]:
        """This port's ids of the splitters of a fan; `ordinals` counts those of the fans before."""
        ids: list[int] = []
        before = dict(ordinals)
        for splitter in fan.splitters:
            (region, at, ordinal, channel), *rest = splitter.path
            if not rest:
                ordinals[region, at] = ordinals.get((region, at), 0) + 1
            first = (region, at, ordinal + before.get((region, at), 0), channel)
            ids.append(self._identities.number_splitter(SplitterKey(*port, (first, *rest))))
        return tuple(ids)

    def _port(self, socket: Socket) -> Port:
        return self._numbers[socket.vertex], socket.index

    def _inlet(self, port: Port) -> Inlet:
        inlet = self.inlets.get(port)
        if inlet is None:
            inlet = self.inlets[port] = Inlet()
        return inlet

    # ------------------------------------------------------------------ one fan

    def _fan(self, meeting: Socket) -> Fan:
        fan = self._fans.get(meeting)
        if fan is None:
            fan = self._fans[meeting] = self._explored(meeting)
            for leg in fan.legs:
                for target in leg.targets:
                    self._inlet(target).fans.append((fan, leg))
        return fan

    def _explored(self, meeting: Socket) -> Fan:
        """Depth first, in order: every operator port, splitter and Export behind the place."""
        root = Leg(-1, -1)
        fan = Fan(root, [], [], [], 0)
        stack: list[Iterator[tuple[Socket, _Context]]] = [iter([(meeting, _Context(root, ()))])]
        way: list[Socket] = []  # what led to each level of the stack but the first
        passed: set[Socket] = set()
        legs = {id(root): root}
        while stack:
            target, context = next(stack[-1], (None, None))
            if target is None or context is None:
                stack.pop()
                passed -= {way.pop()} if way else set()
                continue
            self._step(in_a_circle=target in passed)
            kind = target.vertex.kind
            if kind == "primitive":
                context.leg.targets.append(self._port(target))
                legs[id(context.leg)] = context.leg
                fan.targets_count += 1
            elif kind == "export":
                fan.exports.append((context.leg, self._export(target.vertex)))
            else:
                way.append(target)
                passed.add(target)
                if kind == "splitter":
                    contexts = self._split(target.vertex, fan, context)
                    outs = zip(target.vertex.outputs, contexts, strict=True)
                    stack.append((end, inner) for out, inner in outs for end in out.outgoing)
                else:
                    stack.append(zip(_onward(target), repeat(context)))
        fan.legs = [leg for leg in legs.values() if leg.targets]
        return fan

    def _split(self, vertex: Vertex, fan: Fan, context: _Context) -> list[_Context]:
        spec, region = vertex.spec, vertex.item
        assert spec is not None
        assert isinstance(region, model.Region)
        if spec.kind == "Broadcast":
            return [context] * len(vertex.outputs)
        level = (region.index, spec.port)
        ordinal = context.ordinals.get(level, 0)
        context.ordinals[level] = ordinal + 1
        splitter = Splitter(
            position=len(fan.splitters),
            path=(*context.path, (*level, ordinal, -1)),
            spec=spec,
            region=region.index,
            drop_window_punctuation=vertex.inputs[0].incoming[0].vertex.kind == "merger",
            channels=[Leg(len(fan.splitters), channel) for channel in range(len(vertex.outputs))],
        )
        fan.splitters.append(splitter)
        context.leg.splitters.append(splitter)
        return [
            _Context(leg, (*context.path, (*level, ordinal, leg.channel)))
            for leg in splitter.channels
        ]

    # ------------------------------------------------------------------ limits

    def _step(self, *, in_a_circle: bool) -> None:
        self._steps_left -= 1
        if self._steps_left < 0:
            raise self._too_many()
        if in_a_circle:
            raise PlanRefused(
                Reason.ADL_INVALID,
                field="ADL connection",
                value="",
                message="connections of the ADL run in a circle without an operator in it",
            )

    def _count(self, connections: int) -> None:
        self._connections_left -= connections
        if self._connections_left < 0:
            raise self._too_many()

    def _too_many(self) -> PlanRefused:
        widths = f" ({self._widths.sources})" if self._widths.requests else ""
        return PlanRefused(
            Reason.PLAN_TOO_LARGE,
            field=self._widths.widest_field,
            value=f"more than {self._connections_max} connections",
            message=(
                f"the widths{widths} make more than {self._connections_max} connections between "
                "operators"
            ),
        )

    # ------------------------------------------------------------------ imports and exports

    def _import(self, vertex: Vertex) -> StreamImport:
        item, place = vertex.item, self._naming.place_of(vertex)
        assert isinstance(item, model.Import)
        return StreamImport(
            operator=place.physical,
            item=item,
            application=item.application or "",
            stream=self._substituted(item.stream or "", place),
            subscription=self._substituted(item.subscription or "", place),
        )

    def _export(self, vertex: Vertex) -> StreamExport:
        item, place = vertex.item, self._naming.place_of(vertex)
        assert isinstance(item, model.Export)
        return StreamExport(
            operator=place.physical,
            stream=None if item.stream is None else self._substituted(item.stream, place),
            allow_filter=item.allow_filter,
            congestion_policy=item.congestion_policy,
            properties=None
            if item.properties is None
            else tuple(
                replace(
                    each, values=tuple(self._substituted(value, place) for value in each.values)
                )
                for each in item.properties
            ),
        )

    def _substituted(self, text: str, place: VertexPath) -> str:
        """The text with its intrinsics replaced; without regions the original leaves them alone."""
        return substituted(text, place.levels) if self._widths.by_region else text


def _shares(fan: Fan, leg: Leg) -> tuple[Share, ...]:
    """What a leg takes of the stream at the root of its fan."""
    if leg.position < 0:
        return ()
    by_path = {splitter.path: splitter for splitter in fan.splitters}
    *outer, (region, at, ordinal, _) = fan.splitters[leg.position].path
    way = (*outer, (region, at, ordinal, leg.channel))
    found: list[Share] = []
    for depth, (region, at, ordinal, channel) in enumerate(way):
        splitter = by_path[(*way[:depth], (region, at, ordinal, -1))]
        found.append(Share(splitter.spec.attributes, channel, len(splitter.channels)))
    return tuple(found)


def _onward(socket: Socket) -> tuple[Socket, ...]:
    """Where a port of a composite or a merger leads."""
    if socket.vertex.kind == "merger":
        return socket.vertex.outputs[0].outgoing
    return socket.outgoing
