"""Reading the operators of an ADL: composites, primitives, Import and Export pseudo operators.

Large applications repeat themselves, so parts of operators that are equal are kept once (`once`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar, cast

from planner.application import model
from planner.application.adl_nodes import TAGS, Element, Node

DEFAULT_SCOPE = "Default"
ENCODINGS = ("NBO", "LE", "BE")
Port = TypeVar("Port", model.InputPort, model.OutputPort)
TRACE_LEVELS = ("off", "error", "warn", "info", "debug", "trace")

DefinitionAnnotations = Mapping[int, tuple[Node, ...]]
MembersRead = Mapping[Element, list[model.Member]]
"""The members of composites that were read while the document was parsed (adl_streaming.py)."""


def read_composite(
    node: Node, definitions: DefinitionAnnotations, read: MembersRead, *, is_main: bool = False
) -> model.Composite:
    """A composite instance with everything inside. `definitions`: annotations by position."""
    definition = definitions.get(node.number("definitionIndex"))
    if definition is None:
        node.refuse("definitionIndex", node.get("definitionIndex"), "has an unknown definition")
    return model.Composite(
        index=node.number("index"),
        own_name="" if is_main else _own_name(node),
        inputs=tuple(map(_composite_port, node.within("inputPorts", "port"))),
        outputs=tuple(map(_composite_port, node.within("outputPorts", "port"))),
        composites=tuple(
            read_composite(inner, definitions, read)
            for inner in node.children("compositeOperInstance")
        ),
        members=(*read.get(node.element, ()), *_members(node)),
        annotations=_annotations(node.children("splAnnotation")),
        definition_annotations=_annotations(definition),
    )


def _own_name(node: Node) -> str:
    name = node.required("name")
    own = name.rpartition(".")[2]
    if not own:
        node.refuse("name", node.get("name"), "has no usable name")
    return node.kept.once(own)


def _members(node: Node) -> Iterator[model.Member]:
    for element in node.element:
        if element.tag in _READERS:
            yield read_member(Node(element, node.kept))


def read_member(node: Node) -> model.Member:
    """An element with one of `MEMBER_TAGS`."""
    return _READERS[node.element.tag](node)


def _references(node: Node, holder: str) -> tuple[model.PortRef, ...]:
    return node.kept.once(
        tuple(
            model.PortRef(
                operator=item.number("operIndex"),
                side=cast(model.Side, item.choice("portKind", ("input", "output"))),
                port=item.number("portIndex"),
            )
            for item in node.within(holder, "connection")
        )
    )


def _ports(node: Node, holder: str, read: Callable[[Node], Port]) -> tuple[Port, ...]:
    return node.kept.once(tuple(map(read, node.within(holder, "port"))))


def _composite_port(node: Node) -> model.CompositePort:
    return model.CompositePort(
        index=node.number("index"),
        incoming=_references(node, "incomingConnections"),
        outgoing=_references(node, "outgoingConnections"),
    )


def _input_port(node: Node) -> model.InputPort:
    threaded = node.child("threadedPort")
    return model.InputPort(
        index=node.number("index"),
        name=node.required("name"),
        encoding=node.choice("encoding", ENCODINGS),
        transport=node.choice("transport", ("TCP",)),
        tuple_type=node.number("tupleTypeIndex"),
        is_mutable=node.flag("isMutable"),
        is_control=None if node.get("isControl") is None else node.flag("isControl"),
        connections=_references(node, "connections"),
        threaded=None if threaded is None else _threaded(threaded),
    )


def _threaded(node: Node) -> model.ThreadedPort:
    size = node.optional_number("queueSize")
    return model.ThreadedPort(
        congestion_policy=node.choice("congestionPolicy", ("wait", "dropFirst", "dropLast")),
        queue_size=None if size is None else str(size),
    )


def _output_port(node: Node) -> model.OutputPort:
    return model.OutputPort(
        index=node.number("index"),
        name=node.required("name"),
        encoding=node.choice("encoding", ENCODINGS),
        transport=node.choice("transport", ("TCP",)),
        tuple_type=node.number("tupleTypeIndex"),
        is_mutable=node.flag("isMutable"),
        stream_name=node.required("streamName"),
        viewable=node.flag("viewable", default=True),
        connections=_references(node, "connections"),
    )


def _primitive(node: Node) -> model.Primitive:
    shared = node.required_child("sharedObject")
    wrapper = shared.child("wrapper")
    uri = shared.child("uri")
    tracing = node.child("tracing")
    checkpointing = node.child("checkpointing")
    display = node.child("display")
    return model.Primitive(
        index=node.number("index"),
        name=node.required("name"),
        own_name=_own_name(node),
        definition=node.number("definitionIndex"),
        optimized=node.flag("optimized"),
        single_threaded_on_outputs=node.flag("singleThreadedOnOutputs"),
        inputs=_ports(node, "inputPorts", _input_port),
        outputs=_ports(node, "outputPorts", _output_port),
        constraints=node.kept.once(_constraints(node)),
        checkpointing=None if checkpointing is None else _checkpointing(checkpointing),
        constants=node.kept.once(
            tuple(map(_constant, node.within("runtimeConstants", "runtimeConstant")))
        ),
        display=None if display is None else _constant(display),
        class_name=shared.required("class"),
        wrapper="none" if wrapper is None else wrapper.text,
        uri="" if uri is None else uri.text,
        annotations=node.kept.once(_annotations(node.children("splAnnotation"))),
        tracing=None if tracing is None else tracing.choice("level", TRACE_LEVELS),
        structured=tuple(map(_structured, node.children("annotation"))),
    )


def _checkpointing(node: Node) -> tuple[str, str | None]:
    policy = node.choice("policy", ("periodic", "operatorDriven"))
    period = node.get("period")
    if period is not None:
        try:
            float(period)
        except ValueError:
            node.refuse("period", period, f"has period={period!r}, not a number")
    return policy, period


def _constant(node: Node) -> model.RuntimeConstant:
    value = node.required("value")
    return model.RuntimeConstant(
        name=node.required("name"),
        value=value,
        submission_value=node.optional_number("submissionTimeValueIndex"),
    )


def _constraints(node: Node) -> model.Constraints:
    resources = node.required_child("resources")
    partitions = node.child("partitions")
    host = resources.child("hostLocation")
    pool = resources.child("poolLocation")
    jvm = node.child("jvmArguments")
    return model.Constraints(
        host=None if host is None else host.word("hostname"),
        pool=None if pool is None else pool.number("poolIndex"),
        pool_slot=None if pool is None else pool.optional_number("inpoolIndex"),
        # The original takes the attribute's presence for true, whatever it says.
        host_isolation=resources.get("isolation") is not None,
        host_colocations=_ids(resources, "coLocation", "colocId"),
        host_exlocations=_ids(resources, "exLocation", "exlocId"),
        isolation=partitions is not None and partitions.flag("isolation", default=False),
        colocations=_ids(partitions, "coLocation", "colocId"),
        exlocations=_ids(partitions, "exLocation", "exlocId"),
        restartable=node.flag("restartable"),
        relocatable=node.flag("relocatable"),
        jvm_arguments=None
        if jvm is None
        else tuple(item.text for item in jvm.children("jvmArgument")),
    )


def _ids(node: Node | None, element: str, attribute: str) -> tuple[str, ...]:
    if node is None:
        return ()
    return tuple(dict.fromkeys(item.required(attribute) for item in node.children(element)))


def _annotations(nodes: Iterable[Node]) -> tuple[model.Annotation, ...]:
    return tuple(
        model.Annotation(
            tag=node.required("tag"),
            entries=tuple(
                model.AnnotationEntry(
                    key=value.required("key"),
                    type=value.required("type"),
                    text=value.text,
                    submission_value=value.optional_number("submissionTimeValueIndex"),
                )
                for value in node.children("value")
            ),
        )
        for node in nodes
    )


def _structured(node: Node) -> model.StructuredAnnotation:
    return model.StructuredAnnotation(
        tag=node.required("tag"), entries=_attributes(node.required_child("tuple"))
    )


def _attributes(node: Node) -> tuple[tuple[str, model.AnnotationValue], ...]:
    return tuple((item.required("key"), _value(item)) for item in node.children("attr"))


def _value(node: Node) -> model.AnnotationValue:
    """Of an `attr` or a `listEntry`: a text, a list or a tuple."""
    if (inside := node.child("tuple")) is not None:
        return "tuple", _attributes(inside)
    if (inside := node.child("list")) is not None:
        return "list", tuple(map(_value, inside.children("listEntry")))
    return node.required("value")


def _import(node: Node) -> model.Import:
    by_name = node.child("nameBasedImport")
    by_properties = node.child("propertyBasedImport")
    chosen = by_name or by_properties
    if chosen is None:
        node.refuse("nameBasedImport", "", "imports neither by name nor by properties")
    return model.Import(
        index=node.number("index"),
        own_name=_own_name(node),
        outputs=_ports(node, "outputPorts", _output_port),
        filter=node.get("filter"),
        scope=chosen.get("applicationScope") or DEFAULT_SCOPE,
        application=None if by_name is None else by_name.required("applicationName"),
        stream=None if by_name is None else by_name.required("streamName"),
        subscription=None if by_name is not None else chosen.required("subscription"),
    )


def _export(node: Node) -> model.Export:
    properties = node.child("properties")
    return model.Export(
        index=node.number("index"),
        own_name=_own_name(node),
        inputs=_ports(node, "inputPorts", _input_port),
        stream=node.get("streamName"),
        allow_filter=node.flag("allowFilter", default=True),
        congestion_policy=node.choice("congestionPolicy", ("wait", "dropConnection"), "wait"),
        properties=None
        if properties is None
        else tuple(map(_property, properties.children("property"))),
    )


def _property(node: Node) -> model.ExportProperty:
    values = tuple(value.text for value in node.children("value"))
    if not values:
        node.refuse("value", "", "has no value")
    return model.ExportProperty(
        name=node.required("name"), type=node.required("type"), values=values
    )


_READERS: Mapping[object, Callable[[Node], model.Member]] = {
    TAGS["primitiveOperInstance"]: _primitive,
    TAGS["primitiveImportOperInstance"]: _import,
    TAGS["primitiveExportOperInstance"]: _export,
}
MEMBER_TAGS = tuple(map(str, _READERS))
