"""Section 1 of the fusion backend's specification, rule by rule: what an ADL says and a PE gets."""

from __future__ import annotations

import pytest

from contracts.reasons import Reason
from planner.numbering.records import Fusion
from planner.planning import PlanResult
from planner.refusals import PlanRefused
from tests.unit.planner.adl_writing import Adl, plan_of
from tests.unit.planner.reading import NAMES, read_pe, schema_errors

ONE = Fusion.manual(1)
NO_CONSTANTS = "<runtimeConstants/>"
SHARED = "<wrapper>none</wrapper>"
NO_VALUES = "<submissionTimeValues></submissionTimeValues>"
DEFINITION = 'runtimeType="SPL_CPlusPlus" toolkitIndex="0"/>'
FLAGS = 'singleThreadedOnOutputs="true">'
TYPE = '<tuple><tt:attr name="i" type="int32"/></tuple>'


def edited(adl: Adl, *edits: tuple[str, str]) -> Adl:
    """The application with texts of its document replaced, once each."""
    text = adl.text()
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    adl.text = lambda: text  # type: ignore[method-assign]
    return adl


def source(**more: str) -> Adl:
    return Adl().operator("a", 0, 1, **more)  # type: ignore[arg-type]


def aadl_of(adl: Adl, **more: dict[str, str]) -> str:
    """The text of the only PE; it is valid under the schema."""
    result = plan_of(adl, ONE, **more)  # type: ignore[arg-type]
    assert len(result.aadls) == 1
    assert schema_errors(result.aadls[0]) == ""
    return result.aadls[0]


ATTRIBUTES = [
    ('applicationScope="Default"', 'applicationScope="Other"', 'applicationScope="Other"'),
    ('outputDirectory="output"', 'outputDirectory="o"', 'outputDirectory="/tmp/assets/o"'),
    (
        'applicationDirectory="app"',
        'applicationDirectory="x"',
        'applicationDirectory="/tmp/assets/output/x"',
    ),
    ('buildId=""', 'buildId="" dataDirectory="/d"', 'dataDirectory="/d"'),
    ('buildId=""', 'buildId="" checkpointDirectory="/c"', 'checkpointDirectory="/c"'),
    ('bundle="./demo.sab"', 'bundle="./x.sab"', 'bundle="./x.sab"'),
    ('avoidRuntimeYield="auto"', 'avoidRuntimeYield="yes"', 'avoidRuntimeYield="yes"'),
    (' avoidRuntimeYield="auto"', "", 'avoidRuntimeYield="auto"'),
    ('productVersion="4.3.0.0"', 'productVersion="4.2.1.0"', 'version="4210"'),
    ("<libraries/>", '<libraries><library index="0" name="l"/></libraries>', "<libraries/>"),
    (
        "</splApplication>",
        '<submissionTimeConfiguration><submissionTimeConfigParm name="a" value="b"/>'
        "</submissionTimeConfiguration></splApplication>",
        'applicationName="demo::Main"',
    ),
    ("</applicationSet>", '<splApplication name="second"/></applicationSet>', "demo::Main"),
]

CATALOGUES = [
    (
        '<hostpool index="0" name="$default" membershipMode="shared"/>',
        '<hostpool index="0" name="p" size="2" membershipMode="shared"><tag name="t"/></hostpool>',
        '<hostpool name="p" index="0" size="2" membershipMode="shared"><tag name="t"/></hostpool>',
    ),
    (
        '<attribute name="i" type="int32"/>',
        '<attribute name="i" type="list&lt;rstring&gt;[3]"/>',
        '<attribute name="i" type="list&lt;rstring&gt;[3]"/><tuple>',
    ),
    (
        TYPE,
        '<tuple><tt:attr name="m"><tt:map bound="4"><tt:key><tt:tuple><tt:attr name="k"'
        ' type="int8"/></tt:tuple></tt:key><tt:value><tt:list elementType="rstring"/></tt:value>'
        '</tt:map></tt:attr><tt:attr name="o"><tt:optional type="int32"/></tt:attr></tuple>',
        '<tuple><tt:attr name="m"><tt:map bound="4"><tt:key><tt:tuple><tt:attr name="k"'
        ' type="int8"/></tt:tuple></tt:key><tt:value><tt:list elementType="rstring"/></tt:value>'
        '</tt:map></tt:attr><tt:attr name="o"><tt:optional type="int32"/></tt:attr></tuple>',
    ),
    ("SPL_CPlusPlus", "Java", 'runtimeType="SPL_Java"'),
    ("SPL_CPlusPlus", "SPL_Java", 'runtimeType="SPL_Java"'),
    (
        DEFINITION,
        DEFINITION[:-2] + "><capability>Hear</capability></primitiveOperDefinition>",
        "<a:capability>Hear</a:capability>",
    ),
    ('name="spl" version="1"', 'name="t" version="1" uri="u"', '<p:toolkitMap index="0" name="t"'),
]

