"""What the planner is compared with: every connection of an expanded application, and its names.

The pseudo code of the specification for walking (3.8), channels (3.4), names (3.5) and what a
resize makes of numbers (3.8.1), word by word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.unit.planner.reference_tree import Node, Port, below, expanded


class Circle(Exception):
    """Connections run in a circle without an operator in it."""


@dataclass
class Record:
    """A splitter on an output port, with the edges and the splitters of each channel."""

    index: int
    kind: str
    port: int
    region: int
    drop: bool
    attributes: tuple[str, ...]
    channels: list[list[Record]]


Edge = tuple[int, int, int, int, int, int]
"""Operator, output, operator, input, splitter and channel or -1."""
Level = tuple[int, int, int, int, int]
"""Region, local channel, local maximum, global channel, global maximum."""


@dataclass
class Reference:
    """The topology: physical operators by number, and what is between them."""

    nodes: dict[int, Node]
    edges: list[Edge] = field(default_factory=list)
    splitters: dict[tuple[int, int], list[Record]] = field(default_factory=dict)
    exports: dict[tuple[int, int, int, int], int] = field(default_factory=dict)
    imported: set[tuple[int, int]] = field(default_factory=set)


def reference(adl: str, widths: Mapping[str, int] | None = None) -> Reference:
    """The application of an ADL; `widths` by name of a region win over those of the ADL."""
    main = expanded(adl, widths)
    nodes = {node.phys: node for node in below(main) if node.kind == "primitive"}
    found = Reference(dict(sorted(nodes.items())))
    for number, node in found.nodes.items():
        for port in node.outputs:
            found.splitters[number, port.index] = []
            _Walk(found, number, port.index).walk(port, None, [])
    for node in below(main):
        if node.kind == "import":
            for port in node.outputs:
                found.imported.update(_arrivals(port, []))
    return found


# --------------------------------------------------------------------------- walking


class _Walk:
    """walk, from one output port of a primitive."""

    def __init__(self, found: Reference, source: int, output: int) -> None:
        self._found = found
        self._start = source, output
        self._count = 0

    def walk(self, port: Port, context: tuple[Record, int] | None, way: list[Port]) -> None:
        place = (-1, -1) if context is None else (context[0].index, context[1])
        for end in port.outgoing:
            node = end.node
            if end in way:
                raise Circle
            if node.kind == "primitive":
                self._found.edges.append((*self._start, node.phys, end.index, *place))
            elif node.kind == "export":
                key = (*self._start, *place)
                self._found.exports[key] = self._found.exports.get(key, 0) + 1
            elif node.kind == "merger":
                self.walk(node.outputs[0], context, [*way, end])
            elif node.kind == "composite":
                self.walk(end, context, [*way, end])
            elif node.splitter[0] == "Broadcast":
                for out in node.outputs:
                    self.walk(out, context, [*way, end])
            else:
                record = self._recorded(node, end, context)
                for channel, out in enumerate(node.outputs):
                    self.walk(out, (record, channel), [*way, end])

    def _recorded(self, node: Node, entry: Port, context: tuple[Record, int] | None) -> Record:
        assert node.region
        kind, port, attributes = node.splitter
        drop = [each.node.kind for each in entry.incoming] == ["merger"]
        record = Record(self._count, kind, port, node.region.index, drop, attributes, [])
        record.channels = [[] for _ in node.outputs]
        self._count += 1
        beside = (
            self._found.splitters[self._start]
            if context is None
            else context[0].channels[context[1]]
        )
        beside.append(record)
        return record


def _arrivals(port: Port, way: list[Port]) -> Iterator[tuple[int, int]]:
    """The operator input ports that an Import reaches."""
    for end in port.outgoing:
        if end in way:
            raise Circle
        if end.node.kind == "primitive":
            yield end.node.phys, end.index
        elif end.node.kind in ("merger", "splitter"):
            for out in end.node.outputs:
                yield from _arrivals(out, [*way, end])
        elif end.node.kind == "composite":
            yield from _arrivals(end, [*way, end])


# --------------------------------------------------------------------------- names


def chain_of(node: Node) -> list[Node]:
    """The enclosing region roots, itself included, innermost first."""
    found: list[Node] = []
    current: Node | None = node
    while current is not None:
        if current.region and current.kind != "splitter":
            found.append(current)
        current = current.parent
    return found


def levels_of(node: Node) -> list[Level]:
    """Local and global channels and maxima of each level, innermost first."""
    chain = chain_of(node)
    found: list[Level] = []
    for k, root in enumerate(chain):
        channel, maximum = 0, 1
        for outer in chain[k:]:
            assert outer.region
            channel += maximum * outer.channel
            maximum *= outer.region.width
        assert root.region
        found.append((root.region.index, root.channel, root.region.width, channel, maximum))
    return found


def path_of(node: Node) -> list[Node]:
    """The nodes from the main composite, which is not among them."""
    found: list[Node] = []
    current: Node | None = node
    while current is not None and current.parent is not None:
        found.insert(0, current)
        current = current.parent
    return found


def logical_name(node: Node) -> str:
    """The path without subscripts."""
    return ".".join(each.name for each in path_of(node))


def name_of(node: Node) -> str:
    """The path; a segment that introduces a region has its global channel."""
    return ".".join(
        f"{each.name}[{levels_of(each)[0][3]}]" if each.region else each.name
        for each in path_of(node)
    )


def stream_name(node: Node, stream: str) -> str:
    """Physical path of the composite that owns the stream, own name, the other local channels."""
    path = path_of(node)
    for depth in range(len(path) - 1, 0, -1):
        owner = path[depth - 1]
        prefix = f"{logical_name(owner)}."
        if stream.startswith(prefix):
            inner = [each for each in path[depth:] if each.region]
            own = f"{name_of(owner)}.{stream.removeprefix(prefix)}"
            return own + "".join(f"[{each.channel}]" for each in inner)
    return stream + "".join(f"[{each.channel}]" for each in path if each.region)


# --------------------------------------------------------------------------- resizes


def identity_of(node: Node) -> tuple[int, tuple[int, ...]]:
    """What an operator is matched by: its logical index, and its local channels."""
    return node.logical, tuple(level[1] for level in levels_of(node))


def transferred(prior: Reference, current: Reference) -> dict[int, int]:
    """The number after a resize by that of the model that was built for the new widths."""
    before = {identity_of(node): number for number, node in prior.nodes.items()}
    highest = max(*prior.nodes, *current.nodes)
    found: dict[int, int] = {}
    for number, node in current.nodes.items():
        if identity_of(node) in before:
            found[number] = before[identity_of(node)]
        elif number not in prior.nodes:
            found[number] = number
        else:
            highest += 1
            found[number] = highest
    return found


def changed(prior: Reference, current: Reference, region: int) -> set[str]:
    """The names of matched operators that a resize of that region changes."""
    before = {identity_of(node): name_of(node) for node in prior.nodes.values()}

    def is_inside(number: int) -> bool:
        return any(level[0] == region for level in levels_of(current.nodes[number]))

    beside = {
        end
        for source, _, target, *_ in current.edges
        if is_inside(source) != is_inside(target)
        for end in (source, target)
    }
    beside |= {number for (number, _), found in current.splitters.items() if _feeds(found, region)}
    return {
        name_of(node)
        for number, node in current.nodes.items()
        if identity_of(node) in before
        and (is_inside(number) or number in beside or before[identity_of(node)] != name_of(node))
    }


def _feeds(records: list[Record], region: int) -> bool:
    return any(
        record.region == region or any(_feeds(inside, region) for inside in record.channels)
        for record in records
    )
