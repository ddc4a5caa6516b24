"""Writing ADLs for tests: operators by dotted path, connections routed through composites."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from xml.sax.saxutils import quoteattr

from contracts.bundle_format import Bundle, BundleLimits, open_bundle, pack
from planner.application.adl import read_application
from planner.application.model import Application
from planner.numbering.records import Fusion, PlanRecord
from planner.planning import PlanResult, plan
from planner.requesting import PlanRequest

HEAD = (
    '<applicationSet xmlns="http://www.ibm.com/xmlns/prod/streams/application/v4200"'
    ' xmlns:tt="http://www.ibm.com/xmlns/prod/streams/spl/tupleType" name="{name}.appset">'
    '<splApplication name="{name}" applicationScope="Default" applicationDirectory="app"'
    ' outputDirectory="output" buildId="" bundle="./demo.sab" avoidRuntimeYield="auto"'
    ' productVersion="4.3.0.0"><libraries/>'
)
TYPES = (
    '<tupleTypes><tupleType index="0"><attribute name="i" type="int32"/>'
    '<tuple><tt:attr name="i" type="int32"/></tuple></tupleType></tupleTypes>'
    '<primitiveOperDefinitions><primitiveOperDefinition index="0" kind="my::Op"'
    ' runtimeType="SPL_CPlusPlus" toolkitIndex="0"/></primitiveOperDefinitions>'
)
PORT = 'encoding="LE" transport="TCP" tupleTypeIndex="0" isMutable="false"'


@dataclass
class _Operator:
    path: str
    inputs: int
    outputs: int
    resources: str
    partitions: str
    extra: str
    restartable: bool
    relocatable: bool = True
    isolated: bool = False
    host_isolated: bool = False
    index: int = -1
    ends: dict[tuple[str, int], list[tuple[int, str, int]]] = field(default_factory=dict)


@dataclass
class _Composite:
    path: str
    index: int = -1
    ports: dict[str, list[tuple[tuple[int, str, int], tuple[int, str, int]]]] = field(
        default_factory=lambda: {"input": [], "output": []}
    )


class Adl:
    """An application under construction; `text` writes it."""

    def __init__(self, name: str = "demo::Main") -> None:
        self.name = name
        self.pools = ['<hostpool index="0" name="$default" membershipMode="shared"/>']
        self.operators: dict[str, _Operator] = {}
        self.composites: dict[str, _Composite] = {}
        self.connections: list[tuple[str, int, str, int]] = []
        self.regions: list[tuple[str, str, str]] = []
        self.values: list[str] = []
        self.pseudo: list[str] = []

    def operator(
        self,
        path: str,
        inputs: int = 1,
        outputs: int = 1,
        *,
        resources: str = '<poolLocation poolIndex="0"/>',
        partitions: str = "",
        extra: str = "",
        restartable: bool = True,
    ) -> Adl:
        """An operator; its composites come into being."""
        for depth in range(1, path.count(".") + 1):
            composite = ".".join(path.split(".")[:depth])
            self.composites.setdefault(composite, _Composite(composite))
        self.operators[path] = _Operator(
            path, inputs, outputs, resources, partitions, extra, restartable
        )
        return self

    def connect(self, source: str, target: str, output: int = 0, port: int = 0) -> Adl:
        """A connection between two operators."""
        self.connections.append((source, output, target, port))
        return self

    def chain(self, *paths: str) -> Adl:
        """Operators in a row: a source, operators in the middle, a sink."""
        for path in paths:
            self.operator(path, inputs=int(path != paths[0]), outputs=int(path != paths[-1]))
        for source, target in pairwise(paths):
            self.connect(source, target)
        return self

    def region(self, path: str, width: int | str, kind: str = "RoundRobin") -> Adl:
        """A parallel region; a width that is text names a submission-time value."""
        if isinstance(width, int):
            self.regions.append((path, f"<constantWidth>{width}</constantWidth>", kind))
            return self
        index = [quoteattr(width) in value for value in self.values].index(True)
        name = "submissionTimeParameterIndexForWidth"
        self.regions.append((path, f"<{name}>{index}</{name}>", kind))
        return self

    def value(self, name: str, default: str | None = None, *, composite: str = "demo::Main") -> Adl:
        """A submission-time value."""
        literal = "" if default is None else f" defaultValue={quoteattr(default)}"
        self.values.append(
            f'<submissionTimeValue index="{len(self.values)}" kind="named"'
            f' compositeName="{composite}" name={quoteattr(name)}'
            f' required="{str(default is None).lower()}"{literal}/>'
        )
        return self

    def pool(
        self, name: str, mode: str = "shared", inside: str = "", size: int | None = None
    ) -> Adl:
        """A host pool."""
        index = len(self.pools)
        sized = "" if size is None else f' size="{size}"'
        self.pools.append(
            f'<hostpool index="{index}" name="{name}"{sized} membershipMode="{mode}">{inside}'
            "</hostpool>"
        )
        return self

    def text(self) -> str:
        """The ADL."""
        for number, operator in enumerate(self.operators.values()):
            operator.index = number
            operator.ends = {}
        for number, composite in enumerate(self.composites.values(), start=len(self.operators)):
            composite.index = number
            composite.ports = {"input": [], "output": []}
        for connection in self.connections:
            self._route(*connection)
        main = len(self.operators) + len(self.composites)
        inside = self._inside("")
        regions = "".join(self._region(n, *region) for n, region in enumerate(self.regions))
        return (
            HEAD.format(name=self.name)
            + f"<hostpools>{''.join(self.pools)}</hostpools>{TYPES}"
            + '<composites><sourceUris><uri index="0" path="f"/></sourceUris>'
            + '<compositeOperDefinitions><compositeOperDefinition index="0" kind="Main"'
            + ' numberOfInputPorts="0" numberOfOutputPorts="0" sourceIndex="0" startLine="1"'
            + ' endLine="1"/></compositeOperDefinitions><compositeOperInstances>'
            + f'<compositeOperInstance name="{self.name}" index="{main}" definitionIndex="0">'
            + f"{inside}{''.join(self.pseudo)}</compositeOperInstance>"
            + "</compositeOperInstances></composites>"
            + '<toolkits><toolkit index="0" name="spl" version="1"/></toolkits>'
            + f"<parallelRegions>{regions}</parallelRegions>"
            + f"<submissionTimeValues>{''.join(self.values)}</submissionTimeValues>"
            + "</splApplication></applicationSet>"
        )

    def application(self) -> Application:
        """The application, read back from a packed bundle."""
        return read_application(self.bundle())

    def bundle(self) -> Bundle:
        """The packed and opened bundle."""
        return open_bundle(pack(self.text().encode()), BundleLimits())

    def _route(self, source: str, output: int, target: str, port: int) -> None:
        """Up from the source, across, down to the target: a composite port at each border."""
        up = _enclosing(source)
        down = _enclosing(target)
        shared = [path for path in up if path in down]
        start = (self.operators[source].index, "output", output)
        end = (self.operators[target].index, "input", port)
        hops: list[tuple[_Composite, str, int]] = []
        for path in up[: len(up) - len(shared)]:
            composite = self.composites[path]
            hops.append((composite, "output", len(composite.ports["output"])))
            composite.ports["output"].append((start, end))
        for path in reversed(down[: len(down) - len(shared)]):
            composite = self.composites[path]
            hops.append((composite, "input", len(composite.ports["input"])))
            composite.ports["input"].append((start, end))
        stops = [start, *((c.index, side, n) for c, side, n in hops), end]
        for place, (composite, side, number) in enumerate(hops, start=1):
            composite.ports[side][number] = (stops[place - 1], stops[place + 1])
        self.operators[source].ends.setdefault(("output", output), []).append(stops[1])
        self.operators[target].ends.setdefault(("input", port), []).append(stops[-2])

    def _inside(self, path: str) -> str:
        found = [
            self._composite(item) for item in self.composites.values() if _parent(item.path) == path
        ]
        found += [
            self._operator(item) for item in self.operators.values() if _parent(item.path) == path
        ]
        return "".join(found)

    def _composite(self, composite: _Composite) -> str:
        ports = ""
        for side in ("input", "output"):
            items = "".join(
                f'<port index="{n}"><incomingConnections>{_end(incoming)}</incomingConnections>'
                f"<outgoingConnections>{_end(outgoing)}</outgoingConnections></port>"
                for n, (incoming, outgoing) in enumerate(composite.ports[side])
            )
            ports += f"<{side}Ports>{items}</{side}Ports>" if items else ""
        return (
            f'<compositeOperInstance name="{composite.path}" index="{composite.index}"'
            f' definitionIndex="0">{ports}{self._inside(composite.path)}</compositeOperInstance>'
        )

    def _operator(self, operator: _Operator) -> str:
        inputs = "".join(
            f'<port index="{n}" name="i{n}" {PORT}>{_ends(operator, "input", n)}</port>'
            for n in range(operator.inputs)
        )
        outputs = "".join(
            f'<port index="{n}" name="o{n}" streamName="{operator.path}_{n}" {PORT}>'
            f"{_ends(operator, 'output', n)}</port>"
            for n in range(operator.outputs)
        )
        return (
            f'<primitiveOperInstance name="{operator.path}" index="{operator.index}"'
            f' definitionIndex="0" optimized="true" relocatable="{_flag(operator.relocatable)}"'
            f' restartable="{_flag(operator.restartable)}" singleThreadedOnOutputs="true">'
            + (f"<inputPorts>{inputs}</inputPorts>" if inputs else "")
            + (f"<outputPorts>{outputs}</outputPorts>" if outputs else "")
            + f"<envVars/><resources{_isolation(operator.host_isolated)}>{operator.resources}"
            + "</resources><runtimeConstants/>"
            + '<sharedObject class="C"><wrapper>none</wrapper><uri>bin/x.so</uri></sharedObject>'
            + operator.extra
            + _partitions(operator)
            + '<tracing level="error"/></primitiveOperInstance>'
        )

    def _region(self, index: int, path: str, width: str, kind: str) -> str:
        root: _Operator | _Composite = (
            self.operators[path] if path in self.operators else self.composites[path]
        )
        ports = root.inputs if isinstance(root, _Operator) else len(root.ports["input"])
        splitters = "".join(f'<splitter kind="{kind}" iportIndex="{n}"/>' for n in range(ports))
        return (
            f'<parallelRegion index="{index}" name="{path}"><parallelOperator'
            f' operIndex="{root.index}">{splitters}</parallelOperator>'
            f"<parallelWidth>{width}</parallelWidth></parallelRegion>"
        )


def _flag(value: bool) -> str:
    return str(value).lower()


def _isolation(is_asked: bool) -> str:
    return ' isolation="true"' if is_asked else ""


def _partitions(operator: _Operator) -> str:
    if not operator.partitions and not operator.isolated:
        return ""
    return f"<partitions{_isolation(operator.isolated)}>{operator.partitions}</partitions>"


def _parent(path: str) -> str:
    return path.rpartition(".")[0]


def _enclosing(path: str) -> list[str]:
    """Composites around an operator, innermost first."""
    parts = path.split(".")[:-1]
    return [".".join(parts[:depth]) for depth in range(len(parts), 0, -1)]


def _end(end: tuple[int, str, int]) -> str:
    index, side, port = end
    return f'<connection operIndex="{index}" portIndex="{port}" portKind="{side}"/>'


def _ends(operator: _Operator, side: str, number: int) -> str:
    ends = operator.ends.get((side, number), [])
    return f"<connections>{''.join(map(_end, ends))}</connections>" if ends else ""


def plan_of(
    source: Adl | Application,
    fusion: Fusion,
    widths: dict[str, int] | None = None,
    *,
    previous: PlanRecord | None = None,
    digest: str = "digest",
    values: dict[str, str] | None = None,
    overrides: Iterable[tuple[str, int]] = (),
) -> PlanResult:
    """A plan of the job `job` with id 7."""
    return plan(
        replace(
            request_of(source, fusion),
            bundle_digest=digest,
            generation=1 if previous is None else previous.generation + 1,
            width_overrides=tuple(overrides),
            widths=widths or {},
            submission_time_values=values or {},
            previous=previous,
        )
    )


def request_of(source: Adl | Application, fusion: Fusion) -> PlanRequest:
    """The first generation of the job `job` with id 7."""
    return PlanRequest(
        application=source.application() if isinstance(source, Adl) else source,
        bundle_digest="digest",
        job_name="job",
        job_id=7,
        fusion=fusion,
    )