OPERATORS = [
    ('optimized="true"', 'optimized="false"', ' optimized="false"'),
    ('restartable="true"', 'restartable="0"', ' restartable="false"'),
    ('relocatable="true"', 'relocatable="false"', ' relocatable="false"'),
    (
        "<envVars/>",
        '<envVars><envVar name="A" value="b"/></envVars>',
        "<a:envVars/>",
    ),
    (
        '<poolLocation poolIndex="0"/>',
        '<poolLocation poolIndex="0" inpoolIndex="3"/><coLocation colocId="H"/>'
        '<exLocation exlocId="X"/>',
        '<poolLocation poolIndex="0" inpoolIndex="3"/><coLocation colocId="H"/>'
        '<exLocation exlocId="X"/>',
    ),
    ("<resources>", '<resources isolation="false">', '<resources isolation="true">'),
    ("<resources>", '<resources isolation="true">', '<resources isolation="true">'),
    ("<resources>", "<resources>", '<resources isolation="false">'),
    (
        NO_CONSTANTS,
        f'<checkpointing policy="periodic" period="10.0"/>{NO_CONSTANTS}',
        '<checkpointing policy="periodic" period="10.0"/>',
    ),
    (
        NO_CONSTANTS,
        f'<checkpointing policy="operatorDriven"/>{NO_CONSTANTS}',
        '<checkpointing policy="operatorDriven"/>',
    ),
    (
        NO_CONSTANTS,
        '<runtimeConstants><runtimeConstant name="b" value="2" defaultValue="3"/>'
        '<runtimeConstant name="a" value="1"/></runtimeConstants>',
        '<runtimeConstants><runtimeConstant name="b" value="2"/>'
        '<runtimeConstant name="a" value="1"/></runtimeConstants>',
    ),
    (
        NO_CONSTANTS,
        f'{NO_CONSTANTS}<display name="d" value="&quot;:1&quot;"/>',
        ' display=":1"',
    ),
    ('class="C"', 'class="D"', 'class="D"'),
    (SHARED, "<wrapper>gdb</wrapper>", "<sharedObject><wrapper>gdb</wrapper>"),
    ("bin/x.so", "bin/y.so", "<sharedObjectUri>bin/y.so</sharedObjectUri>"),
    ("</sharedObject>", "</sharedObject><jvmArguments/>", "<p:jvmArguments/>"),
    (
        "</sharedObject>",
        "</sharedObject><jvmArguments><jvmArgument>-Xmx1g</jvmArgument></jvmArguments>",
        "<p:jvmArguments><p:jvmArgument>-Xmx1g</p:jvmArgument></p:jvmArguments>",
    ),
    ('level="error"', 'level="trace" style="x" size="3"', '<a:tracingUpdate level="trace"/>'),
    ('encoding="LE"', 'encoding="NBO"', 'index="0" name="o0"'),
    ('isMutable="false"', 'isMutable="true"', 'isMutable="true"'),
    ('streamName="a_0"', 'streamName="W.Out"', 'logicalStreamName="W.Out"'),
    ('streamName="a_0"', 'streamName="a_0" viewable="false"', 'viewable="false"'),
    ('streamName="a_0"', 'streamName="a_0"', 'viewable="true"'),
]

