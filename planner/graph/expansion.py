"""Expansion: from the logical tree to a graph in which every region is replicated.

1. build one vertex for each operator and composite, with the connections of the ADL;
2. depth first, inner regions before outer ones: put a splitter before each incoming and a merger
   behind each outgoing connection of the region's root (even for width 1), then copy the root
   `width - 1` times and connect each copy to its channel;
3. number the copies in the order in which they are made.

The order of copies and of connections is the original's: physical indices and splitter indices of a
fresh plan follow from it. The graph is private to flattening.py, which flattens and drops it.

It is the largest that a plan ever holds, and what it took stays in pieces between what is kept. So
copies hold no more than walking.py asks for: tuples, and who feeds a port only where a splitter is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NoReturn

from contracts.reasons import Reason
from planner.application import model
from planner.refusals import PlanRefused, shown

Kind = Literal["primitive", "import", "export", "composite", "splitter", "merger"]
_NAMED = (model.Composite, model.Primitive, model.Import, model.Export)


class Socket:
    """A port of a vertex with its connections, in order, at both sides.

    Copies know who feeds them for splitters only: nothing else asks.
    """

    __slots__ = ("incoming", "index", "outgoing", "side", "vertex")

    def __init__(self, vertex: Vertex, side: model.Side, index: int) -> None:
        """An unconnected port."""
        self.vertex = vertex
        self.side = side
        self.index = index
        self.incoming: tuple[Socket, ...] = ()
        self.outgoing: tuple[Socket, ...] = ()


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
        self.inputs: tuple[Socket, ...] = ()
        self.outputs: tuple[Socket, ...] = ()
        self.composites: tuple[Vertex, ...] = ()
        self.members: tuple[Vertex, ...] = ()
        self.pseudo: tuple[Vertex, ...] = ()
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
        socket.incoming = socket.outgoing = ()
    vertex.inputs = vertex.outputs = ()
    vertex.composites = vertex.members = vertex.pseudo = ()


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
        vertex.inputs = self._composite_sockets(vertex, "input", composite.inputs)
        vertex.outputs = self._composite_sockets(vertex, "output", composite.outputs)
        vertex.composites = tuple([self.build(inner, vertex) for inner in composite.composites])
        vertex.members = tuple([self._member(member, vertex) for member in composite.members])
        return vertex

    def _composite_sockets(
        self, vertex: Vertex, side: model.Side, ports: tuple[model.CompositePort, ...]
    ) -> tuple[Socket, ...]:
        sockets = tuple([Socket(vertex, side, port.index) for port in ports])
        for socket, port in zip(sockets, ports, strict=True):
            self._from_target += [(socket, ref) for ref in port.incoming]
            self._from_source += [(socket, ref) for ref in port.outgoing]
        return sockets

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
        vertex.inputs = tuple([Socket(vertex, "input", port.index) for port in ports])
        for socket, port in zip(vertex.inputs, ports, strict=True):
            self._from_target += [(socket, ref) for ref in port.connections]

    def _output_sockets(self, vertex: Vertex, ports: tuple[model.OutputPort, ...]) -> None:
        vertex.outputs = tuple([Socket(vertex, "output", port.index) for port in ports])
        for socket, port in zip(vertex.outputs, ports, strict=True):
            self._from_source += [(socket, ref) for ref in port.connections]

    def connect(self) -> None:
        """Each connection stands at both ends; one that stands at one end only counts as well."""
        leaving: list[tuple[Socket, Socket]] = []
        outgoing: dict[Socket, list[Socket]] = {}
        incoming: dict[Socket, list[Socket]] = {}
        for source, ref in self._from_source:
            target = self._resolve(source, ref)
            _check_direction(source, target)
            outgoing.setdefault(source, []).append(target)
            leaving.append((source, target))
        known, seen = set(leaving), set[tuple[Socket, Socket]]()
        for target, ref in self._from_target:
            source = self._resolve(target, ref)
            _check_direction(source, target)
            incoming.setdefault(target, []).append(source)
            seen.add((source, target))
            if (source, target) not in known:
                outgoing.setdefault(source, []).append(target)
        for source, target in leaving:
            if (source, target) not in seen:
                incoming.setdefault(target, []).append(source)
        for socket, ends in outgoing.items():
            socket.outgoing = tuple(ends)
        for socket, ends in incoming.items():
            socket.incoming = tuple(ends)

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
        members, composites = list(composite.members), list(composite.composites)
        pseudo: list[Vertex] = []
        for member in composite.members:
            if member.region is not None:
                members += self._replicate(member, composite, pseudo)
        for inner in composite.composites:
            self.expand(inner)
            if inner.region is not None:
                composites += self._replicate(inner, composite, pseudo)
        composite.members, composite.composites = tuple(members), tuple(composites)
        composite.pseudo = tuple(pseudo)

    def _replicate(self, root: Vertex, parent: Vertex, pseudo: list[Vertex]) -> list[Vertex]:
        """The copies of a root; its splitters and mergers go to `pseudo`."""
        assert root.region is not None
        root.channel = 0
        splitters = {
            port.index: [self._splitter(root, parent, port, source) for source in port.incoming]
            for port in root.inputs
        }
        mergers = {
            port.index: [self._merger(root, parent, port, target) for target in port.outgoing]
            for port in root.outputs
        }
        for inserted in (*splitters.values(), *mergers.values()):
            pseudo += inserted
        copies = [self._copy(root, parent) for _ in range(1, root.width)]
        for channel, copy in enumerate((root, *copies)):
            copy.channel = channel
            for port in copy.inputs:
                for splitter in splitters[port.index]:
                    splitter.outputs[channel].outgoing = (port,)
            for port in copy.outputs:
                port.outgoing = tuple([each.inputs[channel] for each in mergers[port.index]])
        return copies

    def _splitter(self, root: Vertex, parent: Vertex, port: Socket, source: Socket) -> Vertex:
        """A splitter between a root and what feeds it."""
        assert root.region is not None
        splitter = Vertex("splitter", root.region, parent)
        splitter.spec = next(
            (spec for spec in root.region.splitters if spec.port == port.index),
            model.SplitterSpec("RoundRobin", port.index, ()),
        )
        splitter.inputs = (Socket(splitter, "input", 0),)
        splitter.outputs = tuple([Socket(splitter, "output", i) for i in range(root.width)])
        source.outgoing = _replaced(source.outgoing, port, splitter.inputs[0])
        splitter.inputs[0].incoming = (source,)
        return splitter

    def _merger(self, root: Vertex, parent: Vertex, port: Socket, target: Socket) -> Vertex:
        """A merger between a root and what it feeds."""
        merger = Vertex("merger", root.region, parent)
        merger.inputs = tuple([Socket(merger, "input", i) for i in range(root.width)])
        merger.outputs = (Socket(merger, "output", 0),)
        target.incoming = _replaced(target.incoming, port, merger.outputs[0])
        merger.outputs[0].outgoing = (target,)
        return merger

    def _copy(self, root: Vertex, parent: Vertex) -> Vertex:
        twins: dict[Socket, Socket] = {}
        copy = self._copy_tree(root, parent, twins)
        for socket, twin in twins.items():
            is_inward = socket.vertex is not root or socket.side == "input"
            if is_inward and socket.outgoing:
                twin.outgoing = tuple([twins[end] for end in socket.outgoing if end in twins])
            if socket.incoming and socket.vertex.kind == "splitter":
                twin.incoming = tuple([twins[end] for end in socket.incoming if end in twins])
        return copy

    def _copy_tree(self, vertex: Vertex, parent: Vertex, twins: dict[Socket, Socket]) -> Vertex:
        copy = Vertex(vertex.kind, vertex.item, parent)
        copy.region, copy.width = vertex.region, vertex.width
        copy.channel, copy.spec = vertex.channel, vertex.spec
        if vertex.kind == "primitive":
            copy.physical = self._next_physical
            self._next_physical += 1
        copy.inputs = _copied(vertex.inputs, copy, twins)
        copy.outputs = _copied(vertex.outputs, copy, twins)
        copy.composites = tuple([self._copy_tree(each, copy, twins) for each in vertex.composites])
        copy.members = tuple([self._copy_tree(each, copy, twins) for each in vertex.members])
        copy.pseudo = tuple([self._copy_tree(each, copy, twins) for each in vertex.pseudo])
        return copy


def _copied(
    sockets: tuple[Socket, ...], copy: Vertex, twins: dict[Socket, Socket]
) -> tuple[Socket, ...]:
    for socket in sockets:
        twins[socket] = Socket(copy, socket.side, socket.index)
    return tuple([twins[socket] for socket in sockets])


def _replaced(ends: tuple[Socket, ...], old: Socket, new: Socket) -> tuple[Socket, ...]:
    """The ends with the first that is the old one replaced."""
    at = ends.index(old)
    return (*ends[:at], new, *ends[at + 1 :])
