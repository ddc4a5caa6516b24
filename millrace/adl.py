"""From a graph to the application description (ADL, version 4200) that the control plane plans.

Each operator says as runtime constants which module, application and graph it belongs to, so that a
processing element imports the module again and finds its function by the operator's logical name.
Values of constants are JSON texts (`parameters.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from xml.etree import ElementTree

from millrace.adl_links import End, Links, Scope
from millrace.adl_operators import Running, Written, parameter_literal, text_of
from millrace.code import Code
from millrace.graph import Graph, Operator, Region, types
from millrace.parameters import Parameter, check_text
from millrace.placement import HostPool
from millrace.tuple_types import Attribute, ValueType

NAMESPACE: Final = "http://www.ibm.com/xmlns/prod/streams/application/v4200"
TUPLE_NAMESPACE: Final = "http://www.ibm.com/xmlns/prod/streams/spl/tupleType"
PRODUCT_VERSION: Final = "4.3.0.0"
DEFAULT_POOL: Final = "$default"
Element = ElementTree.Element
child = ElementTree.SubElement


def adl_of(
    graph: Graph,
    pools: tuple[HostPool, ...],
    code: Code,
    running: Running | None = None,
) -> bytes:
    """The ADL of a graph, in UTF-8; equal graphs give equal bytes."""
    return _Document(graph, pools, code, running or Running()).text()


class _Document:
    def __init__(
        self,
        graph: Graph,
        pools: tuple[HostPool, ...],
        code: Code,
        running: Running,
    ) -> None:
        self.graph = graph
        self.pools = pools
        self.code = code
        self.links = Links(graph)
        found = [each for operator in graph.operators for each in types(operator) if each]
        self.types = list(dict.fromkeys(found))
        self.kinds = list(dict.fromkeys(each.kind for each in graph.running))
        self.written = Written(graph, pools, code, self.links, self.types, self.kinds, running)

    def text(self) -> bytes:
        name = self.graph.name.replace("::", ".")
        root = Element("applicationSet", {"xmlns": NAMESPACE, "xmlns:tt": TUPLE_NAMESPACE})
        root.set("name", f"{self.graph.name}.appset")
        application = child(
            root,
            "splApplication",
            name=self.graph.name,
            applicationScope="Default",
            version=self.code.version,
            applicationDirectory=".",
            outputDirectory="output",
            adlPath=f"output/{name}.adl",
            buildId="",
            bundle=f"./{name}.sab",
            avoidRuntimeYield="auto",
            productVersion=PRODUCT_VERSION,
        )
        child(application, "libraries")
        self._pools(child(application, "hostpools"))
        self._types(child(application, "tupleTypes"))
        self._kinds(child(application, "primitiveOperDefinitions"))
        self._composites(child(application, "composites"))
        toolkits = child(application, "toolkits")
        child(toolkits, "toolkit", index="0", name=name, version=self.code.version)
        child(toolkits, "toolkit", index="1", name="millrace", version="1.0.0")
        if self.graph.regions:
            self._regions(child(application, "parallelRegions"))
        if self.graph.parameters:
            self._parameters(child(application, "submissionTimeValues"))
        for element in root.iter():
            for key, value in (*element.items(), ("text", element.text or "")):
                check_text(value, f"{key} of a {element.tag} of {self.graph.name}")
        ElementTree.indent(root)
        text: bytes = ElementTree.tostring(root, encoding="UTF-8", xml_declaration=True)
        return text + b"\n"

    def _pools(self, parent: Element) -> None:
        child(parent, "hostpool", index="0", name=DEFAULT_POOL, membershipMode="shared")
        for index, pool in enumerate(self.pools, start=1):
            mode = "exclusive" if pool.exclusive else "shared"
            element = child(
                parent, "hostpool", index=str(index), name=pool.name, membershipMode=mode
            )
            if pool.size is not None:
                element.set("size", str(pool.size))
            for tag in pool.tags:
                child(element, "tag", name=tag)

    def _types(self, parent: Element) -> None:
        for index, each in enumerate(self.types):
            element = child(parent, "tupleType", index=str(index))
            for attribute in each.attributes:
                child(element, "attribute", name=attribute.name, type=attribute.type.spl)
            _add_attributes(child(element, "tuple"), each.attributes)

    def _kinds(self, parent: Element) -> None:
        for index, kind in enumerate(self.kinds):
            child(
                parent,
                "primitiveOperDefinition",
                index=str(index),
                kind=kind,
                runtimeType="SPL_CPlusPlus",
                toolkitIndex="1",
            )

    def _composites(self, parent: Element) -> None:
        child(child(parent, "sourceUris"), "uri", index="0", path=self.code.file.name)
        definitions = child(parent, "compositeOperDefinitions")
        for index, scope in enumerate(self.links.scopes):
            into = self.links.into if scope is not None else {}
            child(
                definitions,
                "compositeOperDefinition",
                index=str(index),
                kind=self.graph.name if scope is None else f"{self.graph.name}.{self._name(scope)}",
                numberOfInputPorts=str(int(scope in into)),
                numberOfOutputPorts=str(len(self._outputs(scope))),
                toolkitIndex="0",
                sourceIndex="0",
                startLine="1",
                endLine="1",
            )
        self._composite(child(parent, "compositeOperInstances"), None)

    def _name(self, scope: Region) -> str:
        return self.graph.path(scope)

    def _outputs(self, scope: Scope) -> Mapping[Operator, tuple[list[End], list[End]]]:
        return {} if scope is None else self.links.out_of.get(scope, {})

    def _composite(self, parent: Element, scope: Scope) -> None:
        element = child(
            parent,
            "compositeOperInstance",
            name=self.graph.name if scope is None else self._name(scope),
            index=str(self.links.composites[scope]),
            definitionIndex=str(self.links.scopes.index(scope)),
            sourceIndex="0",
            startLine="1",
            endLine="1",
        )
        if scope is not None:
            if scope in self.links.into:
                _add_ports(element, "inputPorts", [self.links.into[scope]])
            if outputs := self._outputs(scope):
                _add_ports(element, "outputPorts", outputs.values())
        for inner in self.links.scopes[1:]:
            if inner is not None and self.links.scope(inner.parent) is scope:
                self._composite(element, inner)
        for operator in self.graph.operators:
            if self.links.scope(operator.region) is scope:
                self.written.add(element, operator)

    def _regions(self, parent: Element) -> None:
        for index, region in enumerate(self.graph.regions):
            element = child(
                parent, "parallelRegion", index=str(index), name=self.graph.path(region)
            )
            if self.graph.is_composite(region):
                root = self.links.composites[region]
            else:
                root = self.links.operators[self.graph.members(region)[0]]
            root_element = child(element, "parallelOperator", operIndex=str(root))
            if region.entry is not None:
                splitter = child(root_element, "splitter", kind=region.kind, iportIndex="0")
                if region.key:
                    attributes = child(splitter, "attributes")
                    for name in region.key:
                        child(attributes, "attribute", name=name)
            width = child(element, "parallelWidth")
            if isinstance(region.width, Parameter):
                reference = child(width, "submissionTimeParameterIndexForWidth")
                reference.text = str(self.graph.parameters.index(region.width))
            else:
                child(width, "constantWidth").text = str(region.width)

    def _parameters(self, parent: Element) -> None:
        for index, each in enumerate(self.graph.parameters):
            element = child(
                parent,
                "submissionTimeValue",
                index=str(index),
                kind="named",
                compositeName=self.graph.name,
                name=each.name,
                required=text_of(each.default is None),
            )
            if (literal := parameter_literal(each)) is not None:
                element.set("defaultValue", literal)


def _add_ports(parent: Element, tag: str, ports: Iterable[tuple[list[End], list[End]]]) -> None:
    element = child(parent, tag)
    for index, (incoming, outgoing) in enumerate(ports):
        port = child(element, "port", index=str(index))
        for holder, ends in (("incomingConnections", incoming), ("outgoingConnections", outgoing)):
            if ends:
                Written.add_connections(child(port, holder), ends)


def _add_attributes(parent: Element, attributes: tuple[Attribute, ...]) -> None:
    for each in attributes:
        element = child(parent, "tt:attr", name=each.name)
        _add_value(element, each.type, "type")


def _add_value(parent: Element, value: ValueType, name: str) -> None:
    """A type: in an attribute if it is a scalar, else in an element."""
    if value.name == "tuple":
        _add_attributes(child(parent, "tt:tuple"), value.attributes)
    elif value.name == "map":
        element = child(parent, "tt:map")
        for part, scalar, holder in zip(
            value.parts, ("keyType", "valueType"), ("tt:key", "tt:value"), strict=True
        ):
            if part.parts or part.attributes:
                _add_value(child(element, holder), part, "")
            else:
                element.set(scalar, part.spl)
    elif value.parts:
        element = child(parent, f"tt:{value.name}")
        _add_value(element, value.parts[0], "type" if value.name == "optional" else "elementType")
    else:
        parent.set(name, value.spl)
