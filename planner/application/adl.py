"""From the text of an ADL (v4200; v4000 by adl_v4000.py) to the logical model.

1. parse as untrusted XML (no document type, no entities, no network);
2. take the first splApplication and its catalogues (pools, tuple types, definitions, …);
3. read the tree of composites, operators by adl_operators.py;
4. check what later steps rely on: indices and names are unique, references lead somewhere.

Everything wrong is a PlanRefused with ADL_INVALID that names element, attribute, value and line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Literal, NoReturn, cast

from lxml import etree

from contracts.bundle_format import Bundle, BundleInvalid, parse_untrusted_xml
from contracts.reasons import Reason
from contracts.untrusted_xml import is_plain
from planner.application import model
from planner.application.adl_nodes import (
    NAMESPACE,
    Element,
    Kept,
    Node,
    Value,
)
from planner.application.adl_operators import MembersRead, read_composite
from planner.application.adl_pools import read_pools, warnings_of_pools
from planner.application.adl_streaming import read_while_parsing
from planner.application.adl_v4000 import OLD_NAMESPACE, foreign, upgraded
from planner.application.xml_text import escape
from planner.refusals import PlanRefused, shown

ASSETS_ROOT = "/tmp/assets"  # noqa: S108 - a path inside the PE's pod, not on this machine
TUPLE_NAMESPACE = "http://www.ibm.com/xmlns/prod/streams/spl/tupleType"
RUNTIMES = ("SPL_CPlusPlus", "SPL_Java", "Java")


def read_application(bundle: Bundle) -> model.Application:
    """The application of a bundle. Raises PlanRefused."""
    application, read_members = _application_node(bundle.adl)
    definitions = _definitions(application)
    main = _main_composite(application, read_members)
    members = list(_members(main))
    _check_indices(main, members)
    _check_names(main)
    primitives = [member for member in members if isinstance(member, model.Primitive)]
    if not primitives:
        _refuse("splApplication", "the application has no operator that runs")
    output = f"{ASSETS_ROOT}/{application.required('outputDirectory')}"
    read = model.Application(
        name=application.required("name"),
        scope=application.required("applicationScope"),
        build_id=bundle.build_id,
        bundle=application.required("bundle"),
        application_directory=f"{output}/{application.required('applicationDirectory')}",
        output_directory=output,
        data_directory=application.get("dataDirectory"),
        checkpoint_directory=application.get("checkpointDirectory"),
        product_version=application.required("productVersion"),
        avoid_runtime_yield=application.choice("avoidRuntimeYield", ("auto", "yes", "no"), "auto"),
        main=main,
        primitive_count=max(len(primitives), 1 + max(item.index for item in primitives)),
        pools=_pools(application),
        tuple_types=_tuple_types(application),
        definitions=definitions,
        toolkits=_toolkits(application),
        metrics=_metrics(application),
        regions=tuple(map(_region, application.within("parallelRegions", "parallelRegion"))),
        warnings=warnings_of_pools(application),
        submission_values=tuple(
            map(
                _submission_value, application.within("submissionTimeValues", "submissionTimeValue")
            )
        ),
    )
    _check_references(read, primitives)
    return read


def _refuse(field: str, message: str, value: object = "") -> NoReturn:
    raise PlanRefused(Reason.ADL_INVALID, field=f"ADL {field}", value=value, message=message)


def _application_node(adl: bytes) -> tuple[Node, MembersRead]:
    kept = Kept()
    root, members = _parsed(adl, kept)
    if root.tag == f"{{{OLD_NAMESPACE}}}applicationSet":
        root = upgraded(root)
    if root.tag != f"{{{NAMESPACE}}}applicationSet":
        raise foreign(root)
    application = Node(root, kept).child("splApplication")
    if application is None:
        _refuse("applicationSet", "the applicationSet of the ADL has no splApplication")
    return application, members


def _parsed(adl: bytes, kept: Kept) -> tuple[Element, MembersRead]:
    """The root, and the members of composites that are not in its tree any more."""
    if is_plain(adl):
        with suppress(PlanRefused, BundleInvalid):
            return read_while_parsing(adl, kept)
    # Errors come in the order of the steps and in the words of a whole parse.
    try:
        return parse_untrusted_xml(adl, part="the ADL"), {}
    except BundleInvalid as error:
        raise PlanRefused(Reason.ADL_INVALID, field="ADL", value="", message=str(error)) from error


def _main_composite(application: Node, read: MembersRead) -> model.Composite:
    composites = application.required_child("composites")
    annotations = {
        position: tuple(node.children("splAnnotation"))
        for position, node in enumerate(
            composites.within("compositeOperDefinitions", "compositeOperDefinition")
        )
    }
    main = next(iter(composites.within("compositeOperInstances", "compositeOperInstance")), None)
    if main is None:
        composites.refuse("compositeOperInstances", "", "has no compositeOperInstance")
    return read_composite(main, annotations, read, is_main=True)


def _members(composite: model.Composite) -> Iterator[model.Member]:
    yield from composite.members
    for inner in composite.composites:
        yield from _members(inner)


def _composites(composite: model.Composite) -> Iterator[model.Composite]:
    yield composite
    for inner in composite.composites:
        yield from _composites(inner)


def _check_indices(main: model.Composite, members: list[model.Member]) -> None:
    indices = [member.index for member in members]
    indices += [composite.index for composite in _composites(main)]
    seen: set[int] = set()
    for index in indices:
        if index in seen:
            _refuse("index", f"two operators of the ADL have the index {index}", index)
        seen.add(index)


def _check_names(composite: model.Composite, path: str = "") -> None:
    """Refuses two operators of one name in one composite: plans and AADLs tell them by it."""
    own = [member.own_name for member in composite.members if isinstance(member, model.Primitive)]
    own += [inner.own_name for inner in composite.composites]
    seen: set[str] = set()
    for name in own:
        if name in seen:
            twice = f"{path}{name}"
            _refuse("name", f"two operators of the ADL have the name {shown(twice)!r}", twice)
        seen.add(name)
    for inner in composite.composites:
        _check_names(inner, f"{path}{inner.own_name}.")


def _pools(application: Node) -> tuple[model.HostPool, ...]:
    found = read_pools(application)
    if (twice := _first_twice(pool.index for pool in found)) is not None:
        _refuse("hostpool@index", f"two host pools of the ADL have the index {twice}", twice)
    return found


def _first_twice(values: Iterable[Value]) -> Value | None:
    seen: set[Value] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def _tuple_types(application: Node) -> dict[int, str]:
    types: dict[int, str] = {}
    for node in application.within("tupleTypes", "tupleType"):
        flat = "".join(
            f'<attribute name="{escape(item.required("name"))}"'
            f' type="{escape(item.required("type"))}"/>'
            for item in node.children("attribute")
        )
        if not flat:
            node.refuse("attribute", "", "has no attribute")
        nested = node.child("tuple")
        if nested is not None:
            flat += f"<tuple>{''.join(map(_nested_type, _elements(nested.element)))}</tuple>"
        types[node.number("index")] = flat
    return types


def _elements(parent: etree._Element) -> Iterable[etree._Element]:
    return (child for child in parent if isinstance(child.tag, str))


def _nested_type(element: etree._Element) -> str:
    name = etree.QName(element)
    if name.namespace != TUPLE_NAMESPACE:
        _refuse("tuple", f"a tuple type of the ADL holds the foreign element {shown(name.text)!r}")
    if any(str(key).startswith("{") for key in element.attrib):
        _refuse("tuple", f"{shown(name.text)!r} in a tuple type of the ADL has a foreign attribute")
    attributes = "".join(
        f' {key!s}="{escape(str(value))}"' for key, value in sorted(element.attrib.items())
    )
    inside = "".join(map(_nested_type, _elements(element)))
    if not inside:
        return f"<tt:{name.localname}{attributes}/>"
    return f"<tt:{name.localname}{attributes}>{inside}</tt:{name.localname}>"


def _toolkits(application: Node) -> dict[int, str]:
    return {
        node.number("index"): node.required("name")
        for node in application.within("toolkits", "toolkit")
    }


def _definitions(application: Node) -> dict[int, model.Definition]:
    return {
        node.number("index"): model.Definition(
            index=node.number("index"),
            kind=node.required("kind"),
            runtime=node.choice("runtimeType", RUNTIMES),
            toolkit=node.number("toolkitIndex"),
            metrics=tuple(
                item.number_text()
                for item in node.within("customMetricIndicies", "customMetricIndex")
            ),
            capabilities=tuple(item.text for item in node.children("capability")),
        )
        for node in application.within("primitiveOperDefinitions", "primitiveOperDefinition")
    }


def _metrics(application: Node) -> dict[int, model.Metric]:
    metrics = {}
    for node in application.within("customMetrics", "customMetric"):
        description = node.child("description")
        metrics[node.number("index")] = model.Metric(
            index=node.number("index"),
            name=node.required("name"),
            kind=node.choice("kind", ("Gauge", "Counter", "Time")),
            description="" if description is None else description.text,
        )
    return metrics


def _region(node: Node) -> model.Region:
    root = node.required_child("parallelOperator")
    width = node.required_child("parallelWidth")
    constant = width.child("constantWidth")
    by_value = width.child("submissionTimeParameterIndexForWidth")
    if (constant is None) == (by_value is None):
        name = shown(node.get("name") or "without a name")
        width.refuse("constantWidth", "", f"of the region {name} holds no one width")
    return model.Region(
        index=node.number("index"),
        name=node.required("name"),
        root=root.number("operIndex"),
        splitters=tuple(map(_splitter, root.children("splitter"))),
        constant_width=None if constant is None else constant.number_text(),
        width_value=None if by_value is None else by_value.number_text(),
        host_tags=tuple(tag.required("name") for tag in node.children("replicateHostTag")),
    )


def _splitter(node: Node) -> model.SplitterSpec:
    kind = node.required("kind")
    if kind not in ("RoundRobin", "Broadcast"):
        kind = "Hash"  # what the original does with a kind it does not know
    return model.SplitterSpec(
        kind=cast(model.SplitterKind, kind),
        port=node.number("iportIndex"),
        attributes=tuple(
            attribute.required("name")
            for group in node.children("attributes")
            for attribute in group.children("attribute")
        ),
    )


def _submission_value(node: Node) -> model.SubmissionValue:
    literal = node.get("value")
    return model.SubmissionValue(
        index=node.number("index"),
        kind=cast(Literal["named", "namedList"], node.choice("kind", ("named", "namedList"))),
        composite=node.required("compositeName"),
        name=node.required("name"),
        required=node.flag("required", default=False) and literal is None,
        literal=node.get("defaultValue") if literal is None else literal,
    )


def _check_references(read: model.Application, primitives: list[model.Primitive]) -> None:
    pools = {pool.index for pool in read.pools}
    for primitive in primitives:
        who = f"operator {primitive.name!r} of the ADL"
        definition = read.definitions.get(primitive.definition)
        if definition is None:
            _refuse("definitionIndex", f"{who} has an unknown definition {primitive.definition}")
        if definition.toolkit not in read.toolkits:
            _refuse("toolkitIndex", f"{who} is of the unknown toolkit {definition.toolkit}")
        ports: tuple[model.InputPort | model.OutputPort, ...] = (
            *primitive.inputs,
            *primitive.outputs,
        )
        for port in ports:
            if port.tuple_type not in read.tuple_types:
                _refuse("tupleTypeIndex", f"{who} has an unknown tuple type {port.tuple_type}")
        if (pool := primitive.constraints.pool) is not None and pool not in pools:
            _refuse("poolIndex", f"{who} asks for the unknown host pool {pool}", pool)
    _check_catalogues(read)
    _check_regions(read)


def _check_catalogues(read: model.Application) -> None:
    for definition in read.definitions.values():
        for metric in definition.metrics:
            if metric not in read.metrics:
                _refuse(
                    "customMetricIndex",
                    f"definition {definition.kind!r} of the ADL has an unknown metric {metric}",
                )
    for what, names in (
        ("host pool", [pool.name for pool in read.pools]),
        ("parallel region", [region.name for region in read.regions]),
    ):
        if (name := _first_twice(names)) is not None:
            _refuse("name", f"two {what}s of the ADL have the name {shown(name)!r}", name)


def _check_regions(read: model.Application) -> None:
    roots = {composite.index for composite in _composites(read.main)} - {read.main.index}
    roots |= {item.index for item in _members(read.main) if isinstance(item, model.Primitive)}
    values = {value.index for value in read.submission_values}
    taken: dict[int, str] = {}
    for region in read.regions:
        who = f"parallel region {shown(region.name)!r} of the ADL"
        if region.root not in roots:
            _refuse("operIndex", f"{who} replicates the unknown operator {region.root}")
        if region.root in taken:
            _refuse("operIndex", f"{who} replicates what {taken[region.root]!r} replicates")
        taken[region.root] = region.name
        if region.width_value is not None and region.width_value not in values:
            _refuse("parallelWidth", f"{who} has an unknown width value {region.width_value}")
