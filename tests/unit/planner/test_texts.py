"""What an AADL says about channels, streams, threads, imports and exports."""

from __future__ import annotations

from dataclasses import replace

from planner.application.adl import read_application
from planner.application.xml_text import escape
from planner.graph.intrinsics import membership, substituted
from planner.graph.threading_models import Threading
from planner.numbering.records import Fusion
from planner.planning import PlanResult, plan
from tests.unit.planner.adl_writing import PORT, Adl, plan_of, request_of
from tests.unit.planner.reading import NAMES, read_pe, schema_errors

ONE = Fusion.manual(1)
LEGACY = Fusion.legacy()


def test_intrinsics_are_those_observed() -> None:
    """Inner local channel 0 of 3, outer channel 1 of 2."""
    outer = membership(0, 1, 2, ())
    levels = (membership(1, 0, 3, (outer,)), outer)
    text = "h_getAllChannels()_getAllMaxChannels()_getLocalChannel()"
    text += "_getLocalMaxChannels()_getChannel()_getMaxChannels()"
    assert substituted(text, levels) == "h_[3,1]_[6,2]_0_3_3_6"
    assert substituted("byChannel(A) byChannel(A,0) byChannel(A,1)", levels) == "A_1 A_1 A_3"
    assert substituted("byChannel(A) getChannel() getMaxChannels()", ()) == "A -1 0"


def test_nested_channels_name_operators_and_streams() -> None:
    """`P[1].H[5].F[16]` writes `P[1].H[5].F_0[1]`: global channels in paths, local ones after."""
    adl = Adl().operator("a", 0, 1).operator("P.H.F").connect("a", "P.H.F")
    adl.region("P", 2).region("P.H", 4).region("P.H.F", 3)
    names: dict[str, str] = {}
    for text in plan_of(adl, LEGACY).aadls.values():
        for operator in read_pe(text).root.iterfind("a:operInstances/d:operInstance", NAMES):
            port = operator.find("d:outputPorts/d:outputPort", NAMES)
            assert port is not None
            names[str(operator.get("name"))] = str(port.get("streamName"))
    assert names["P[1].H[5].F[16]"] == "P[1].H[5].F_0[1]"
    assert names["a"] == "a_0"


def test_the_meaning_of_a_pe_has_the_digest_of_every_release() -> None:
    """If this digest changes, an upgrade restarts every PE of every running job."""
    bundle = replace(Adl().chain("a", "f", "z").region("f", 2).bundle(), build_id="build")
    record = plan_of(read_application(bundle), LEGACY).record
    assert [pe.meaning[:16] for pe in record.pes] == DIGESTS


DIGESTS = ["500cb7b3a8091afc", "0601ca562bdb1cff", "3a36a4fe7916fc5c", "c2b1461029de1255"]


def flags(result: PlanResult) -> dict[str, tuple[str | None, str | None]]:
    found: dict[str, tuple[str | None, str | None]] = {}
    for text in result.aadls.values():
        for item in read_pe(text).root.iterfind("a:operInstances/d:operInstance", NAMES):
            found[str(item.get("name"))] = (
                item.get("singleThreadedOnInputs"),
                item.get("singleThreadedOnOutputs"),
            )
    return found


def queues(result: PlanResult) -> dict[str, tuple[str | None, str | None]]:
    found: dict[str, tuple[str | None, str | None]] = {}
    for text in result.aadls.values():
        for item in read_pe(text).root.iterfind("a:operInstances/d:operInstance", NAMES):
            queue = item.find("d:inputPorts/d:inputPort/d:threadedPort", NAMES)
            if queue is not None:
                key = str(item.get("name"))
                found[key] = (queue.get("isInjected"), queue.get("singleThreadedOnInput"))
    return found


def test_a_queue_is_injected_behind_a_splitter_inside_a_pe_only() -> None:
    """Broadcast needs none, and what crosses PEs has the receiving thread of its port."""
    adl = Adl().chain("a", "f", "z").region("f", 2)
    assert queues(plan_of(adl, ONE)) == {"f[0]": ("true", "true"), "f[1]": ("true", "true")}
    assert queues(plan_of(adl, LEGACY)) == {}
    broadcast = Adl().chain("a", "f", "z").region("f", 2, "Broadcast")
    assert queues(plan_of(broadcast, ONE)) == {}


def test_two_queues_that_meet_are_many_threads() -> None:
    adl = Adl().chain("a", "f", "z").region("f", 2)
    found = flags(plan_of(adl, ONE))
    assert found["a"] == ("true", "true")
    assert found["f[0]"] == ("true", "true")
    assert found["z"] == ("false", "false")


