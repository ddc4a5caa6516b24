"""The topology: physical operators, the connections between them, imports and exports.

expansion.py makes the graph; here it is flattened. Splitters that distribute stay, as records of
the output port before them; splitters that broadcast, mergers and composites vanish.

Identity is decided in one place, `Identities` (identity.py): the same operator or splitter has the
same number in every generation. Everything here is in terms of these numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from contracts.reasons import Reason
from services.fusion_backend.core import model
from services.fusion_backend.core.expansion import Socket, Vertex, expand, primitives
from services.fusion_backend.core.identity import Identities
from services.fusion_backend.core.intrinsics import Membership, memberships, substituted
from services.fusion_backend.core.records import OperatorKey, PathStep, PoolRecord, SplitterKey
from services.fusion_backend.core.refusals import PlanRefused

STEPS_PER_CONNECTION_MAX = 20
DEPTH_MAX = 100_000
NO_SPLITTER = (-1, -1)


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


@dataclass(slots=True)
class Edge:
    """One connection between operators; `splitter` and `channel` are -1 outside of a splitter."""

    source: int
    output: int
    target: int
    input: int
    splitter: int
    channel: int


@dataclass(slots=True)
class Channel:
    """What one channel of a splitter feeds."""

    edges: list[Edge] = field(default_factory=list)
    splitters: list[Splitter] = field(default_factory=list)


@dataclass(slots=True)
class Splitter:
    """A distributing splitter behind an output port."""

    id: int
    spec: model.SplitterSpec
    region: int
    drop_window_punctuation: bool
    channels: list[Channel]


@dataclass(slots=True)
class Outlet:
    """An output port of an operator with all that it feeds."""

    plain: list[Edge] = field(default_factory=list)
    splitters: list[Splitter] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StreamImport:
    """An Import that reaches an input port; texts are substituted."""

    operator: str
    item: model.Import
    application: str
    stream: str
    subscription: str


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
    edges: list[Edge]
    outlets: dict[tuple[int, int], Outlet]
    imports: dict[tuple[int, int], list[StreamImport]]
    exports: dict[tuple[int, int, int, int], list[StreamExport]]
    pools: dict[int, PoolRecord]


def build_topology(
    application: model.Application,
    widths: Mapping[int, int],
    identities: Identities,
    *,
    operators_max: int,
    connections_max: int,
) -> Topology:
    """The topology for these widths (by region index). Refuses PLAN_TOO_LARGE."""
    _check_size(application, widths, operators_max)
    main = expand(application, widths)
    members = list(primitives(main))
    vertices = [vertex for vertex in members if vertex.kind == "primitive"]
    vertices.sort(key=lambda vertex: vertex.physical)
    keys = {vertex: _key(vertex) for vertex in vertices}
    identities.number_operators([keys[vertex] for vertex in vertices])
    numbers = {vertex: identities.operators[keys[vertex]] for vertex in vertices}
    pools = _Pools(application, identities)
    found = {
        numbers[vertex]: _operator(vertex, keys[vertex], numbers[vertex], application, pools)
        for vertex in vertices
    }
    walk = _Walk(numbers, identities, connections_max)
    for vertex in vertices:
        walk.follow_operator(vertex)
    for vertex in members:
        if vertex.kind == "import":
            walk.follow_import(vertex)
    return Topology(
        operators={index: found[index] for index in sorted(found)},
        edges=walk.edges,
        outlets=walk.outlets,
        imports=walk.imports,
        exports=walk.exports,
        pools=pools.all,
    )


def _check_size(
    application: model.Application, widths: Mapping[int, int], operators_max: int
) -> None:
    """Counts before anything is copied: widths multiply, and they come from outside."""
    by_root = {region.root: widths[region.index] for region in application.regions}

    def count(composite: model.Composite) -> int:
        inside = sum(by_root.get(member.index, 1) for member in composite.members)
        inside += sum(map(count, composite.composites))
        return inside * by_root.get(composite.index, 1)

    operators = count(application.main)
    if operators > operators_max:
        shown = ", ".join(f"{region.name}={widths[region.index]}" for region in application.regions)
        raise PlanRefused(
            Reason.PLAN_TOO_LARGE,
            field="width",
            value=shown,
            message=(
                f"the widths {shown} make {operators} operators; at most {operators_max} "
                "are allowed"
            ),
        )


def _chain(vertex: Vertex) -> Iterator[Vertex]:
    """The vertex and its enclosing composites, innermost first, without main."""
    current: Vertex | None = vertex
    while current is not None and current.parent is not None:
        yield current
        current = current.parent


def _levels(vertex: Vertex) -> tuple[Membership, ...]:
    return memberships(
        (item.region.index, item.channel, item.width)
        for item in _chain(vertex)
        if item.region is not None
    )


def _key(vertex: Vertex) -> OperatorKey:
    assert isinstance(vertex.item, model.Primitive)
    channels = tuple(item.channel for item in _chain(vertex) if item.region is not None)
    return OperatorKey(vertex.item.index, channels)


def _names(vertex: Vertex) -> tuple[str, str]:
    """Logical and physical path: a segment that introduces a region gets its global channel."""
    levels = iter(_levels(vertex))
    logical: list[str] = []
    physical: list[str] = []
    for item in _chain(vertex):
        own = item.own_name()
        logical.append(own)
        physical.append(own if item.region is None else f"{own}[{next(levels).channel}]")
    return ".".join(reversed(logical)), ".".join(reversed(physical))


def _operator(
    vertex: Vertex, key: OperatorKey, index: int, application: model.Application, pools: _Pools
) -> Operator:
    item = vertex.item
    assert isinstance(item, model.Primitive)
    levels = _levels(vertex)
    logical, physical = _names(vertex)
    constraints = item.constraints
    if application.regions:  # the original leaves the text alone in applications without regions
        constraints = _substituted(constraints, levels)
    parent = vertex.parent
    prefix = _names(parent)[1] if parent is not None else ""
    return Operator(
        index=index,
        key=key,
        item=item,
        name=physical,
        logical_name=logical,
        prefix=f"{prefix}." if prefix else "",
        levels=levels,
        constraints=replace(constraints, pool=pools.of(constraints.pool, levels)),
        enclosing=tuple(_enclosing(vertex)),
        stream_names=tuple(_stream_name(vertex, port.stream_name) for port in item.outputs),
    )


def _enclosing(vertex: Vertex) -> Iterator[model.Composite]:
    current = vertex.parent
    while current is not None:
        assert isinstance(current.item, model.Composite)
        yield current.item
        current = current.parent


def _substituted(
    constraints: model.Constraints, levels: tuple[Membership, ...]
) -> model.Constraints:
    def each(ids: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(substituted(item, levels) for item in ids))

    host = constraints.host
    return replace(
        constraints,
        host=None if host is None else substituted(host, levels),
        host_colocations=each(constraints.host_colocations),
        host_exlocations=each(constraints.host_exlocations),
        colocations=each(constraints.colocations),
        exlocations=each(constraints.exlocations),
    )


def _stream_name(vertex: Vertex, stream: str) -> str:
    """Path of the composite that owns the stream, own name, local channels not yet in the path."""
    inner: list[int] = []
    current: Vertex | None = vertex
    while current is not None:
        if current.region is not None:
            inner.append(current.channel)
        current = current.parent
        if current is None or current.parent is None:
            break
        logical, physical = _names(current)
        if stream.startswith(f"{logical}."):
            own = stream[len(logical) + 1 :]
            return f"{physical}.{own}" + "".join(f"[{c}]" for c in reversed(inner))
    return stream + "".join(f"[{channel}]" for channel in reversed(inner))


class _Pools:
    """Host pools, with the replicas that `replicateHostTag` makes of them."""

    def __init__(self, application: model.Application, identities: Identities) -> None:
        self._identities = identities
        self._tags = {region.index: set(region.host_tags) for region in application.regions}
        self.all = {
            pool.index: PoolRecord(
                pool.index, pool.name, pool.size, pool.mode, pool.hosts, pool.tags
            )
            for pool in application.pools
        }
        identities.reserve_pools(self.all)

    def of(self, index: int | None, levels: tuple[Membership, ...]) -> int | None:
        """The pool for an operator: the declared one or its replica for the innermost region."""
        if index is None or not levels:
            return index
        pool = self.all[index]
        replicated = self._tags[levels[0].region] & set(pool.tags)
        if not replicated:
            return index
        suffix = "_" + "_".join(str(level.channel) for level in levels)
        name = f"{pool.name}_{levels[0].region}{suffix}"
        number = self._identities.number_pool(name)
        tags = tuple(tag + suffix if tag in replicated else tag for tag in pool.tags)
        self.all.setdefault(
            number, PoolRecord(number, name, pool.size, pool.mode, pool.hosts, tags)
        )
        return number


@dataclass(slots=True)
class _Context:
    """Where a walk stands: the splitter and channel that it passed last, and the way to them."""

    splitter: int
    channel: int
    path: tuple[PathStep, ...]
    edges: list[Edge]
    splitters: list[Splitter]
    ordinals: dict[tuple[int, int], int] = field(default_factory=dict)


class _Walk:
    """Follows every output port through composites, mergers and splitters to operators."""

    def __init__(
        self, numbers: Mapping[Vertex, int], identities: Identities, connections_max: int
    ) -> None:
        self._numbers = numbers
        self._identities = identities
        self._connections_max = connections_max
        self._steps_left = connections_max * STEPS_PER_CONNECTION_MAX
        self.edges: list[Edge] = []
        self.outlets: dict[tuple[int, int], Outlet] = {}
        self.imports: dict[tuple[int, int], list[StreamImport]] = {}
        self.exports: dict[tuple[int, int, int, int], list[StreamExport]] = {}

    def follow_operator(self, vertex: Vertex) -> None:
        source = self._numbers[vertex]
        for socket in vertex.outputs:
            outlet = Outlet()
            self.outlets[source, socket.index] = outlet
            start = _Context(*NO_SPLITTER, (), outlet.plain, outlet.splitters)
            for target, context in self._targets(socket, start, source):
                self._arrive(source, socket.index, target, context)

    def follow_import(self, vertex: Vertex) -> None:
        item = vertex.item
        assert isinstance(item, model.Import)
        levels = _levels(vertex)
        found = StreamImport(
            operator=_names(vertex)[1],
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
            raise _too_many(self._connections_max)
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
            raise _too_many(self._connections_max)
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


def _too_many(connections_max: int) -> PlanRefused:
    return PlanRefused(
        Reason.PLAN_TOO_LARGE,
        field="connections",
        value=connections_max,
        message=f"the widths make more than {connections_max} connections between operators",
    )


def _export(vertex: Vertex) -> StreamExport:
    item = vertex.item
    assert isinstance(item, model.Export)
    levels = _levels(vertex)
    return StreamExport(
        operator=_names(vertex)[1],
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
