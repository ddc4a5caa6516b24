"""The AADL of one PE: its meaning as XML, on one line, the same for the same meaning.

The order of elements is that of the schema augmentedApplicationModel.xsd, under which the text is
valid. Strings are put together directly: a PE between two wide regions has thousands of
connections, and an XML tree would cost most of the time of a plan.

A channel of a splitter whose targets are partly in the PE and partly outside is written as two
`parallelChannel` elements of the same index, because the schema allows only one kind in each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import BytesIO

from planner.application.xml_text import escape
from planner.description import meaning

EXEC_STREAMS_VERSION = "4.2.4.0"
_BASE = "http://www.ibm.com/xmlns/prod/streams/application"
_NAMESPACES = (
    f'xmlns="{_BASE}" xmlns:a="{_BASE}/augmented" xmlns:p="{_BASE}/physical" '
    'xmlns:tt="http://www.ibm.com/xmlns/prod/streams/spl/tupleType" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
)


def render(pe: meaning.PeMeaning) -> bytes:
    """The AADL in UTF-8. Written piece by piece: a joined text would double the memory."""
    written = BytesIO()
    for piece in _pieces(pe):
        written.write(piece.encode())
    return written.getvalue()


def _pieces(pe: meaning.PeMeaning) -> Iterator[str]:
    types = dict(pe.tuple_types)
    yield f"<a:augmentedPE {_NAMESPACES}{_root_attributes(pe)}><libraries/>"
    yield _holder("hostpools", map(_pool, pe.pools))
    kinds = (f'<tupleType index="{i}">{xml}</tupleType>' for i, xml in pe.tuple_types)
    yield _holder("tupleTypes", kinds)
    yield '<a:envVars/><a:executable dynamicLoad="true" digest="">'
    yield "<wrapper>none</wrapper><executableUri/><arguments/><dependencies/></a:executable>"
    yield from _spread("a:operInstances", map(_operator, pe.operators))
    yield from _spread("a:inputPorts", (_pe_input(pe.id, port, types) for port in pe.inputs))
    yield from _spread("a:outputPorts", (_pe_output(pe.id, port, types) for port in pe.outputs))
    yield _holder("a:operDefinitions", map(_definition, pe.definitions))
    if pe.metrics:
        yield _holder("a:customMetrics", map(_metric, pe.metrics))
    yield f'<a:currentTracing><a:tracingUpdate level="{pe.tracing}"/>'
    yield "<a:tracingUpdateSequenceNum>0</a:tracingUpdateSequenceNum></a:currentTracing>"
    toolkits = (f'<p:toolkitMap index="{i}" name="{escape(name)}"/>' for i, name in pe.toolkits)
    yield _holder("a:toolkitsMap", toolkits)
    yield from (f"<a:capability>{escape(each)}</a:capability>" for each in pe.capabilities)
    yield "</a:augmentedPE>"


def _spread(name: str, parts: Iterable[str]) -> Iterator[str]:
    """The pieces of an element `_holder`; no part may be empty."""
    is_empty = True
    for part in parts:
        if is_empty:
            yield f"<{name}>"
            is_empty = False
        yield part
    yield f"<{name}/>" if is_empty else f"</{name}>"


def _holder(name: str, parts: Iterable[str]) -> str:
    inside = "".join(parts)
    return f"<{name}>{inside}</{name}>" if inside else f"<{name}/>"


def _attribute(name: str, value: str | None) -> str:
    return "" if value is None else f' {name}="{escape(value)}"'


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _root_attributes(pe: meaning.PeMeaning) -> str:
    # user, launchCount and genId are constants: a real value would change the text of every PE,
    # and restart it, without a change of its meaning.
    return "".join(
        _attribute(name, value)
        for name, value in (
            ("id", str(pe.id)),
            ("jobId", str(pe.job_id)),
            ("jobName", pe.job_name),
            ("user", "user"),
            ("applicationScope", pe.application_scope),
            ("class", ""),
            ("language", "Java"),
            ("optimized", _flag(pe.optimized)),
            ("restartable", _flag(pe.restartable)),
            ("relocatable", _flag(pe.relocatable)),
            ("launchCount", "0"),
            ("dataDirectory", pe.data_directory),
            ("applicationDirectory", pe.application_directory),
            ("outputDirectory", pe.output_directory),
            ("checkpointDirectory", pe.checkpoint_directory),
            ("display", pe.display),
            ("logicalIndex", str(pe.logical_index)),
            ("buildId", pe.build_id),
            ("bundle", pe.bundle),
            ("profileDirectory", ""),
            ("version", pe.version),
            ("applicationName", pe.application_name),
            ("jobGroup", "default"),
            ("avoidRuntimeYield", pe.avoid_runtime_yield),
            ("execStreamsVersion", EXEC_STREAMS_VERSION),
            ("genId", "0"),
        )
    )


def _pool(pool: meaning.PoolMeaning) -> str:
    size = None if pool.size is None else str(pool.size)
    inside = "".join(f'<host hostname="{escape(host)}"/>' for host in pool.hosts)
    inside += "".join(f'<tag name="{escape(tag)}"/>' for tag in pool.tags)
    return (
        f'<hostpool name="{escape(pool.name)}" index="{pool.index}"{_attribute("size", size)}'
        f' membershipMode="{pool.mode}">{inside}</hostpool>'
    )


def _operator(operator: meaning.OperatorMeaning) -> str:
    return "".join(
        (
            f'<operInstance xsi:type="p:physOperInstanceType" index="{operator.index}"'
            f' class="{escape(operator.class_name)}" name="{escape(operator.name)}"'
            f' definitionIndex="{operator.definition}"'
            f' singleThreadedOnInputs="{_flag(operator.single_threaded_on_inputs)}"'
            f' singleThreadedOnOutputs="{_flag(operator.single_threaded_on_outputs)}"'
            f' restartable="{_flag(operator.restartable)}"'
            f' relocatable="{_flag(operator.relocatable)}" launchCount="1"'
            f' logicalName="{escape(operator.logical_name)}"'
            f' logicalIndex="{operator.logical_index}" toolkitIndex="{operator.toolkit}">'
            f"<sharedObject><wrapper>{escape(operator.wrapper)}</wrapper>"
            f"<sharedObjectUri>{escape(operator.uri)}</sharedObjectUri></sharedObject>",
            _resources(operator),
            _checkpointing(operator.checkpointing),
            _holder(
                "runtimeConstants",
                (
                    f'<runtimeConstant name="{escape(name)}" value="{escape(value)}"/>'
                    for name, value in operator.constants
                ),
            ),
            _holder("inputPorts", map(_input, operator.inputs)),
            _holder("outputPorts", map(_output, operator.outputs)),
            _annotations(operator.annotations),
            _jvm_arguments(operator.jvm_arguments),
            _regions(operator.levels),
            "</operInstance>",
        )
    )


def _resources(operator: meaning.OperatorMeaning) -> str:
    parts = []
    if operator.host is not None:
        parts.append(f'<hostLocation hostname="{escape(operator.host)}"/>')
    if operator.pool is not None:
        slot = None if operator.pool_slot is None else str(operator.pool_slot)
        parts.append(
            f'<poolLocation poolIndex="{operator.pool}"{_attribute("inpoolIndex", slot)}/>'
        )
    parts += [f'<coLocation colocId="{escape(item)}"/>' for item in operator.host_colocations]
    parts += [f'<exLocation exlocId="{escape(item)}"/>' for item in operator.host_exlocations]
    isolation = _flag(operator.host_isolation)
    return f'<resources isolation="{isolation}">{"".join(parts)}</resources>'


def _checkpointing(checkpointing: tuple[str, str | None] | None) -> str:
    if checkpointing is None:
        return ""
    policy, period = checkpointing
    return f'<checkpointing policy="{policy}"{_attribute("period", period)}/>'


def _input(port: meaning.InputMeaning) -> str:
    control = None if port.is_control is None else _flag(port.is_control)
    parts = [
        f'<inputPort index="{port.index}" name="{escape(port.name)}"'
        f' isMutable="{_flag(port.is_mutable)}" tupleTypeIndex="{port.tuple_type}"'
        f"{_attribute('isControl', control)}>"
    ]
    for element, connections in (
        ("interPeConnection", port.inter),
        ("intraPeConnection", port.intra),
    ):
        for operator, output, splitter, channel, pe_port in connections:
            parts.append(
                f'<{element} operInstanceIndex="{operator}" oportIndex="{output}"'
                f"{_splitter_place(splitter, channel)}{_pe_port(pe_port)}/>"
            )
    if port.threaded is not None:
        parts.append(
            f'<threadedPort congestionPolicy="{port.threaded.congestion_policy}"'
            f"{_attribute('queueSize', port.threaded.queue_size)}"
            f' singleThreadedOnInput="{_flag(port.threaded.single_threaded_on_input)}"'
            f' isInjected="{_flag(port.threaded.injected)}"/>'
        )
    parts.append("</inputPort>")
    return "".join(parts)


def _splitter_place(splitter: int, channel: int) -> str:
    return "" if splitter < 0 else f' splitterIndex="{splitter}" channelIndex="{channel}"'


def _pe_port(number: int) -> str:
    return "" if number < 0 else f' pePortIndex="{number}"'


def _output(port: meaning.OutputMeaning) -> str:
    return (
        f'<outputPort xsi:type="p:physOperInstanceOutputPortType" index="{port.index}"'
        f' name="{escape(port.name)}" isMutable="{_flag(port.is_mutable)}"'
        f' tupleTypeIndex="{port.tuple_type}" streamName="{escape(port.stream)}"'
        f' viewable="{_flag(port.viewable)}" logicalStreamName="{escape(port.logical_stream)}">'
        f"{_targets('interPeConnection', port.inter)}{_targets('intraPeConnection', port.intra)}"
        f"{''.join(map(_splitter, port.splitters))}</outputPort>"
    )


def _targets(element: str, connections: Iterable[meaning.Connection]) -> str:
    return "".join(
        f'<{element} operInstanceIndex="{operator}" iportIndex="{port}"{_pe_port(pe_port)}/>'
        for operator, port, pe_port in connections
    )


def _splitter(splitter: meaning.SplitterMeaning) -> str:
    keys = "".join(f'<attribute name="{escape(name)}"/>' for name in splitter.attributes)
    return (
        f'<splitter kind="{splitter.kind}" index="{splitter.index}"'
        f' iportIndex="{splitter.port}" regionIndex="{splitter.region}"'
        f' dropWindowPuncts="{_flag(splitter.drop_window_punctuation)}">'
        f"{''.join(map(_channel, splitter.channels))}"
        f"{f'<attributes>{keys}</attributes>' if keys else ''}</splitter>"
    )


def _channel(channel: meaning.ChannelMeaning) -> str:
    kinds = (
        _targets("interPeConnection", channel.inter),
        _targets("intraPeConnection", channel.intra),
        "".join(map(_splitter, channel.splitters)),
    )
    return "".join(
        f'<parallelChannel index="{channel.index}">{inside}</parallelChannel>'
        for inside in [each for each in kinds if each] or [""]
    )


def _annotations(annotations: Iterable[meaning.AnnotationMeaning]) -> str:
    """An annotation without entries has no tuple form: those come first, in their own element."""
    all_of_them = list(annotations)
    return "".join(
        f'<p:splAnnotation tag="{escape(item.tag)}"/>' for item in all_of_them if not item.entries
    ) + "".join(
        f'<p:annotation tag="{escape(item.tag)}">{_tuple(item.entries)}</p:annotation>'
        for item in all_of_them
        if item.entries
    )


def _tuple(entries: Iterable[tuple[str, meaning.AnnotationValue]]) -> str:
    inside = (_value(f'attr key="{escape(key)}"', value) for key, value in entries)
    return f"<tuple>{''.join(inside)}</tuple>"


def _value(start: str, value: meaning.AnnotationValue) -> str:
    if isinstance(value, str):
        return f'<{start} value="{escape(value)}"/>'
    kind, inside = value
    end = start.split(" ", 1)[0]
    if kind == "tuple":
        return f"<{start}>{_tuple(inside)}</{end}>"
    items = "".join(_value("listEntry", item) for item in inside)
    return f"<{start}><list>{items}</list></{end}>"


def _jvm_arguments(arguments: tuple[str, ...] | None) -> str:
    if arguments is None:
        return ""
    return _holder(
        "p:jvmArguments",
        (f"<p:jvmArgument>{escape(item)}</p:jvmArgument>" for item in arguments),
    )


def _regions(levels: tuple[tuple[int, int, int, int, int], ...]) -> str:
    if not levels:
        return ""
    return _holder(
        "p:parallelRegions",
        (
            f'<p:parallelRegion globalChannelIndex="{channel}" localChannelIndex="{local}"'
            f' globalMaxChannels="{channels}" localMaxChannels="{width}" regionIndex="{region}"/>'
            for channel, local, channels, width, region in levels
        ),
    )


def _pe_port_start(element: str, pe: int, number: int, encoding: str, transport: str) -> str:
    return (
        f'<a:{element} id="{number}" index="{number}" peId="{pe}"'
        f' encoding="{encoding}" transport="{transport}"'
    )


def _pe_input(pe: int, port: meaning.PeInputMeaning, types: dict[int, str]) -> str:
    start = _pe_port_start("inputPort", pe, port.id, port.encoding, port.transport)
    static = (
        f'<a:staticConnection peId="{peer}" oportId="{number}" oportIndex="{number}"/>'
        for peer, number in port.static
    )
    return (
        f'{start}><a:tupleType index="{port.tuple_type}">{types[port.tuple_type]}</a:tupleType>'
        f"{_imports(port.imports)}{_holder('a:staticConnections', static)}"
        f'<a:operInstanceConnection operInstanceIndex="{port.operator}"'
        f' iportIndex="{port.port}"/></a:inputPort>'
    )


def _imports(imports: meaning.ImportMeaning | None) -> str:
    if imports is None:
        return "<a:importedStreams/>"
    inside = "".join(
        f'<nameBasedImport applicationName="{escape(application)}"'
        f' importOperName="{escape(operator)}" streamName="{escape(stream)}" index="{index}"'
        f' applicationScope="{escape(scope)}"/>'
        for index, (application, operator, stream, scope) in enumerate(imports.by_name, start=1)
    )
    if imports.by_properties is not None:
        subscription, operator, scope = imports.by_properties
        inside += (
            f'<propertyBasedImport subscription="{escape(subscription)}"'
            f' importOperName="{escape(operator)}" index="0" applicationScope="{escape(scope)}"/>'
        )
    chosen = _attribute("filter", imports.filter)
    return f"<a:importedStreams{chosen}>{inside}</a:importedStreams>"


def _pe_output(pe: int, port: meaning.PeOutputMeaning, types: dict[int, str]) -> str:
    start = _pe_port_start("outputPort", pe, port.id, port.encoding, port.transport)
    static = (
        f'<a:staticConnection peId="{peer}" iportId="{number}" iportIndex="{number}"'
        f' iOperInstanceIndex="{operator}" iOperInstancePortIndex="{oper_port}"/>'
        for peer, number, operator, oper_port in port.static
    )
    return (
        f'{start} singleThreadedOnOutput="{_flag(port.single_threaded)}">'
        f'<a:tupleType index="{port.tuple_type}">{types[port.tuple_type]}</a:tupleType>'
        f"{_export(port.export)}{_holder('a:staticConnections', static)}"
        f'<a:operInstanceConnection operInstanceIndex="{port.operator}" oportIndex="{port.port}"'
        f"{_splitter_place(port.splitter, port.channel)}/></a:outputPort>"
    )


def _export(export: meaning.ExportMeaning | None) -> str:
    if export is None:
        return ""
    policy = None if export.congestion_policy == "wait" else export.congestion_policy
    start = (
        f"<a:exportedStream{_attribute('name', export.name)}"
        f' exportOperName="{escape(export.operator)}"'
        f' allowFilter="{_flag(export.allow_filter)}"{_attribute("congestionPolicy", policy)}'
    )
    if export.properties is None:
        return f"{start}/>"
    properties = (
        f'<property name="{escape(name)}" type="{escape(kind)}">'
        f"{''.join(f'<value>{escape(value)}</value>' for value in values)}</property>"
        for name, kind, values in export.properties
    )
    return f"{start}>{_holder('properties', properties)}</a:exportedStream>"


def _definition(definition: meaning.DefinitionMeaning) -> str:
    metrics = "".join(
        f"<customMetricIndex>{index}</customMetricIndex>" for index in definition.metrics
    )
    inside = f"<customMetricIndicies>{metrics}</customMetricIndicies>" if metrics else ""
    return (
        f'<operDefinition kind="{escape(definition.kind)}" index="{definition.index}"'
        f' runtimeType="{definition.runtime}">{inside}</operDefinition>'
    )


def _metric(metric: tuple[int, str, str, str]) -> str:
    index, name, kind, description = metric
    return (
        f'<customMetric index="{index}" name="{escape(name)}" kind="{kind}">'
        f"<description>{escape(description)}</description></customMetric>"
    )
