"""Expansion: from the logical tree to a graph in which every region is replicated.

1. build one vertex for each operator and composite, with the connections of the ADL;
2. depth first, inner regions before outer ones: put a splitter before each incoming and a merger
   behind each outgoing connection of the region's root (even for width 1), then copy the root
   `width - 1` times and connect each copy to its channel;
3. number the copies in the order in which they are made.

The order of copies and of connections is the original's: physical indices and splitter indices of a
fresh plan follow from it. The graph is private to topology.py, which flattens and drops it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NoReturn

from contracts.reasons import Reason
from services.fusion_backend.core.application import model
from services.fusion_backend.core.refusals import PlanRefused, shown

Kind = Literal["primitive", "import", "export", "composite", "splitter", "merger"]
_NAMED = (model.Composite, model.Primitive, model.Import, model.Export)


class Socket:
    """A port of a vertex with its connections, in order, at both sides."""

    __slots__ = ("incoming", "index", "outgoing", "side", "vertex")

    def __init__(self, vertex: Vertex, side: model.Side, index: int) -> None:
        """An unconnected port."""
        self.vertex = vertex
        self.side = side
        self.index = index
        self.incoming: list[Socket] = []
        self.outgoing: list[Socket] = []


class Vertex:
    """An operator, a composite, a splitter or a merger of the expanded graph."""

    __slots__ = (
        "channel", "composites", "inputs", "item", "kind", "members", "outputs", "parent",
        "physical", "pseudo", "region", "spec", "width",
    )  # fmt: skip

    def __init__(self, kind: Kind, item: object, parent: Vertex | None) -> None:
        """A vertex without ports and children."""
        self.kind = kind
        self.item = item
        self.parent = parent
        self.inputs: list[Socket] = []
        self.outputs: list[Socket] = []
        self.composites: list[Vertex] = []
        self.members: list[Vertex] = []
        self.pseudo: list[Vertex] = []
        self.region: model.Region | None = None
        self.width = 0
        self.channel = -1
        self.physical = -1
        self.spec: model.SplitterSpec | None = None

    def own_name(self) -> str:
        """The last segment of the logical name."""
        return self.item.own_name if isinstance(self.item, _NAMED) else ""

    def port(self, side: model.Side, index: int) -> Socket | None:
        """The port of that side and index."""
        sockets = self.inputs if side == "input" else self.outputs
        if index < len(sockets) and sockets[index].index == index:
            return sockets[index]
        return next((socket for socket in sockets if socket.index == index), None)


def expand(application: model.Application, widths: Mapping[int, int]) -> Vertex:
    """The main composite of the expanded graph. `widths` by region index."""
    graph = _Building(application)
    main = graph.build(application.main, None)
    graph.connect()
    expander = _Expansion(application.primitive_count)
    for region in application.regions:
        root = graph.vertices[region.root]
        root.region = region
        root.width = widths[region.index]
    if application.regions:
        expander.expand(main)
    return main


def primitives(vertex: Vertex) -> Iterator[Vertex]:
    """Every primitive, Import and Export below, in tree order."""
    yield from vertex.members
    for composite in vertex.composites:
        yield from primitives(composite)


def dissolve(vertex: Vertex) -> None:
    """Takes the graph below apart, so that nothing of it waits for a collector of cycles."""
    for inner in (*vertex.composites, *vertex.members, *vertex.pseudo):
        dissolve(inner)
    for socket in (*vertex.inputs, *vertex.outputs):
        socket.incoming = socket.outgoing = []
    vertex.inputs = vertex.outputs = []
    vertex.composites = vertex.members = vertex.pseudo = []


class _Building:
    """Step 1: vertices and the connections between them."""

    def __init__(self, application: model.Application) -> None:
        self.vertices: dict[int, Vertex] = {}
        self._application = application
        self._from_source: list[tuple[Socket, model.PortRef]] = []
        self._from_target: list[tuple[Socket, model.PortRef]] = []

    def build(self, composite: model.Composite, parent: Vertex | None) -> Vertex:
        vertex = Vertex("composite", composite, parent)
        self.vertices[composite.index] = vertex
        for side, ports, sockets in (
            ("input", composite.inputs, vertex.inputs),
            ("output", composite.outputs, vertex.outputs),
        ):
            for port in ports:
                socket = Socket(vertex, "input" if side == "input" else "output", port.index)
                sockets.append(socket)
                self._from_target += [(socket, ref) for ref in port.incoming]
                self._from_source += [(socket, ref) for ref in port.outgoing]
        vertex.composites = [self.build(inner, vertex) for inner in composite.composites]
        vertex.members = [self._member(member, vertex) for member in composite.members]
        return vertex

    def _member(self, member: model.Member, parent: Vertex) -> Vertex:
        match member:
            case model.Primitive():
                vertex = Vertex("primitive", member, parent)
                vertex.physical = member.index
                self._input_sockets(vertex, member.inputs)
                self._output_sockets(vertex, member.outputs)
            case model.Import():
                vertex = Vertex("import", member, parent)
                self._output_sockets(vertex, member.outputs)
            case model.Export():
                vertex = Vertex("export", member, parent)
                self._input_sockets(vertex, member.inputs)
        self.vertices[member.index] = vertex
        return vertex

    def _input_sockets(self, vertex: Vertex, ports: tuple[model.InputPort, ...]) -> None:
        for port in ports:
            socket = Socket(vertex, "input", port.index)
            vertex.inputs.append(socket)
            self._from_target += [(socket, ref) for ref in port.connections]

    def _output_sockets(self, vertex: Vertex, ports: tuple[model.OutputPort, ...]) -> None:
        for port in ports:
            socket = Socket(vertex, "output", port.index)
            vertex.outputs.append(socket)
            self._from_source += [(socket, ref) for ref in port.connections]

    def connect(self) -> None:
        """Each connection stands at both ends; one that stands at one end only counts as well."""
        leaving: list[tuple[Socket, Socket]] = []
        for source, ref in self._from_source:
            target = self._resolve(source, ref)
            _check_direction(source, target)
            source.outgoing.append(target)
            leaving.append((source, target))
        known, seen = set(leaving), set[tuple[Socket, Socket]]()
        for target, ref in self._from_target:
            source = self._resolve(target, ref)
            _check_direction(source, target)
            target.incoming.append(source)
            seen.add((source, target))
            if (source, target) not in known:
                source.outgoing.append(target)
        for source, target in leaving:
            if (source, target) not in seen:
                target.incoming.append(source)

    def _resolve(self, end: Socket, ref: model.PortRef) -> Socket:
        vertex = self.vertices.get(ref.operator)
        socket = None if vertex is None else vertex.port(ref.side, ref.port)
        if socket is None:
            _refuse_connection(
                end,
                f"leads to the {ref.side} port {ref.port} of {ref.operator}, which is not there",
            )
        return socket


def _check_direction(source: Socket, target: Socket) -> None:
    if source.vertex.kind != "composite" and source.side != "output":
        _refuse_connection(target, "comes from an input port of an operator")
    if target.vertex.kind != "composite" and target.side != "input":
        _refuse_connection(source, "leads to an output port of an operator")


def _refuse_connection(socket: Socket, what: str) -> NoReturn:
    name = path_of(socket.vertex) or "main composite"
    raise PlanRefused(
        Reason.ADL_INVALID,
        field="ADL connection",
        value=name,
        message=f"a connection of {socket.side} port {socket.index} of {shown(name)!r} {what}",
    )


def path_of(vertex: Vertex) -> str:
    """The logical dotted path from the main composite."""
    names: list[str] = []
    current: Vertex | None = vertex
    while current is not None:
        if name := current.own_name():
            names.append(name)
        current = current.parent
    return ".".join(reversed(names))


class _Expansion:
    """Steps 2 and 3."""

    def __init__(self, next_physical: int) -> None:
        self._next_physical = next_physical

    def expand(self, composite: Vertex) -> None:
        for member in tuple(composite.members):
            if member.region is not None:
                self._replicate(member, composite)
        for inner in tuple(composite.composites):
            self.expand(inner)
            if inner.region is not None:
                self._replicate(inner, composite)

    def _replicate(self, root: Vertex, parent: Vertex) -> None:
        assert root.region is not None
        root.channel = 0
        splitters = {
            port.index: [
                self._insert_splitter(root, parent, port, source) for source in tuple(port.incoming)
            ]
            for port in root.inputs
        }
        mergers = {
            port.index: [
                self._insert_merger(root, parent, port, target) for target in tuple(port.outgoing)
            ]
            for port in root.outputs
        }
        for channel in range(1, root.width):
            copy = self._copy(root, parent)
            copy.channel = channel
            (parent.composites if copy.kind == "composite" else parent.members).append(copy)
            for port in copy.inputs:
                for splitter in splitters[port.index]:
                    _join(splitter.outputs[channel], port)
            for port in copy.outputs:
                for merger in mergers[port.index]:
                    _join(port, merger.inputs[channel])

    def _insert_splitter(
        self, root: Vertex, parent: Vertex, port: Socket, source: Socket
    ) -> Vertex:
        assert root.region is not None
        splitter = Vertex("splitter", root.region, parent)
        splitter.spec = next(
            (spec for spec in root.region.splitters if spec.port == port.index),
            model.SplitterSpec("RoundRobin", port.index, ()),
        )
        splitter.inputs = [Socket(splitter, "input", 0)]
        splitter.outputs = [Socket(splitter, "output", i) for i in range(root.width)]
        parent.pseudo.append(splitter)
        source.outgoing[source.outgoing.index(port)] = splitter.inputs[0]
        splitter.inputs[0].incoming.append(source)
        port.incoming[port.incoming.index(source)] = splitter.outputs[0]
        splitter.outputs[0].outgoing.append(port)
        return splitter

    def _insert_merger(self, root: Vertex, parent: Vertex, port: Socket, target: Socket) -> Vertex:
        merger = Vertex("merger", root.region, parent)
        merger.inputs = [Socket(merger, "input", i) for i in range(root.width)]
        merger.outputs = [Socket(merger, "output", 0)]
        parent.pseudo.append(merger)
        port.outgoing[port.outgoing.index(target)] = merger.inputs[0]
        merger.inputs[0].incoming.append(port)
        target.incoming[target.incoming.index(port)] = merger.outputs[0]
        merger.outputs[0].outgoing.append(target)
        return merger

    def _copy(self, root: Vertex, parent: Vertex) -> Vertex:
        twins: dict[Socket, Socket] = {}
        copy = self._copy_tree(root, parent, twins)
        outer = {*root.inputs, *root.outputs}
        for socket, twin in twins.items():
            inward = socket not in outer or socket.side == "input"
            if inward:
                twin.outgoing = [twins[end] for end in socket.outgoing if end in twins]
            if socket not in outer or socket.side == "output":
                twin.incoming = [twins[end] for end in socket.incoming if end in twins]
        return copy

    def _copy_tree(self, vertex: Vertex, parent: Vertex, twins: dict[Socket, Socket]) -> Vertex:
        copy = Vertex(vertex.kind, vertex.item, parent)
        copy.region, copy.width = vertex.region, vertex.width
        copy.channel, copy.spec = vertex.channel, vertex.spec
        if vertex.kind == "primitive":
            copy.physical = self._next_physical
            self._next_physical += 1
        for sockets, copies in ((vertex.inputs, copy.inputs), (vertex.outputs, copy.outputs)):
            for socket in sockets:
                twin = Socket(copy, socket.side, socket.index)
                twins[socket] = twin
                copies.append(twin)
        copy.composites = [self._copy_tree(item, copy, twins) for item in vertex.composites]
        copy.members = [self._copy_tree(item, copy, twins) for item in vertex.members]
        copy.pseudo = [self._copy_tree(item, copy, twins) for item in vertex.pseudo]
        return copy


def _join(source: Socket, target: Socket) -> None:
    source.outgoing.append(target)
    target.incoming.append(source)
