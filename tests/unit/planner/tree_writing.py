"""ADLs of any tree for tests: composites whose ports are shared by several connections.

`Adl` (adl_writing.py) gives each connection that crosses a border a port of its own. A compiler
does not: what enters by one port may go to several operators inside, and many may feed one port.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

from hypothesis.vendor.pretty import RepresentationPrinter

from contracts.bundle_format import BundleLimits, open_bundle, pack
from planner.application.adl import read_application
from planner.application.model import Application
from tests.unit.planner.adl_writing import HEAD, PORT, TYPES

End = tuple["Item", str, int]
"""An item, a side and a port: what a connection leads from or to."""
Splitter = tuple[str, tuple[str, ...]]


@dataclass(eq=False)
class Item:
    """An operator, an Import, an Export or a composite with all that is inside."""

    kind: str
    name: str
    inputs: int = 0
    outputs: int = 0
    inside: list[Item] = field(default_factory=list)
    streams: list[str] = field(default_factory=list)
    colocations: list[str] = field(default_factory=list)
    splitters: list[Splitter] = field(default_factory=list)
    width: int = 0
    path: str = ""
    index: int = -1
    into: dict[tuple[str, int], list[End]] = field(default_factory=dict)
    out_of: dict[tuple[str, int], list[End]] = field(default_factory=dict)

    def operator(self, name: str, inputs: int = 1, outputs: int = 1, *, width: int = 0) -> Item:
        """An operator inside of this composite; with a width it is a parallel region."""
        return self._added(Item("primitive", name, inputs, outputs, width=width))

    def composite(self, name: str, inputs: int = 1, outputs: int = 1, *, width: int = 0) -> Item:
        """A composite inside of this one."""
        return self._added(Item("composite", name, inputs, outputs, width=width))

    def importing(self, name: str) -> Item:
        """An Import inside of this composite."""
        return self._added(Item("import", name, 0, 1))

    def exporting(self, name: str) -> Item:
        """An Export inside of this composite."""
        return self._added(Item("export", name, 1, 0))

    def _added(self, item: Item) -> Item:
        item.path = f"{self.path}.{item.name}" if self.path else item.name
        item.streams = [f"{item.path}.Out{number}" for number in range(item.outputs)]
        item.splitters = [("RoundRobin", ())] * item.inputs
        self.inside.append(item)
        return item

    def all(self) -> Iterator[Item]:
        """This one and everything below."""
        yield self
        for item in self.inside:
            yield from item.all()


def wire(source: Item, target: Item, output: int = 0, port: int = 0) -> None:
    """From an output to an input of siblings, or from or to the border of their composite.

    Where one of them is the composite around the other, it is its own port of the same direction.
    """
    leaves: End = (source, "input" if target in source.inside else "output", output)
    enters: End = (target, "output" if source in target.inside else "input", port)
    join(leaves, enters)


def join(leaves: End, enters: End) -> None:
    """A connection between two ports, which both of them list."""
    leaves[0].out_of.setdefault(leaves[1:], []).append(enters)
    enters[0].into.setdefault(enters[1:], []).append(leaves)


@dataclass
class Tree:
    """An application under construction: its main composite. `order` numbers the operators."""

    main: Item = field(default_factory=lambda: Item("composite", ""))
    order: list[int] = field(default_factory=list)

    def _repr_pretty_(self, printer: RepresentationPrinter, _is_cycle: bool) -> None:
        printer.text(self.text())

    def regions(self) -> list[Item]:
        """The roots of parallel regions, by index of the region."""
        return [item for item in self.main.all() if item.width]

    def text(self) -> str:
        """The ADL."""
        items = list(self.main.all())
        primitives = [item for item in items if item.kind == "primitive"]
        numbers = self.order or range(len(primitives))
        for number, item in zip(numbers, primitives, strict=True):
            item.index = number
        pseudo = [item for item in items if item.kind in ("import", "export")]
        composites = [item for item in items if item.kind == "composite"]
        for number, item in enumerate((*composites, *pseudo), start=len(primitives)):
            item.index = number
        regions = "".join(_region(n, item) for n, item in enumerate(self.regions()))
        return (
            HEAD.format(name="demo::Main")
            + '<hostpools><hostpool index="0" name="$default" membershipMode="shared"/></hostpools>'
            + f'{TYPES}<composites><sourceUris><uri index="0" path="f"/></sourceUris>'
            + '<compositeOperDefinitions><compositeOperDefinition index="0" kind="Main"'
            + ' numberOfInputPorts="0" numberOfOutputPorts="0" sourceIndex="0" startLine="1"'
            + ' endLine="1"/></compositeOperDefinitions><compositeOperInstances>'
            + f"{_composite(self.main)}</compositeOperInstances></composites>"
            + '<toolkits><toolkit index="0" name="spl" version="1"/></toolkits>'
            + f"<parallelRegions>{regions}</parallelRegions></splApplication></applicationSet>"
        )

    def application(self) -> Application:
        """The application, read back from a packed bundle."""
        return read_application(open_bundle(pack(self.text().encode()), BundleLimits()))


def _composite(item: Item) -> str:
    ports = "".join(
        _holder(
            f"{side}Ports",
            (
                f'<port index="{n}">'
                + f"<incomingConnections>{_ends(item.into.get((side, n), []))}"
                + "</incomingConnections><outgoingConnections>"
                + f"{_ends(item.out_of.get((side, n), []))}</outgoingConnections></port>"
                for n in range(count)
            ),
        )
        for side, count in (("input", item.inputs), ("output", item.outputs))
    )
    inner = [_composite(each) for each in item.inside if each.kind == "composite"]
    inner += [_WRITERS[each.kind](each) for each in item.inside if each.kind != "composite"]
    name = quoteattr(item.path or "demo::Main")
    return (
        f'<compositeOperInstance name={name} index="{item.index}" definitionIndex="0">'
        f"{ports}{''.join(inner)}</compositeOperInstance>"
    )


def _primitive(item: Item) -> str:
    ids = "".join(f"<coLocation colocId={quoteattr(each)}/>" for each in item.colocations)
    return (
        f'<primitiveOperInstance name="{item.path}" index="{item.index}" definitionIndex="0"'
        ' optimized="true" relocatable="true" restartable="true" singleThreadedOnOutputs="true">'
        f"{_ports(item)}<envVars/>"
        '<resources><poolLocation poolIndex="0"/></resources><runtimeConstants/>'
        '<sharedObject class="C"><wrapper>none</wrapper><uri>bin/x.so</uri></sharedObject>'
        + (f"<partitions>{ids}</partitions>" if ids else "")
        + '<tracing level="error"/></primitiveOperInstance>'
    )


def _import(item: Item) -> str:
    return (
        f'<primitiveImportOperInstance name="{item.path}" index="{item.index}"'
        f' definitionIndex="0">{_ports(item)}<nameBasedImport applicationName="App"'
        f' streamName="{item.name}"/></primitiveImportOperInstance>'
    )


def _export(item: Item) -> str:
    return (
        f'<primitiveExportOperInstance name="{item.path}" index="{item.index}"'
        f' definitionIndex="0" streamName="{item.name}">{_ports(item)}'
        "</primitiveExportOperInstance>"
    )


_WRITERS = {"primitive": _primitive, "import": _import, "export": _export}


def _ports(item: Item) -> str:
    entering = (
        f'<port index="{n}" name="i{n}" {PORT}>'
        f"{_holder('connections', [_ends(item.into.get(('input', n), []))])}</port>"
        for n in range(item.inputs)
    )
    leaving = (
        f'<port index="{n}" name="o{n}" streamName={quoteattr(item.streams[n])} {PORT}>'
        f"{_holder('connections', [_ends(item.out_of.get(('output', n), []))])}</port>"
        for n in range(item.outputs)
    )
    return _holder("inputPorts", entering) + _holder("outputPorts", leaving)


def _holder(name: str, inside: Iterator[str] | list[str]) -> str:
    text = "".join(inside)
    return f"<{name}>{text}</{name}>" if text else ""


def _ends(ends: list[End]) -> str:
    return "".join(
        f'<connection operIndex="{item.index}" portIndex="{port}" portKind="{side}"/>'
        for item, side, port in ends
    )


def _region(index: int, root: Item) -> str:
    splitters = ""
    for port, (kind, keys) in enumerate(root.splitters):
        inside = "".join(f'<attribute name="{key}"/>' for key in keys)
        splitters += (
            f'<splitter kind="{kind}" iportIndex="{port}">'
            f"{_holder('attributes', [inside])}</splitter>"
        )
    return (
        f'<parallelRegion index="{index}" name="{root.path}"><parallelOperator'
        f' operIndex="{root.index}">{splitters}</parallelOperator><parallelWidth>'
        f"<constantWidth>{root.width}</constantWidth></parallelWidth></parallelRegion>"
    )
