"""Applications of any size for the planner, as ADLs in the form that the compiler writes.

Each has two forms: `logical` has parallel regions, which the planner expands; `expanded` lists the
same operators and connections without regions, to measure the cost of parsing alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from math import prod

from contracts.resources.fields import WIDTH_MAX

End = tuple[int, int, str]
"""Index of an operator or a composite, port and kind of port."""

_HEAD = """<?xml version="1.0" encoding="UTF-8" standalone="no" ?>
<applicationSet xmlns="http://www.ibm.com/xmlns/prod/streams/application/v4200"\
 xmlns:tt="http://www.ibm.com/xmlns/prod/streams/spl/tupleType" name="load::Main.appset">
  <splApplication adlPath="output/load.Main.adl" applicationDirectory="."\
 applicationScope="Default" avoidRuntimeYield="auto" buildId="" bundle="./load.Main.sab"\
 name="load::Main" outputDirectory="output" productVersion="4.3.0.0" version="1.0.0">
    <libraries/>
    <hostpools>
      <hostpool index="0" membershipMode="shared" name="$default"/>
    </hostpools>
    <tupleTypes>
      <tupleType index="0">
        <attribute name="number" type="uint64"/>
        <tuple>
          <tt:attr name="number" type="uint64"/>
        </tuple>
      </tupleType>
    </tupleTypes>
    <primitiveOperDefinitions>
      <primitiveOperDefinition index="0" kind="spl.utility::Custom" runtimeType="SPL_CPlusPlus"\
 toolkitIndex="0"/>
    </primitiveOperDefinitions>
    <composites>
      <sourceUris>
        <uri index="0" path="Main.spl"/>
      </sourceUris>
      <compositeOperDefinitions>
        <compositeOperDefinition index="0" kind="load::Main" numberOfInputPorts="0"\
 numberOfOutputPorts="0" toolkitIndex="0"/>
      </compositeOperDefinitions>
      <compositeOperInstances>
"""
_TOOLKITS = """    <toolkits>
      <toolkit index="0" name="spl" version="1.5.0"/>
    </toolkits>
"""
_PORT = 'encoding="LE" index="0" isMutable="false" transport="TCP" tupleTypeIndex="0"'


@dataclass(slots=True)
class _Writer:
    """An ADL under construction: the content of the main composite, and the regions."""

    parts: list[str] = field(default_factory=list)
    regions: list[str] = field(default_factory=list)

    def operator(
        self, index: int, name: str, sources: Iterable[End], targets: Iterable[End]
    ) -> None:
        """Add an operator with one port on each connected side."""
        incoming, outgoing = _ends(sources), _ends(targets)
        self.parts.append(
            f"""          <primitiveOperInstance definitionIndex="0" endLine="9" index="{index}"\
 name="{name}" optimized="true" relocatable="true" restartable="true"\
 singleThreadedOnOutputs="true" sourceIndex="0" startLine="6">
"""
        )
        if incoming:
            self.parts.append(
                f"""            <inputPorts>
              <port {_PORT} name="In">
                <connections>
{incoming}                </connections>
              </port>
            </inputPorts>
"""
            )
        if outgoing:
            self.parts.append(
                f"""            <outputPorts>
              <port {_PORT} name="Out" streamName="{name}" viewable="true">
                <connections>
{outgoing}                </connections>
              </port>
            </outputPorts>
"""
            )
        self.parts.append(
            f"""            <envVars/>
            <resources>
              <poolLocation poolIndex="0"/>
            </resources>
            <runtimeConstants>
              <runtimeConstant name="lit$0" value="{index % 7}"/>
            </runtimeConstants>
            <sharedObject class="Main.Operator">
              <wrapper>none</wrapper>
              <uri>bin/Main.Operator.so</uri>
            </sharedObject>
            <tracing level="error"/>
          </primitiveOperInstance>
"""
        )

    def composite(
        self, index: int, name: str, first: tuple[End, End], last: tuple[End, End]
    ) -> None:
        """Begin a composite; `first` and `last`: the outer and inner ends of its two ports."""
        self.parts.append(
            f"""          <compositeOperInstance definitionIndex="0" index="{index}" name="{name}">
"""
        )
        for side, (incoming, outgoing) in (("input", first), ("output", (last[1], last[0]))):
            self.parts.append(
                f"""            <{side}Ports>
              <port index="0">
                <incomingConnections>
{_ends([incoming])}                </incomingConnections>
                <outgoingConnections>
{_ends([outgoing])}                </outgoingConnections>
              </port>
            </{side}Ports>
"""
            )

    def end_composite(self) -> None:
        """End the innermost composite."""
        self.parts.append("          </compositeOperInstance>\n")

    def region(self, root: int, name: str, width: int) -> None:
        """Add a parallel region."""
        self.regions.append(
            f"""      <parallelRegion index="{len(self.regions)}" name="{name}">
        <parallelOperator operIndex="{root}">
          <splitter iportIndex="0" kind="RoundRobin"/>
        </parallelOperator>
        <parallelWidth>
          <constantWidth>{width}</constantWidth>
        </parallelWidth>
      </parallelRegion>