ANNOTATIONS = [
    (
        FLAGS,
        f'{FLAGS}<splAnnotation tag="logicClause" internal="true"><value key="k" type="rstring">v'
        "</value></splAnnotation>",
        '<p:annotation tag="logicClause"><tuple><attr key="k" value="v"/></tuple></p:annotation>',
    ),
    (
        FLAGS,
        f'{FLAGS}<splAnnotation tag="autonomous"/>',
        '<p:splAnnotation tag="autonomous"/>',
    ),
    (
        FLAGS,
        f'{FLAGS}<splAnnotation tag="t"><value key="k" type="int32">1</value><value key="k"'
        ' type="int32">2</value></splAnnotation>',
        '<attr key="k"><list><listEntry value="1"/><listEntry value="2"/></list></attr>',
    ),
    (
        FLAGS,
        f'{FLAGS}<splAnnotation tag="view"><value key="name" type="rstring">V</value><value'
        ' key="attributes" type="list">["k","i"]</value><value key="filter" type="t">{k="x.*"}'
        "</value></splAnnotation>",
        '<attr key="name" value="V"/><attr key="logicalName" value="V"/><attr key="attributes">'
        '<list><listEntry value="k"/><listEntry value="i"/></list></attr><attr key="filter">'
        '<tuple><attr key="k" value="x.*"/></tuple></attr>',
    ),
    (
        '<tracing level="error"/>',
        '<annotation tag="compiled"><tuple><attr key="k" value="v"/><attr key="l"><list><listEntry'
        ' value="1"/><listEntry><tuple><attr key="x" value="y"/></tuple></listEntry></list></attr>'
        '</tuple></annotation><tracing level="error"/>',
        '<p:annotation tag="compiled"><tuple><attr key="k" value="v"/><attr key="l"><list>'
        '<listEntry value="1"/><listEntry><tuple><attr key="x" value="y"/></tuple></listEntry>'
        "</list></attr></tuple></p:annotation>",
    ),
    (FLAGS, f'{FLAGS}<splAnnotation tag="parallel"/>', '<p:splAnnotation tag="parallel"/>'),
]


@pytest.mark.parametrize(
    ("old", "new", "says"), [*ATTRIBUTES, *CATALOGUES, *OPERATORS, *ANNOTATIONS]
)
def test_what_the_document_says_reaches_the_pe(old: str, new: str, says: str) -> None:
    assert says in aadl_of(edited(source(), (old, new)))


@pytest.mark.parametrize(
    ("old", "new", "hidden"),
    [
        ('encoding="LE"', 'encoding="NBO"', "NBO"),  # a stream that leaves no PE is not encoded
        ("<envVars/>", '<envVars><envVar name="A" value="b"/></envVars>', "envVar "),
        (FLAGS, f'{FLAGS}<splAnnotation tag="threading"/>', "threading"),
        ('index="0" path="f"', 'index="0" path="secret.spl"', "secret"),
    ],
)
def test_what_only_the_compiler_needs_does_not(old: str, new: str, hidden: str) -> None:
    assert hidden not in aadl_of(edited(source(), (old, new)))


def test_an_encoding_is_that_of_the_pe_ports() -> None:
    adl = edited(Adl().chain("a", "b"))
    text = adl.text().replace('encoding="LE"', 'encoding="BE"')
    adl.text = lambda: text  # type: ignore[method-assign]
    aadls = plan_of(adl, Fusion.legacy()).aadls
    assert all(text.count('encoding="BE" transport="TCP"') == 1 for text in aadls.values())