def test_the_threading_model_of_the_job_reaches_operators_without_one() -> None:
    """`dedicated` gives every connection inside a PE a queue; the annotation says the model."""
    asked = request_of(Adl().chain("a", "b", "c"), ONE)
    result = plan(replace(asked, threading=Threading("dedicated")))
    assert set(queues(result)) == {"b", "c"}
    assert (
        '<p:annotation tag="threading"><tuple><attr key="model" value="dedicated"/>'
        in (result.aadls[0])
    )
    assert schema_errors(result.aadls[0]) == ""


def import_of(name: str, index: int, target: int, inside: str, chosen: str = "") -> str:
    return (
        f'<primitiveImportOperInstance name="{name}" index="{index}" definitionIndex="0"{chosen}>'
        f'<outputPorts><port index="0" name="o0" streamName="{name}" {PORT}><connections>'
        f'<connection operIndex="{target}" portIndex="0" portKind="input"/></connections></port>'
        f"</outputPorts>{inside}</primitiveImportOperInstance>"
    )


def export_of(name: str, index: int, source: int, attributes: str, inside: str = "") -> str:
    return (
        f'<primitiveExportOperInstance name="{name}" index="{index}" definitionIndex="0"'
        f'{attributes}><inputPorts><port index="0" name="i0" {PORT}><connections>'
        f'<connection operIndex="{source}" portIndex="0" portKind="output"/></connections></port>'
        f"</inputPorts>{inside}</primitiveExportOperInstance>"
    )


def test_a_port_imports_by_name_and_by_any_of_its_subscriptions() -> None:
    """Names are counted from 1; several subscriptions become one that each of them satisfies."""
    adl = Adl().operator("z", 1, 0)
    named = '<nameBasedImport applicationName="ns::App" streamName="s"/>'
    adl.pseudo = [
        import_of("I1", 5, 0, named),
        import_of("I2", 6, 0, named.replace('"s"', '"t"'), ' filter="x &gt; 1"'),
        import_of("I3", 7, 0, '<propertyBasedImport subscription="kind == &quot;a&quot;"/>'),
        import_of("I4", 8, 0, '<propertyBasedImport subscription="kind == &quot;b&quot;"/>'),
    ]
    result = plan_of(adl, ONE)
    assert schema_errors(result.aadls[0]) == ""
    found = read_pe(result.aadls[0]).root.find(".//a:importedStreams", NAMES)
    assert found is not None
    assert found.get("filter") == "x > 1"
    assert [(item.get("streamName"), item.get("index")) for item in list(found)[:2]] == [
        ("s", "1"),
        ("t", "2"),
    ]
    assert found[2].get("subscription") == '(kind == "a") || (kind == "b")'
    assert result.record.pes[0].input_ports == (0,)


def test_every_export_of_a_stream_has_a_pe_port() -> None:
    adl = Adl().operator("a", 0, 1)
    adl.pseudo = [
        export_of("E1", 5, 0, ' streamName="out"'),
        export_of(
            "E2",
            6,
            0,
            ' allowFilter="false" congestionPolicy="dropConnection"',
            '<properties><property name="k" type="rstring"><value>"v"</value></property>'
            "</properties>",
        ),
    ]
    result = plan_of(adl, ONE)
    assert schema_errors(result.aadls[0]) == ""
    exports = read_pe(result.aadls[0]).root.findall(".//a:exportedStream", NAMES)
    assert [(item.get("name"), item.get("congestionPolicy")) for item in exports] == [
        ("out", None),
        (None, "dropConnection"),
    ]


def test_text_is_escaped_and_stays_on_one_line() -> None:
    assert escape('a<b>&"c"\n\t') == "a&lt;b&gt;&amp;&quot;c&quot;&#10;&#9;"


def test_a_pe_lists_only_what_it_uses() -> None:
    """A pool or a type that another PE uses is not in the text, so it cannot change it."""
    adl = Adl().pool("other").chain("a", "b")
    adl.operators["b"].resources = '<poolLocation poolIndex="1"/>'
    aadls = plan_of(adl, LEGACY).aadls
    assert '<hostpool name="other"' not in aadls[0]
    assert '<hostpool name="$default"' not in aadls[1]


def test_five_hundred_pes_with_everything_connected_to_everything_stay_quick() -> None:
    """62 500 connections between two regions of 250: no step may be quadratic in them."""
    adl = Adl().chain("a", "f", "g", "z").region("f", 250).region("g", 250)
    result = plan_of(adl, LEGACY)
    assert len(result.record.pes) == 502
    assert len(result.record.ports) > 62_500
