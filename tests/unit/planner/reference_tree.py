"""An expansion that anybody can check by eye: the pseudo code of the specification, word by word.

It reads an ADL by itself, shares nothing with the planner and copies every object. What it makes is
walked along by reference.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lxml import etree

V = "{http://www.ibm.com/xmlns/prod/streams/application/v4200}"
KINDS = {
    f"{V}compositeOperInstance": "composite",
    f"{V}primitiveOperInstance": "primitive",
    f"{V}primitiveImportOperInstance": "import",
    f"{V}primitiveExportOperInstance": "export",
}


@dataclass(eq=False)
class Port:
    """Where connections end, in order; a port of a composite has both sides."""

    node: Node
    side: str
    index: int
    incoming: list[Port] = field(default_factory=list)
    outgoing: list[Port] = field(default_factory=list)


@dataclass(eq=False)
class Node:
    """An operator of any type."""

    kind: str
    name: str
    index: int
    parent: Node | None
    logical: int = -1
    phys: int = -1
    region: Region | None = None
    channel: int = -1
    inputs: list[Port] = field(default_factory=list)
    outputs: list[Port] = field(default_factory=list)
    prims: list[Node] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)
    pseudo: list[Node] = field(default_factory=list)
    streams: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    splitter: tuple[str, int, tuple[str, ...]] = ("", -1, ())


@dataclass(frozen=True)
class Region:
    """A parallel region and its width; `kinds` of splitters by input port."""

    index: int
    name: str
    width: int
    kinds: Mapping[int, tuple[str, tuple[str, ...]]]


def expanded(adl: str, widths: Mapping[str, int] | None = None) -> Node:
    """The main composite with every region replicated; `widths` win over those of the ADL."""
    main = _Reading(adl, widths or {}).main
    _Expansion(main).expand(main)
    return main


def refused(adl: str) -> bool:
    """Whether an Import or Export is directly connected to the root of a region beside it."""
    main = _Reading(adl, {}).main
    for node in below(main):
        if node.kind in ("import", "export"):
            for port in (*node.inputs, *node.outputs):
                for end in (*port.incoming, *port.outgoing):
                    if end.node.region is not None and end.node.parent is node.parent:
                        return True
    return False


def below(node: Node) -> Iterator[Node]:
    """Every operator and composite in it."""
    yield from node.prims
    for child in node.children:
        yield child
        yield from below(child)


# --------------------------------------------------------------------------- reading


class _Reading:
    """The logical model of an ADL whose connections stand at both ends."""

    def __init__(self, adl: str, widths: Mapping[str, int]) -> None:
        root = etree.fromstring(adl.encode())
        self._nodes: dict[int, Node] = {}
        self._ends: list[tuple[Port, etree._Element, str]] = []
        (top,) = root.iter(f"{V}compositeOperInstances")
        self.main = self._node(top[0], None)
        for port, end, side in self._ends:
            other = self._nodes[int(end.get("operIndex", ""))]
            ports = other.inputs if end.get("portKind") == "input" else other.outputs
            (found,) = [each for each in ports if each.index == int(end.get("portIndex", ""))]
            (port.incoming if side == "in" else port.outgoing).append(found)
        for item in root.iter(f"{V}parallelRegion"):
            region = self._region(item, widths)
            self._nodes[int(item[0].get("operIndex", ""))].region = region

    def _node(self, item: etree._Element, parent: Node | None) -> Node:
        kind = KINDS[str(item.tag)]
        name = str(item.get("name")).rpartition(".")[2] if parent is not None else ""
        index = int(item.get("index", ""))
        node = Node(kind, name, index, parent, logical=index, phys=index)
        self._nodes[index] = node
        for side, ports in (("input", node.inputs), ("output", node.outputs)):
            for each in item.iterfind(f"{V}{side}Ports/{V}port"):
                port = Port(node, side, int(each.get("index", "")))
                ports.append(port)
                if "streamName" in each.attrib:
                    node.streams.append(str(each.get("streamName")))
                self._note(port, each, "in" if side == "input" else "out")
        node.ids = [str(each.get("colocId")) for each in item.iterfind(f"{V}partitions/*")]
        for each in item:
            if str(each.tag) in KINDS:
                inner = self._node(each, node)
                (node.children if inner.kind == "composite" else node.prims).append(inner)
        return node

    def _note(self, port: Port, item: etree._Element, side: str) -> None:
        for holder, way in (
            ("connections", side),
            ("incomingConnections", "in"),
            ("outgoingConnections", "out"),
        ):
            for end in item.iterfind(f"{V}{holder}/{V}connection"):
                self._ends.append((port, end, way))

    def _region(self, item: etree._Element, widths: Mapping[str, int]) -> Region:
        name = str(item.get("name"))
        kinds = {
            int(each.get("iportIndex", "")): (
                str(each.get("kind")),
                tuple(str(key.get("name")) for key in each.iter(f"{V}attribute")),
            )
            for each in item.iter(f"{V}splitter")
        }
        constant = int(str(item.findtext(f"{V}parallelWidth/{V}constantWidth")))
        return Region(int(item.get("index", "")), name, widths.get(name, constant), kinds)


# --------------------------------------------------------------------------- expansion


class _Expansion:
    """expand, replicate, insert_splitters_mergers and deep_copy."""

    def __init__(self, main: Node) -> None:
        nodes = [main, *below(main)]
        self._index = len(nodes)
        self._prims = sum(1 for node in nodes if node.kind == "primitive")

    def expand(self, composite: Node) -> None:
        for prim in list(composite.prims):
            if prim.region:
                self._replicate(prim, composite)
        for child in list(composite.children):
            self.expand(child)
            if child.region:
                self._replicate(child, composite)

    def _replicate(self, root: Node, composite: Node) -> None:
        assert root.region
        width = root.region.width
        root.channel = 0
        splitters, mergers = self._insert(root, composite, width)
        for channel in range(1, width):
            copies: dict[int, Node] = {}
            copy = self._deep_copy(root, composite, copies)
            self._retarget(copies, root)
            copy.channel = channel
            (composite.children if copy.kind == "composite" else composite.prims).append(copy)
            for port, inserted in zip(copy.inputs, splitters, strict=True):
                for splitter in inserted:
                    _connect(splitter.outputs[channel], port)
            for port, inserted in zip(copy.outputs, mergers, strict=True):
                for merger in inserted:
                    _connect(port, merger.inputs[channel])

    def _insert(
        self, root: Node, composite: Node, width: int
    ) -> tuple[list[list[Node]], list[list[Node]]]:
        assert root.region
        splitters: list[list[Node]] = []
        mergers: list[list[Node]] = []
        for port in root.inputs:
            splitters.append([])
            for source in list(port.incoming):
                kind, keys = root.region.kinds.get(port.index, ("RoundRobin", ()))
                node = self._new("splitter", composite, inputs=1, outputs=width)
                node.region, node.splitter = root.region, (kind, port.index, keys)
                _put_between(source, node.inputs[0], node.outputs[0], port)
                splitters[-1].append(node)
        for port in root.outputs:
            mergers.append([])
            for target in list(port.outgoing):
                node = self._new("merger", composite, inputs=width, outputs=1)
                _put_between(port, node.inputs[0], node.outputs[0], target)
                mergers[-1].append(node)
        return splitters, mergers

    def _new(self, kind: str, composite: Node, *, inputs: int, outputs: int) -> Node:
        node = Node(kind, "", self._index, composite)
        self._index += 1
        node.inputs = [Port(node, "input", number) for number in range(inputs)]
        node.outputs = [Port(node, "output", number) for number in range(outputs)]
        composite.pseudo.append(node)
        return node

    def _deep_copy(self, node: Node, parent: Node, copies: dict[int, Node]) -> Node:
        copy = Node(node.kind, node.name, self._index, parent, logical=node.logical)
        self._index += 1
        if node.kind == "primitive":
            copy.phys = self._prims
            self._prims += 1
        copies[node.index] = copy
        copy.region, copy.channel = node.region, node.channel
        copy.splitter, copy.streams, copy.ids = node.splitter, node.streams, node.ids
        copy.inputs = [Port(copy, port.side, port.index) for port in node.inputs]
        copy.outputs = [Port(copy, port.side, port.index) for port in node.outputs]
        copy.children = [self._deep_copy(each, copy, copies) for each in node.children]
        copy.prims = [self._deep_copy(each, copy, copies) for each in node.prims]
        copy.pseudo = [self._deep_copy(each, copy, copies) for each in node.pseudo]
        return copy

    def _retarget(self, copies: dict[int, Node], root: Node) -> None:
        """Connections inside of the copied tree; those that leave it belong to `replicate`."""

        def inside(node: Node) -> Iterator[Node]:
            yield node
            for each in (*node.children, *node.prims, *node.pseudo):
                yield from inside(each)

        for node in inside(root):
            twin = copies[node.index]
            for port, other in zip(
                (*node.inputs, *node.outputs), (*twin.inputs, *twin.outputs), strict=True
            ):
                is_outer = node is root
                if not (is_outer and port.side == "output"):
                    other.outgoing = [_twin(end, copies) for end in port.outgoing]
                if not (is_outer and port.side == "input"):
                    other.incoming = [_twin(end, copies) for end in port.incoming]


def _twin(port: Port, copies: dict[int, Node]) -> Port:
    node = copies[port.node.index]
    return (node.inputs if port.side == "input" else node.outputs)[port.index]


def _connect(source: Port, target: Port) -> None:
    source.outgoing.append(target)
    target.incoming.append(source)


def _put_between(source: Port, entry: Port, leave: Port, target: Port) -> None:
    source.outgoing[source.outgoing.index(target)] = entry
    entry.incoming.append(source)
    target.incoming[target.incoming.index(source)] = leave
    leave.outgoing.append(target)