def test_a_pe_lists_only_the_custom_metrics_that_its_operators_use() -> None:
    metrics = "".join(
        f'<customMetric index="{n}" name="m{n}" kind="{kind}"><description>d</description>'
        "</customMetric>"
        for n, kind in enumerate(("Gauge", "Counter", "Time"))
    )
    used = "<customMetricIndicies><customMetricIndex>1</customMetricIndex></customMetricIndicies>"
    found = aadl_of(
        edited(
            source(),
            (DEFINITION, f"{DEFINITION[:-2]}>{used}</primitiveOperDefinition>"),
            ("<parallelRegions>", f"<customMetrics>{metrics}</customMetrics><parallelRegions>"),
        )
    )
    assert used in found
    assert found.count("<customMetric ") == 1
    assert '<customMetric index="1" name="m1" kind="Counter">' in found


def test_a_queue_of_the_user_keeps_its_policy_and_size() -> None:
    adl = Adl().chain("a", "b")
    connected = adl.text().partition('name="i0"')[2].partition("</connections>")[0]
    queue = '<threadedPort congestionPolicy="dropFirst" queueSize="100"/>'
    end = f"{connected}</connections>"
    assert (
        '<threadedPort congestionPolicy="dropFirst" queueSize="100" singleThreadedOnInput="true"'
        ' isInjected="false"/>'
    ) in aadl_of(edited(adl, (end, end + queue)))


@pytest.mark.parametrize(("said", "says"), [("true", "true"), ("false", "false"), (None, None)])
def test_a_control_port_stays_one(said: str | None, says: str | None) -> None:
    control = "" if said is None else f' isControl="{said}"'
    adl = edited(Adl().operator("a", 1, 0), ('name="i0"', f'name="i0"{control}'))
    port = read_pe(aadl_of(adl)).root.find(".//d:inputPort", NAMES)
    assert port is not None
    assert port.get("isControl") == says


@pytest.mark.parametrize(("said", "pes"), [("true", 2), ("false", 1)])
def test_partition_isolation_has_a_value_that_counts(said: str, pes: int) -> None:
    """Unlike the isolation of resources, whose presence is enough."""
    adl = Adl().chain("a", "b")
    adl.operators["b"].partitions = '<exLocation exlocId="X"/>'
    adl = edited(adl, ("<partitions>", f'<partitions isolation="{said}">'))
    assert len(plan_of(adl, ONE).record.pes) == pes


def with_value(index: str, text: str = "none") -> tuple[str, str]:
    return FLAGS, (
        f'{FLAGS}<splAnnotation tag="t"><value key="k" type="rstring"'
        f' submissionTimeValueIndex="{index}">{text}</value></splAnnotation>'
    )


@pytest.mark.parametrize(
    ("default", "given", "says"),
    [
        ('"d"', {}, "d"),
        ('"d"', {"v": 'a"b'}, "a&quot;b"),
        (None, {"v": "x"}, "x"),
    ],
)
def test_an_annotation_with_a_submission_time_value_has_it_without_quotes(
    default: str | None, given: dict[str, str], says: str
) -> None:
    adl = edited(source().value("v", default), with_value("0"))
    assert f'<attr key="k" value="{says}"/>' in aadl_of(adl, values=given)


def test_the_width_of_a_region_has_hash_keys_of_every_group() -> None:
    keys = (
        '<attributes><attribute name="k"/></attributes><attributes><attribute name="l"/>'
        "</attributes>"
    )
    adl = Adl().chain("a", "f", "z").region("f", 2, "Hash")
    old = '<splitter kind="Hash" iportIndex="0"/>'
    new = f'<splitter kind="Unheard" iportIndex="0" portSelector="x">{keys}</splitter>'
    found = aadl_of(edited(adl, (old, new)))
    assert '<splitter kind="Hash" index="0" iportIndex="0" regionIndex="0"' in found
    assert '<attributes><attribute name="k"/><attribute name="l"/></attributes>' in found


