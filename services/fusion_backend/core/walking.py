"""Following an output port through composites, mergers and splitters to operators.

Splitters that distribute become records of the output port; splitters that broadcast, mergers and
composites vanish. The walk is depth first and in the order of connections, because a fresh plan
numbers splitters in that order. It is bounded: connections multiply, and the ADL is untrusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from contracts.reasons import Reason
from services.fusion_backend.core import model
from services.fusion_backend.core.expansion import Socket, Vertex
from services.fusion_backend.core.identity import Identities
from services.fusion_backend.core.intrinsics import substituted
from services.fusion_backend.core.naming import levels_of, names_of
from services.fusion_backend.core.records import PathStep, SplitterKey
from services.fusion_backend.core.refusals import PlanRefused
from services.fusion_backend.core.submission import RegionWidths
from services.fusion_backend.core.topology import (
    Channel,
    Edge,
    Outlet,
    Splitter,
    StreamExport,
    StreamImport,
)

STEPS_PER_CONNECTION_MAX = 20
DEPTH_MAX = 100_000
NO_SPLITTER = (-1, -1)


@dataclass(slots=True)
class _Context:
    """Where a walk stands: the splitter and channel that it passed last, and the way to them."""

    splitter: int
    channel: int
    path: tuple[PathStep, ...]
    edges: list[Edge]
    splitters: list[Splitter]
    ordinals: dict[tuple[int, int], int] = field(default_factory=dict)


class Walk:
    """Follows every output port through composites, mergers and splitters to operators."""

    def __init__(
        self,
        numbers: Mapping[Vertex, int],
        identities: Identities,
        connections_max: int,
        widths: RegionWidths,
    ) -> None:
        """Nothing followed yet."""
        self._numbers = numbers
        self._identities = identities
        self._connections_max = connections_max
        self._widths = widths
        self._steps_left = connections_max * STEPS_PER_CONNECTION_MAX
        self.edges: list[Edge] = []
        self.outlets: dict[tuple[int, int], Outlet] = {}
        self.imports: dict[tuple[int, int], list[StreamImport]] = {}
        self.exports: dict[tuple[int, int, int, int], list[StreamExport]] = {}

    def follow_operator(self, vertex: Vertex) -> None:
        """Records what each output port of an operator reaches."""
        source = self._numbers[vertex]
        for socket in vertex.outputs:
            outlet = Outlet()
            self.outlets[source, socket.index] = outlet
            start = _Context(*NO_SPLITTER, (), outlet.plain, outlet.splitters)
            for target, context in self._targets(socket, start, source):
                self._arrive(source, socket.index, target, context)

    def follow_import(self, vertex: Vertex) -> None:
        """Records an Import at each operator port that it reaches."""
        item = vertex.item
        assert isinstance(item, model.Import)
        levels = levels_of(vertex)
        found = StreamImport(
            operator=names_of(vertex)[1],
            item=item,
            application=substituted(item.application or "", levels),
            stream=substituted(item.stream or "", levels),
            subscription=substituted(item.subscription or "", levels),
        )
        for socket in vertex.outputs:
            for target, _ in self._targets(socket, _Context(*NO_SPLITTER, (), [], []), None):
                if target.vertex.kind != "primitive":
                    continue  # an Import that feeds an Export moves nothing in this job
                key = (self._numbers[target.vertex], target.index)
                reached = self.imports.setdefault(key, [])
                if found not in reached:
                    reached.append(found)

    def _arrive(self, source: int, output: int, target: Socket, context: _Context) -> None:
        if target.vertex.kind == "export":
            key = (source, output, context.splitter, context.channel)
            self.exports.setdefault(key, []).append(_export(target.vertex))
            return
        if len(self.edges) >= self._connections_max:
            raise self._too_many()
        number = self._numbers[target.vertex]
        edge = Edge(source, output, number, target.index, context.splitter, context.channel)
        self.edges.append(edge)
        context.edges.append(edge)

    def _targets(
        self, start: Socket, context: _Context, source: int | None
    ) -> Iterator[tuple[Socket, _Context]]:
        """Depth first, in order: every operator port or Export that the port reaches."""
        stack = [(iter(start.outgoing), context)]
        while stack:
            sockets, context = stack[-1]
            target = next(sockets, None)
            if target is None:
                stack.pop()
                continue
            self._step(len(stack))
            kind = target.vertex.kind
            if kind in ("primitive", "export"):
                yield target, context
            elif kind == "composite":
                stack.append((iter(target.outgoing), context))
            elif kind == "merger":
                stack.append((iter(target.vertex.outputs[0].outgoing), context))
            else:
                contexts = self._split(target.vertex, start, context, source)
                outputs = zip(target.vertex.outputs, contexts, strict=True)
                stack += [(iter(out.outgoing), inner) for out, inner in reversed(list(outputs))]

    def _step(self, depth: int) -> None:
        self._steps_left -= 1
        if self._steps_left < 0:
            raise self._too_many()
        if depth > DEPTH_MAX:
            raise PlanRefused(
                Reason.ADL_INVALID,
                field="ADL connection",
                value="",
                message="connections of the ADL run in a circle without an operator in it",
            )

    def _split(
        self, vertex: Vertex, start: Socket, context: _Context, source: int | None
    ) -> list[_Context]:
        spec, region = vertex.spec, vertex.item
        assert spec is not None
        assert isinstance(region, model.Region)
        if spec.kind == "Broadcast":
            return [context] * len(vertex.outputs)
        level = (region.index, spec.port)
        ordinal = context.ordinals.get(level, 0)
        context.ordinals[level] = ordinal + 1
        path = (*context.path, (*level, ordinal, -1))
        number = -1
        if source is not None:
            number = self._identities.number_splitter(SplitterKey(source, start.index, path))
        splitter = Splitter(
            id=number,
            spec=spec,
            region=region.index,
            drop_window_punctuation=vertex.inputs[0].incoming[0].vertex.kind == "merger",
            channels=[Channel() for _ in vertex.outputs],
        )
        context.splitters.append(splitter)
        return [
            _Context(
                splitter=number,
                channel=index,
                path=(*context.path, (*level, ordinal, index)),
                edges=channel.edges,
                splitters=channel.splitters,
            )
            for index, channel in enumerate(splitter.channels)
        ]

    def _too_many(self) -> PlanRefused:
        widths = f" ({self._widths.told})" if self._widths.asked else ""
        return PlanRefused(
            Reason.PLAN_TOO_LARGE,
            field=self._widths.widest_field,
            value=f"more than {self._connections_max} connections",
            message=(
                f"the widths{widths} make more than {self._connections_max} connections between "
                "operators"
            ),
        )


def _export(vertex: Vertex) -> StreamExport:
    item = vertex.item
    assert isinstance(item, model.Export)
    levels = levels_of(vertex)
    return StreamExport(
        operator=names_of(vertex)[1],
        stream=None if item.stream is None else substituted(item.stream, levels),
        allow_filter=item.allow_filter,
        congestion_policy=item.congestion_policy,
        properties=None
        if item.properties is None
        else tuple(
            replace(each, values=tuple(substituted(value, levels) for value in each.values))
            for each in item.properties
        ),
    )
