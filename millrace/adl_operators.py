"""The operators of an ADL: ports, placement, constants and annotations of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from xml.etree import ElementTree

from millrace.adl_links import End, Links
from millrace.code import Code
from millrace.errors import GraphError
from millrace.graph import Graph, Operator
from millrace.parameters import Parameter, argument_text, constant_text
from millrace.placement import HostPool
from millrace.tuple_types import SCALARS, TupleType

Element = ElementTree.Element
child = ElementTree.SubElement
PROPERTY_TYPES = {str: "rstring", bool: "boolean", int: "int64", float: "float64"}


def text_of(flag: object) -> str:
    """A boolean as XML writes it."""
    return "true" if flag else "false"


def parameter_literal(parameter: Parameter[Any]) -> str | None:
    """The default of a submission-time value as SPL writes it: quoted text."""
    default = parameter.default
    if default is None:
        return None
    shown = text_of(default) if isinstance(default, bool) else str(default)
    if not shown.isprintable():
        raise GraphError(
            f"submission-time value {parameter.name}: its default {shown!r} has characters that "
            "cannot be printed"
        )
    return constant_text(shown)


@dataclass(frozen=True, slots=True)
class Running:
    """How an application runs on a cluster.

    `checkpoint_s`: how often operators save their state (seconds); None: never while they run.
    `keeps`: whether it stays when all of its sources have ended.
    """

    checkpoint_s: float | None = None
    keeps: bool = False


class Written:
    """Writes the operators of one graph into the elements of their composites."""

    def __init__(
        self,
        graph: Graph,
        pools: tuple[HostPool, ...],
        code: Code,
        links: Links,
        types: list[TupleType],
        kinds: list[str],
        running: Running,
    ) -> None:
        """What operators refer to by index, and how they run."""
        self._running = running
        self._graph = graph
        self._pools = pools
        self._code = code
        self._links = links
        self._types = types
        self._kinds = kinds
        self._digest = graph.digest

    def add(self, parent: Element, operator: Operator) -> None:
        """Add an operator, an import or an export to its composite."""
        if operator.role == "import":
            self._add_import(parent, operator)
        elif operator.role == "export":
            self._add_export(parent, operator)
        else:
            self._add_primitive(parent, operator)

    def _begun(self, parent: Element, tag: str, operator: Operator, definition: int) -> Element:
        line = str(self._line(operator))
        return child(
            parent,
            tag,
            name=self._graph.path(operator),
            index=str(self._links.operators[operator]),
            definitionIndex=str(definition),
            sourceIndex="0",
            startLine=line,
            endLine=line,
        )

    def _line(self, operator: Operator) -> int:
        found = getattr(operator.function, "__code__", None)
        if found is None or PurePath(found.co_filename).name != self._code.file.name:
            return 1
        return int(found.co_firstlineno)

    def _add_primitive(self, parent: Element, operator: Operator) -> None:
        definition = self._kinds.index(operator.kind)
        element = self._begun(parent, "primitiveOperInstance", operator, definition)
        for name in ("optimized", "restartable", "relocatable", "singleThreadedOnOutputs"):
            element.set(name, "true")
        self._annotate(element, operator)
        self._add_inputs(element, operator)
        self._add_outputs(element, operator)
        child(element, "envVars")
        self._add_resources(element, operator)
        if self._running.checkpoint_s is not None and operator.has_state:
            period = f"{self._running.checkpoint_s:g}"
            child(element, "checkpointing", policy="periodic", period=period)
        constants = child(element, "runtimeConstants")
        for name, value, index in self._constants(operator):
            constant = child(constants, "runtimeConstant", name=name, value=value)
            if index is not None:
                constant.set("submissionTimeValueIndex", str(index))
        shared = child(element, "sharedObject", {"class": self._graph.path(operator)})
        child(shared, "wrapper").text = "none"
        child(shared, "uri").text = f"python/{self._code.module.replace('.', '/')}.py"
        self._add_partitions(element, operator)
        child(element, "tracing", level="error")

    def _annotate(self, element: Element, operator: Operator) -> None:
        if given := [each for each in operator.fn_kwargs.values() if isinstance(each, Parameter)]:
            annotation = child(element, "splAnnotation", {"tag": "millraceValues"})
            for each in given:  # what a submission gives is checked by these types
                index = str(self._graph.parameters.index(each))
                child(annotation, "value", key=index, type=SCALARS[each.type]).text = each.name
        if not operator.has_state:
            return
        annotation = child(element, "splAnnotation", {"tag": "millraceState"})
        at_resize = "refuse" if operator.state is None else operator.state.at_resize
        for key, type_, text in (
            ("scope", "rstring", "key" if operator.key else "operator"),
            ("key", "rstring", ",".join(operator.key)),
            ("followsWidth", "boolean", text_of(operator.follows_width)),
            ("atResize", "rstring", at_resize),
        ):
            child(annotation, "value", key=key, type=type_).text = text

    def _port(self, parent: Element, name: str, tuple_type: TupleType) -> Element:
        return child(
            parent,
            "port",
            index="0",
            name=name,
            encoding="LE",
            transport="TCP",
            isMutable="false",
            tupleTypeIndex=str(self._types.index(tuple_type)),
        )

    def _add_inputs(self, element: Element, operator: Operator) -> None:
        if operator.takes is not None:
            port = self._port(child(element, "inputPorts"), "In", operator.takes)
            if ends := self._links.inputs[operator]:
                self.add_connections(child(port, "connections"), ends)

    def _add_outputs(self, element: Element, operator: Operator) -> None:
        if operator.gives is not None:
            port = self._port(child(element, "outputPorts"), "Out", operator.gives)
            port.set("streamName", self._graph.path(operator))
            port.set("viewable", "true")
            if ends := self._links.outputs[operator]:
                self.add_connections(child(port, "connections"), ends)

    @staticmethod
    def add_connections(parent: Element, ends: Iterable[End]) -> None:
        """The other ends of a port's connections."""
        for end in ends:
            child(
                parent,
                "connection",
                operIndex=str(end.operator),
                operName=end.name,
                portIndex=str(end.port),
                portKind=end.side,
            )

    def _add_resources(self, element: Element, operator: Operator) -> None:
        place = operator.placement
        resources = child(element, "resources")
        if place.host_isolated:
            resources.set("isolation", "true")
        if place.host is not None:
            child(resources, "hostLocation", hostname=place.host)
        else:
            index = 0 if place.pool is None else 1 + self._pools.index(place.pool)
            child(resources, "poolLocation", poolIndex=str(index))
        for group in place.host_colocations:
            child(resources, "coLocation", colocId=group)
        for group in place.host_exlocations:
            child(resources, "exLocation", exlocId=group)

    def _add_partitions(self, element: Element, operator: Operator) -> None:
        place = operator.placement
        if not (place.pe_colocations or place.pe_exlocations or place.pe_isolated):
            return
        partitions = child(element, "partitions")
        if place.pe_isolated:
            partitions.set("isolation", "true")
        for group in place.pe_colocations:
            child(partitions, "coLocation", colocId=group)
        for group in place.pe_exlocations:
            child(partitions, "exLocation", exlocId=group)

    def _constants(self, operator: Operator) -> Iterator[tuple[str, str, int | None]]:
        """Name, JSON text and, if it is a submission-time value, the index of each constant."""
        fixed: dict[str, Any] = {
            "millrace.module": self._code.module,
            "millrace.app": self._code.variable,
            "millrace.graph": self._digest,
            "millrace.onError": operator.on_error,
        }
        if self._running.keeps:
            fixed["millrace.keepRunning"] = True
        if operator.key:
            fixed["millrace.key"] = list(operator.key)
        if (window := operator.window) is not None:
            fixed["millrace.window.by"] = window.by
            fixed["millrace.window.size"] = window.size
            fixed["millrace.window.every"] = window.every
        for name, value in fixed.items():
            yield name, constant_text(value), None
        for name, value in operator.fn_kwargs.items():
            if isinstance(value, Parameter):
                index = self._graph.parameters.index(value)
                yield f"argument.{name}", parameter_literal(value) or '""', index
            else:
                yield f"argument.{name}", argument_text(value), None

    def _add_import(self, parent: Element, operator: Operator) -> None:
        element = self._begun(parent, "primitiveImportOperInstance", operator, 0)
        self._add_outputs(element, operator)
        options = operator.options
        if options["filter"] is not None:
            element.set("filter", options["filter"])
        if options["subscription"] is not None:
            child(element, "propertyBasedImport", subscription=options["subscription"])
        else:
            child(
                element,
                "nameBasedImport",
                applicationName=options["application"],
                streamName=options["stream"],
            )

    def _add_export(self, parent: Element, operator: Operator) -> None:
        element = self._begun(parent, "primitiveExportOperInstance", operator, 0)
        options = operator.options
        element.set("allowFilter", text_of(options["allow_filter"]))
        element.set("congestionPolicy", options["congestion"])
        self._add_inputs(element, operator)
        if options["stream"] is not None:
            element.set("streamName", options["stream"])
            return
        properties = child(element, "properties")
        for name, value in options["properties"].items():
            values = value if isinstance(value, list) else [value]
            type_ = PROPERTY_TYPES[type(values[0])] if values else "rstring"
            shown = f"list<{type_}>" if isinstance(value, list) else type_
            holder = child(properties, "property", name=name, type=shown)
            for each in values:
                child(holder, "value").text = constant_text(each)