def test_a_region_is_as_wide_as_its_constant_and_not_as_its_ignored_twin() -> None:
    adl = Adl().chain("a", "f", "z").region("f", 2)
    extra = "</constantWidth><submissionTimeWidth>9</submissionTimeWidth>"
    result = plan_of(edited(adl, ("</constantWidth>", extra)), ONE)
    assert result.record.widths == {"f": 2}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (TYPE, TYPE.replace("<tt:attr ", '<tt:attr tt:x="1" '), "has a foreign attribute"),
        (TYPE, "<tuple><other/></tuple>", "the foreign element"),
        ('transport="TCP"', 'transport="UDP"', "not one of TCP"),
        (
            '<tracing level="error"/>',
            '<annotation tag="t"/><tracing level="error"/>',
            "has no child tuple",
        ),
        ('level="error"', 'level="loud"', "not one of off, error"),
    ],
)
def test_what_a_pe_cannot_be_reported_is_refused(old: str, new: str, says: str) -> None:
    with pytest.raises(PlanRefused) as caught:
        plan_of(edited(source(), (old, new)), ONE)
    assert caught.value.reason is Reason.ADL_INVALID
    assert says in caught.value.message


def export_names(result: PlanResult) -> list[tuple[str | None, str | None]]:
    exports = read_pe(result.aadls[0]).root.findall(".//a:exportedStream", NAMES)
    return [(item.get("name"), item.get("allowFilter")) for item in exports]


def test_pseudo_operators_have_the_defaults_of_the_specification() -> None:
    """Scope Default, filters allowed, congestion waited for; texts keep their SPL quotes."""
    adl = Adl().operator("a")
    port = '<port index="0" name="p" streamName="s" encoding="LE" transport="TCP"'
    port += ' tupleTypeIndex="0" isMutable="false"><connections><connection operIndex="0"'
    adl.pseudo = [
        '<primitiveImportOperInstance name="I" index="5"><outputPorts>'
        f'{port} portIndex="0" portKind="input"/></connections></port></outputPorts>'
        '<nameBasedImport applicationName="ns::A" streamName="s"/></primitiveImportOperInstance>',
        '<primitiveExportOperInstance name="E" index="6"><inputPorts>'
        f'{port} portIndex="0" portKind="output"/></connections></port></inputPorts><properties>'
        '<property name="l" type="list&lt;rstring&gt;"><value>"a"</value><value>"b"</value>'
        "</property></properties></primitiveExportOperInstance>",
    ]
    result = plan_of(adl, ONE)
    assert schema_errors(result.aadls[0]) == ""
    assert export_names(result) == [(None, "true")]
    assert 'applicationScope="Default"/></a:importedStreams>' in result.aadls[0]
    assert "<value>&quot;a&quot;</value><value>&quot;b&quot;</value>" in result.aadls[0]
    assert "congestionPolicy" not in result.aadls[0].partition("<a:outputPorts>")[2]


STRANGE_POOLS = [
    ('rack="7"', "", "attribute rack"),
    ("", '<zone name="a"/>', "element zone"),
    ("", '<host hostname="h" port="1"/>', "attribute port of host"),
    ("", '<tag name="t"><value/></tag>', "element value of tag"),
    ("", "if possible", "text 'if possible'"),
    ("", '<x:host xmlns:x="urn:other" hostname="h"/>', "element host"),
]


@pytest.mark.parametrize(("attribute", "inside", "named"), STRANGE_POOLS)
def test_parts_of_a_host_pool_that_nothing_reads_are_reported(
    attribute: str, inside: str, named: str
) -> None:
    adl = source().pool("gpu", inside=inside)
    adl = edited(adl, ('name="gpu"', f'name="gpu" {attribute}'))
    warning = "host pool 'gpu' in line 1 of the ADL has parts that are ignored: "
    warnings = plan_of(adl, ONE).warnings
    assert warnings == (f"{warning}{named}; PEs are placed without them",)


def test_a_host_pool_with_many_strange_parts_gets_one_short_warning() -> None:
    adl = source().pool("gpu", inside="".join(f"<e{at}/>" for at in range(9)))
    (warning,) = plan_of(adl, ONE).warnings
    assert "element e4 and 4 more" in warning


def test_a_host_pool_whose_parts_are_all_read_gets_no_warning() -> None:
    inside = ' <host hostname="h"/> <!-- why --> <tag name="t"/> '
    assert plan_of(source().pool("gpu", inside=inside), ONE).warnings == ()
