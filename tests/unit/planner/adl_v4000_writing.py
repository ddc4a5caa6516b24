"""Writing an ADL of version 4200 as one of version 4000: the same application in the older form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy

from lxml import etree

NEW = "{http://www.ibm.com/xmlns/prod/streams/application/v4200}"
PLACE = {"sourceIndex": "0", "startLine": "1", "endLine": "1"}
RENAMED = {
    "splApplication": "application",
    "primitiveOperDefinitions": "operDefinitions",
    "primitiveOperDefinition": "operDefinition",
    "compositeOperDefinitions": "compositeOpers",
    "compositeOperDefinition": "compositeOper",
}
PORT_ATTRIBUTES = ("index", "name", "isMutable", "tupleTypeIndex", "isControl")
Element = etree._Element


def as_v4000(text: str, pes: Iterable[Iterable[str]]) -> str:
    """The document in version 4000; `pes`: names of the operators of each PE, as compiled."""
    root = etree.fromstring(text.encode())
    application = root.find(f"{NEW}splApplication")
    assert application is not None
    root.set("productVersion", str(application.attrib.pop("productVersion")))
    del application.attrib["avoidRuntimeYield"]
    operators = {str(item.get("name")): item for item in root.iter(f"{NEW}primitiveOperInstance")}
    written = etree.Element(f"{NEW}pes")
    for index, names in enumerate(pes):
        written.append(_pe(index, [operators[name] for name in names]))
    application.insert(3, written)
    _move_pseudo(root, written)
    for item in list(operators.values()):
        _bare(item)
    for item in root.iter(f"{NEW}primitiveOperDefinition"):
        del item.attrib["toolkitIndex"]
        item.set("runtimeType", "SPL_C++")
    for item in root.iter(f"{NEW}compositeOperInstance"):
        item.set("compositeOperIndex", str(item.attrib.pop("definitionIndex")))
        _set(item, PLACE)
    for item in root.iter(f"{NEW}*"):
        name = etree.QName(item).localname
        item.tag = f"{NEW}{RENAMED.get(name, name)}"
    return etree.tostring(root).decode().replace("streams/application/v4200", "streams/application")


def _child(parent: Element, name: str, **attributes: str) -> Element:
    return etree.SubElement(parent, f"{NEW}{name}", attributes)


def _set(element: Element, attributes: Mapping[str, str]) -> None:
    for name, value in attributes.items():
        element.set(name, value)


def _pe(index: int, operators: list[Element]) -> Element:
    first = operators[0]
    pe = etree.Element(f"{NEW}pe", {"index": str(index), "class": "pe", "language": "C++"})
    for name in ("optimized", "restartable", "relocatable"):
        pe.set(name, str(first.get(name)))
    pe.set("version", "4.1.0.0")
    _child(pe, "envVars")
    executable = _child(pe, "executable", dynamicLoad="true", digest="")
    shared = first.find(f"{NEW}sharedObject")
    assert shared is not None
    _child(executable, "wrapper").text = shared.findtext(f"{NEW}wrapper")
    _child(executable, "executableUri").text = shared.findtext(f"{NEW}uri")
    _child(executable, "arguments")
    _child(executable, "dependencies")
    instances = _child(pe, "operInstances")
    for operator in operators:
        _instance(instances, operator)
    tracing = first.find(f"{NEW}tracing")
    if tracing is not None:
        pe.append(deepcopy(tracing))
    for side in ("input", "output"):
        ports = _child(pe, f"{side}Ports")
        for operator in operators:
            for port in operator.iterfind(f"{NEW}{side}Ports/{NEW}port"):
                _pe_port(ports, side, operator, port)
    return pe


def _instance(parent: Element, operator: Element) -> None:
    shared = operator.find(f"{NEW}sharedObject")
    assert shared is not None
    instance = _child(parent, "operInstance", singleThreadedOnInputs="true")
    for name in (
        "index",
        "name",
        "definitionIndex",
        "singleThreadedOnOutputs",
        "restartable",
        "relocatable",
    ):
        instance.set(name, str(operator.get(name)))
    instance.set("class", str(shared.get("class")))
    for name in ("resources", "checkpointing", "runtimeConstants"):
        instance.extend(deepcopy(item) for item in operator.iterfind(f"{NEW}{name}"))
    for side in ("input", "output"):
        ports = _child(instance, f"{side}Ports")
        for port in operator.iterfind(f"{NEW}{side}Ports/{NEW}port"):
            written = _child(ports, f"{side}Port")
            for name in (*PORT_ATTRIBUTES, "streamName", "viewable"):
                if port.get(name) is not None:
                    written.set(name, str(port.get(name)))
            for queue in port.iterfind(f"{NEW}threadedPort"):
                written.append(deepcopy(queue))
                written[-1].set("singleThreadedOnInput", "true")


def _pe_port(parent: Element, side: str, operator: Element, port: Element) -> None:
    written = _child(parent, f"{side}Port", index=str(len(parent)))
    for name in ("tupleTypeIndex", "encoding", "transport"):
        written.set(name, str(port.get(name)))
    if side == "output":
        written.set("singleThreadedOnOutput", "true")
    _child(written, "staticConnections")
    ends = {f"{side[0]}portIndex": str(port.get("index"))}
    _child(written, "operInstanceConnection", operInstanceIndex=str(operator.get("index")), **ends)


def _move_pseudo(root: Element, pes: Element) -> None:
    """Imports and exports become ordinary operators, and what they move attributes of PE ports."""
    for kind, side, end in (("Import", "output", "input"), ("Export", "input", "output")):
        for item in list(root.iter(f"{NEW}primitive{kind}OperInstance")):
            port = item.find(f"{NEW}{side}Ports/{NEW}port")
            assert port is not None
            for connection in port.iter(f"{NEW}connection"):
                pe_port = next(
                    item
                    for item in pes.iter(f"{NEW}{end}Port")
                    for place in item.iterfind(f"{NEW}operInstanceConnection")
                    if place.get("operInstanceIndex") == connection.get("operIndex")
                    and place.get(f"{end[0]}portIndex") == connection.get("portIndex")
                )
                (_import if kind == "Import" else _export)(item, pe_port)
            _plain(item, f"spl.adapter::{kind}")


def _import(item: Element, pe_port: Element) -> None:
    streams = pe_port.find(f"{NEW}importedStreams")
    if streams is None:
        streams = etree.Element(f"{NEW}importedStreams")
        pe_port.insert(0, streams)
    if item.get("filter") is not None:
        streams.set("filter", str(item.get("filter")))
    for name in ("nameBasedImport", "propertyBasedImport"):
        for said in item.iterfind(f"{NEW}{name}"):
            written = deepcopy(said)
            written.set("importOperName", str(item.get("name")))
            written.set("index", str(len(streams) + 1))
            streams.append(written)


def _export(item: Element, pe_port: Element) -> None:
    written = etree.Element(f"{NEW}exportedStream", {"exportOperName": str(item.get("name"))})
    for name, old in (("streamName", "name"), ("allowFilter", "allowFilter")):
        if item.get(name) is not None:
            written.set(old, str(item.get(name)))
    written.extend(deepcopy(found) for found in item.iterfind(f"{NEW}properties"))
    pe_port.insert(0, written)


def _bare(operator: Element) -> None:
    definition = str(operator.get("definitionIndex"))
    kinds = {
        str(item.get("index")): str(item.get("kind"))
        for item in operator.getroottree().iter(f"{NEW}primitiveOperDefinition")
    }
    _plain(operator, kinds[definition])


def _plain(operator: Element, kind: str) -> None:
    """What version 4000 says of an operator in the tree: kind, name, index and connections."""
    kept = {name: str(operator.get(name)) for name in ("name", "index")}
    operator.tag = f"{NEW}primitiveOperInstance"
    operator.attrib.clear()
    _set(operator, {"kind": kind, "toolkitIndex": "0", **kept, **PLACE})
    for child in list(operator):
        if etree.QName(child).localname not in ("inputPorts", "outputPorts", "splAnnotation"):
            operator.remove(child)
    annotations = operator.findall(f"{NEW}splAnnotation")
    operator.extend(annotations)  # they stand behind the ports
    for annotation in annotations:
        annotation.attrib.pop("internal", "")
    for port in operator.iter(f"{NEW}port"):
        for name in list(port.attrib):
            if name != "index":
                del port.attrib[name]
        for queue in list(port.iterfind(f"{NEW}threadedPort")):
            port.remove(queue)