"""
        )

    def text(self, main: int) -> str:
        """The ADL; `main`: the index of the main composite."""
        regions = "".join(self.regions)
        return "".join(
            (
                _HEAD,
                f'        <compositeOperInstance definitionIndex="0" index="{main}"'
                ' name="load::Main">\n',
                *self.parts,
                "        </compositeOperInstance>\n      </compositeOperInstances>\n"
                "    </composites>\n",
                _TOOLKITS,
                f"    <parallelRegions>\n{regions}    </parallelRegions>\n" if regions else "",
                "  </splApplication>\n</applicationSet>\n",
            )
        )


def _ends(ends: Iterable[End]) -> str:
    return "".join(
        f'                  <connection operIndex="{index}" portIndex="{port}"'
        f' portKind="{kind}"/>\n'
        for index, port, kind in ends
    )


# --------------------------------------------------------------------------- applications


@dataclass(frozen=True, slots=True)
class Application:
    """An application of the benchmark: its two texts, and its size after expansion."""

    name: str
    logical: str
    expanded: str
    operators: int
    connections: int

    @property
    def parts(self) -> int:
        """Operators and connections: the size for ratios of time."""
        return self.operators + self.connections


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of application; `made` returns one with about that many operators."""

    name: str
    made: Callable[[int], Application]


def chain(operators: int) -> Application:
    """A source, operators in series, a sink; no region."""
    pairs = [(at, at + 1) for at in range(operators - 1)]
    text = without_regions([f"Op{at}" for at in range(operators)], pairs)
    return Application("chain", text, text, operators, operators - 1)


def channels(operators: int) -> Application:
    """A source, 100 channels of a chain, a sink."""
    return nested("100 channels", (100,), max(1, operators // 100))


def nested_regions(operators: int) -> Application:
    """A source, nested regions of 10 × 10 × n channels, a sink."""
    return nested("10 × 10 × n", (10, 10, max(1, operators // 100)), 1)


def fan(operators: int) -> Application:
    """A source, that many operators in parallel, a sink.

    Above the largest width that the planner accepts, `logical` is the expanded form.
    """
    found = nested("fan", (operators,), 1)
    return found if operators <= WIDTH_MAX else replace(found, logical=found.expanded)


def wide_connection(first: int, second: int) -> Application:
    """Two regions in series: every channel of the first feeds every channel of the second."""
    writer = _Writer()
    names = ("Source", "First", "Second", "Sink")
    for index, name in enumerate(names):
        sources = [(index - 1, 0, "output")] if index else []
        targets = [(index + 1, 0, "input")] if index < len(names) - 1 else []
        writer.operator(index, name, sources, targets)
    writer.region(1, "First", first)
    writer.region(2, "Second", second)
    connections = first + first * second + second
    return Application(f"{first} × {second}", writer.text(4), "", 2 + first + second, connections)


SHAPES: Sequence[Shape] = (
    Shape("chain", chain),
    Shape("100 channels", channels),
    Shape("10 × 10 × n", nested_regions),
    Shape("fan", fan),
)


def nested(name: str, widths: tuple[int, ...], length: int) -> Application:
    """A source, nested regions of these widths around a chain of that length, a sink."""
    replicas = prod(widths)
    operators = 2 + replicas * length
    connections = replicas * (length + 1)
    return Application(
        name, _nested_logical(widths, length), _nested_expanded(widths, length), operators,
        connections,
    )  # fmt: skip


def _nested_logical(widths: tuple[int, ...], length: int) -> str:
    """Indices: the operators, the composites of the regions (outermost first), the main one."""
    writer = _Writer()
    source, sink = 0, length + 1
    composites = [length + 2 + level for level in range(len(widths))]
    writer.operator(source, "Source", [], [(composites[0], 0, "input")])
    path: list[str] = []
    for level, (index, width) in enumerate(zip(composites, widths, strict=True)):
        path.append(f"Region{level}")
        is_innermost = level == len(widths) - 1
        outer_in: End = (composites[level - 1], 0, "input") if level else (source, 0, "output")
        outer_out: End = (composites[level - 1], 0, "output") if level else (sink, 0, "input")
        inner_in: End = (1, 0, "input") if is_innermost else (composites[level + 1], 0, "input")
        inner_out: End = (
            (length, 0, "output") if is_innermost else (composites[level + 1], 0, "output")
        )
        writer.composite(index, ".".join(path), (outer_in, inner_in), (outer_out, inner_out))
        writer.region(index, ".".join(path), width)
    within = ".".join(path)
    for at in range(1, length + 1):
        before: End = (at - 1, 0, "output") if at > 1 else (composites[-1], 0, "input")
        after: End = (at + 1, 0, "input") if at < length else (composites[-1], 0, "output")
        writer.operator(at, f"{within}.Op{at}", [before], [after])
    for _ in widths:
        writer.end_composite()
    writer.operator(sink, "Sink", [(composites[0], 0, "output")], [])
    return writer.text(composites[-1] + 1)


def _nested_expanded(widths: tuple[int, ...], length: int) -> str:
    """Every chain in full, from the source to the sink."""
    names = ["Source", *_physical_names(widths, length), "Sink"]
    sink = len(names) - 1
    pairs: list[tuple[int, int]] = []
    for first in range(1, sink, length):
        stops = [0, *range(first, first + length), sink]
        pairs += pairwise(stops)
    return without_regions(names, pairs)


def _physical_names(widths: tuple[int, ...], length: int) -> Iterator[str]:
    """Names of replicas, without dots: those would imply composites that do not exist."""
    for place in product(*(range(width) for width in widths)):
        around = "_".join(f"Region{level}[{channel}]" for level, channel in enumerate(place))
        for at in range(1, length + 1):
            yield f"{around}_Op{at}"


def without_regions(names: Sequence[str], pairs: Iterable[tuple[int, int]]) -> str:
    """Operators without regions; `pairs` are indices of source and target of each connection."""
    sources: list[list[End]] = [[] for _ in names]
    targets: list[list[End]] = [[] for _ in names]
    for source, target in pairs:
        targets[source].append((target, 0, "input"))
        sources[target].append((source, 0, "output"))
    writer = _Writer()
    for index, name in enumerate(names):
        writer.operator(index, name, sources[index], targets[index])
    return writer.text(len(names))
