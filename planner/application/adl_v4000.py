"""From an ADL of version 4000 to the elements of version 4200, which adl.py reads.

The older version describes an application twice: as a tree of composites in which operators have
little more than a name, and as the PEs that the compiler fused, with all that is physical.

1. index the PEs: operators by index, PE ports by operator port, imports and exports by name;
2. give each operator of the tree what its twin in a PE says; `spl.adapter::Import` and `Export` are
   ordinary operators of the tree, PE ports declare what they move;
3. operators of one PE get the co-location id `pe<index>`, so that they are fused as compiled;
4. take the names of version 4200 for everything else.

The elements are changed in place and keep their lines, so that refusals lead to the document.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml import etree

from contracts.reasons import Reason
from planner.application.adl_nodes import NAMESPACE, Node
from planner.refusals import PlanRefused, shown

OLD_NAMESPACE = "http://www.ibm.com/xmlns/prod/streams/application"
PRODUCT_VERSION = "4.1.0.0"
IMPORT_KIND = "spl.adapter::Import"
EXPORT_KIND = "spl.adapter::Export"
_PSEUDO = {
    IMPORT_KIND: "primitiveImportOperInstance",
    EXPORT_KIND: "primitiveExportOperInstance",
}
_RENAMED = {
    "application": "splApplication",
    "operDefinitions": "primitiveOperDefinitions",
    "operDefinition": "primitiveOperDefinition",
    "compositeOpers": "compositeOperDefinitions",
    "compositeOper": "compositeOperDefinition",
}
_OF_PES = {"encoding": "LE", "transport": "TCP"}
"""What only PE ports say, and what is taken where a stream stays inside its PE."""
_OF_OPERATORS = (
    "definitionIndex",
    "restartable",
    "relocatable",
    "singleThreadedOnOutputs",
)
SHARED_CHARS_MAX = 4096
"""Of a text of a PE that each of its operators gets."""
CAPABILITIES_MAX = 64
_OF_PORTS = ("name", "isMutable", "tupleTypeIndex", "isControl", "streamName", "viewable")

Element = etree._Element
Place = tuple[str, str]
"""(operator index, port index) as they are written."""


@dataclass(slots=True)
class _Physical:
    """What the PEs say: `pe_of` by operator index, ports by place, imports and exports by name.

    `fused`: the operators that are not alone in their PE; `users`: definitions, and PEs that use
    them. What was given to an element is taken out, so that nothing is given twice.
    """

    operators: dict[str, Element] = field(default_factory=dict)
    pe_of: dict[str, Element] = field(default_factory=dict)
    fused: set[str] = field(default_factory=set)
    users: dict[tuple[str, Element], None] = field(default_factory=dict)
    inputs: dict[Place, Element] = field(default_factory=dict)
    outputs: dict[Place, Element] = field(default_factory=dict)
    imports: dict[str, tuple[Element, Element]] = field(default_factory=dict)
    exports: dict[str, tuple[Element, Element]] = field(default_factory=dict)


def upgraded(root: Element) -> Element:
    """The applicationSet of version 4000 as one of version 4200. Raises PlanRefused."""
    for element in root.iter(f"{{{OLD_NAMESPACE}}}*"):
        name = etree.QName(element).localname
        element.tag = f"{{{NAMESPACE}}}{_RENAMED.get(name, name)}"
    application = Node(root).child("splApplication")
    if application is not None:
        _upgrade(application)
    return root


def _upgrade(application: Node) -> None:
    application.element.set("productVersion", PRODUCT_VERSION)
    application.element.set("avoidRuntimeYield", "auto")
    physical = _physical(application)
    toolkits: dict[str, str] = {}
    for element in list(application.element.iter(_tag("primitiveOperInstance"))):
        node = Node(element)
        if (pseudo := _PSEUDO.get(node.get("kind") or "")) is not None:
            element.tag = _tag(pseudo)
            _move(node, physical)
            continue
        _merge(node, physical)
        toolkits[element.get("definitionIndex", "")] = str(node.number("toolkitIndex"))
    for element in application.element.iter(_tag("compositeOperInstance")):
        element.set("definitionIndex", Node(element).required("compositeOperIndex"))
    for element in application.element.iter(_tag("splitter")):
        if element.get("kind") != "RoundRobin":
            element.set("kind", "Hash")
    _define(application, toolkits, physical)


def _tag(name: str) -> str:
    return f"{{{NAMESPACE}}}{name}"


def _physical(application: Node) -> _Physical:
    physical = _Physical()
    for pe in application.required_child("pes").children("pe"):
        _check_shared(pe)
        members = list(pe.within("operInstances", "operInstance"))
        if len(members) > 1:
            physical.fused.update(member.required("index") for member in members)
        for operator in members:
            index = operator.required("index")
            if index in physical.operators:
                operator.refuse("index", index, "stands in two PEs")
            physical.operators[index] = operator.element
            physical.pe_of[index] = pe.element
            physical.users[operator.required("definitionIndex"), pe.element] = None
        for port in pe.within("inputPorts", "inputPort"):
            physical.inputs[_place(port, "iportIndex")] = port.element
            streams = port.child("importedStreams")
            for entry in () if streams is None else _elements(streams.element):
                name = Node(entry).required("importOperName")
                physical.imports.setdefault(name, (port.element, entry))
        for port in pe.within("outputPorts", "outputPort"):
            # A port behind a splitter says nothing that the port itself does not.
            physical.outputs.setdefault(_place(port, "oportIndex"), port.element)
            for stream in port.children("exportedStream"):
                name = stream.required("exportOperName")
                physical.exports.setdefault(name, (port.element, stream.element))
    return physical


def _check_shared(pe: Node) -> None:
    """A PE has many operators: what each of them gets must not be large."""
    for name in ("optimized", "restartable", "relocatable"):
        pe.flag(name)
    pe.number("index")
    shared = [pe.child("display"), pe.child("tracing"), *pe.children("executable")]
    for node in (each for each in shared if each is not None):
        for element in node.element.iter():
            if len(element.text or "") + sum(map(len, element.values())) > SHARED_CHARS_MAX:
                node.refuse("text", "", f"has more than {SHARED_CHARS_MAX} characters")
    if sum(1 for _ in pe.children("capability")) > CAPABILITIES_MAX:
        pe.refuse("capability", "", f"has more than {CAPABILITIES_MAX} capabilities")


def _elements(parent: Element) -> Iterator[Element]:
    return (child for child in parent if isinstance(child.tag, str))


def _place(port: Node, attribute: str) -> Place:
    end = port.required_child("operInstanceConnection")
    return end.required("operInstanceIndex"), end.required(attribute)


# --------------------------------------------------------------------------- operators


def _merge(node: Node, physical: _Physical) -> None:
    """Gives an operator what its twin and the PE of its twin say."""
    index = node.required("index")
    twin = physical.operators.pop(index, None)
    if twin is None:
        node.refuse("index", index, "is in no PE")
    element, pe = node.element, physical.pe_of[index]
    for name in _OF_OPERATORS:
        _copy(element, name, twin, pe)
    _copy(element, "optimized", pe)
    for side, ports in (("input", physical.inputs), ("output", physical.outputs)):
        _merge_ports(node, Node(twin), side, ports)
    for name in ("resources", "checkpointing", "runtimeConstants"):
        element.extend(list(twin.iterchildren(_tag(name))))
    for name in ("display", "tracing"):
        if (child := Node(pe).child(name)) is not None:
            _add(element, child.element, name, **_attributes(child.element))
    _share_library(node, Node(twin), Node(pe))
    if index in physical.fused:
        partitions = _add(element, pe, "partitions")
        _add(partitions, pe, "coLocation", colocId=f"pe{Node(pe).required('index')}")


def _copy(element: Element, name: str, *sources: Element) -> None:
    """Takes an attribute from the first of the sources that has it."""
    for source in sources:
        value = source.get(name)
        if value is not None:
            element.set(name, value)
            return


def _add(parent: Element, like: Element, name: str, /, **attributes: str) -> Element:
    """A new child that stands in the line of `like`."""
    child = etree.SubElement(parent, _tag(name), attributes)
    child.sourceline = like.sourceline
    return child


def _share_library(node: Node, twin: Node, pe: Node) -> None:
    executable = pe.child("executable")
    shared = _add(node.element, twin.element, "sharedObject", **{"class": twin.required("class")})
    for name, old in (("wrapper", "wrapper"), ("uri", "executableUri")):
        found = None if executable is None else executable.child(old)
        if found is not None:
            _add(shared, found.element, name).text = found.text


def _merge_ports(node: Node, twin: Node, side: str, pe_ports: dict[Place, Element]) -> None:
    declared = {port.required("index"): port for port in twin.within(f"{side}Ports", f"{side}Port")}
    for port in node.within(f"{side}Ports", "port"):
        index = port.required("index")
        found = declared.pop(index, None)
        if found is None:
            port.refuse("index", index, f"of {shown(node.get('name'))} is in no PE")
        for name in _OF_PORTS:
            _copy(port.element, name, found.element)
        _transport(port.element, pe_ports.get((node.required("index"), index)))
        port.element.extend(list(found.element.iterchildren(_tag("threadedPort"))))


def _transport(port: Element, pe_port: Element | None) -> None:
    for name, otherwise in _OF_PES.items():
        port.set(name, otherwise)
        if pe_port is not None:
            _copy(port, name, pe_port)


# --------------------------------------------------------------------------- imports, exports


def _move(node: Node, physical: _Physical) -> None:
    """Gives an Import or Export what the PE port says through which its stream comes or goes."""
    name, element = node.required("name"), node.element
    is_import = node.get("kind") == IMPORT_KIND
    found = (physical.imports if is_import else physical.exports).pop(name, None)
    if found is None:
        node.refuse("name", name, f"is named by no PE port as what it {_moves(is_import)}")
    pe_port, declared = found
    side = "output" if is_import else "input"
    port = next(iter(node.within(f"{side}Ports", "port")), None)
    if port is not None:
        for attribute, value in (("name", name), ("streamName", name), ("isMutable", "false")):
            port.element.set(attribute, value)
        _copy(port.element, "tupleTypeIndex", pe_port)
        _transport(port.element, pe_port)
    if is_import:
        streams = declared.getparent()
        if streams is not None:
            _copy(element, "filter", streams)
        _add(element, declared, etree.QName(declared).localname, **_attributes(declared))
        return
    _copy(element, "allowFilter", declared)
    if (stream := declared.get("name")) is not None:
        element.set("streamName", stream)
    element.extend(list(declared.iterchildren(_tag("properties"))))


def _moves(is_import: bool) -> str:
    return "imports" if is_import else "exports"


def _attributes(element: Element) -> dict[str, str]:
    return {str(key): str(value) for key, value in element.items()}


# --------------------------------------------------------------------------- definitions


def _define(application: Node, toolkits: dict[str, str], physical: _Physical) -> None:
    """Toolkits of definitions are those of their operators; nobody uses one without operators.

    All definitions are of C++. The permissions of a PE are those of the definitions that it uses.
    """
    capabilities: dict[str, dict[str, Element]] = {}
    for used, pe in physical.users:
        allowed = capabilities.setdefault(used, {})
        allowed.update((item.text or "", item) for item in pe.iterchildren(_tag("capability")))
    definitions = application.child("primitiveOperDefinitions")
    if definitions is None:
        return
    for definition in list(definitions.children("primitiveOperDefinition")):
        element, index = definition.element, definition.required("index")
        if index not in toolkits:
            definitions.element.remove(element)
            continue
        element.set("toolkitIndex", toolkits[index])
        element.set("runtimeType", "SPL_CPlusPlus")
        for text, item in capabilities.get(index, {}).items():
            _add(element, item, "capability").text = text


def foreign(root: Element) -> PlanRefused:
    """The refusal of a document whose root is in neither namespace."""
    name = etree.QName(root)
    return PlanRefused(
        Reason.ADL_INVALID,
        field="ADL root",
        value=name.text,
        message=f"the root of the ADL is {shown(name.text)!r}, not an applicationSet of version"
        f" 4200 ({NAMESPACE}) or 4000 ({OLD_NAMESPACE})",
    )
