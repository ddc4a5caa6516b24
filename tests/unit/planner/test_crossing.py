"""Imports and exports beside parallel regions: every tuple goes to one channel, none is lost."""

from __future__ import annotations

import pytest

from contracts.reasons import Reason
from planner.numbering.records import Fusion
from planner.refusals import PlanRefused
from tests.unit.planner.adl_writing import PORT, Adl, plan_of
from tests.unit.planner.reading import NAMES, read_pes, schema_errors

LEGACY = Fusion.legacy()
END = '<connections><connection operIndex="{}" portIndex="0" portKind="{}"/></connections>'


def imported(target: int, *, name: str = "I", index: int = 90, chosen: str = "") -> str:
    """An Import that feeds the first input port of an operator or composite."""
    return (
        f'<primitiveImportOperInstance name="{name}" index="{index}" definitionIndex="0"{chosen}>'
        f'<outputPorts><port index="0" name="o" streamName="{name}" {PORT}>'
        f"{END.format(target, 'input')}</port></outputPorts>"
        '<propertyBasedImport subscription="k == 1"/></primitiveImportOperInstance>'
    )


def exported(source: int) -> str:
    return (
        '<primitiveExportOperInstance name="E" index="95" definitionIndex="0" streamName="s">'
        f'<inputPorts><port index="0" name="i" {PORT}>{END.format(source, "output")}</port>'
        "</inputPorts></primitiveExportOperInstance>"
    )


def filters(adl: Adl, widths: dict[str, int] | None = None) -> dict[str, str | None]:
    """The filter of each operator's import; its PE's text is valid."""
    result = plan_of(adl, LEGACY, widths)
    found: dict[str, str | None] = {}
    for pe, item in read_pes(result.aadls).items():
        assert schema_errors(result.aadls[pe]) == ""
        for streams in item.root.iterfind("a:inputPorts/a:inputPort/a:importedStreams", NAMES):
            if len(streams):
                (name,) = item.operators
                found[name] = streams.get("filter")
    return found


def fed(kind: str, width: int = 3) -> Adl:
    adl = Adl().operator("f").operator("z", 1, 0).connect("f", "z").region("f", width, kind)
    adl.pseudo.append(imported(0))
    return adl


def test_every_channel_of_a_broadcast_imports_everything() -> None:
    assert filters(fed("Broadcast")) == {"f[0]": None, "f[1]": None, "f[2]": None}


def test_channels_that_take_turns_import_what_a_hash_gives_them() -> None:
    """A filter cannot count, but every tuple must go to one channel."""
    assert filters(fed("RoundRobin")) == {
        f"f[{channel}]": f"(hash(i)) % 3 == {channel}" for channel in range(3)
    }


def test_a_resize_divides_the_stream_again() -> None:
    assert set(filters(fed("RoundRobin"), {"f": 2}).values()) == {
        "(hash(i)) % 2 == 0",
        "(hash(i)) % 2 == 1",
    }


def test_a_filter_of_the_import_holds_as_well() -> None:
    adl = fed("RoundRobin", 1)
    adl.pseudo = [imported(0, chosen=' filter="i > 0"')]
    assert filters(adl) == {"f[0]": "(i > 0) && ((hash(i)) % 1 == 0)"}


def test_keys_of_a_hash_divide_the_stream() -> None:
    adl = fed("Hash", 2)
    keyed = adl.text().replace(
        '<splitter kind="Hash" iportIndex="0"/>',
        '<splitter kind="Hash" iportIndex="0"><attributes><attribute name="k"/>'
        '<attribute name="l"/></attributes></splitter>',
    )
    adl.text = lambda: keyed  # type: ignore[method-assign]
    assert filters(adl) == {
        "f[0]": "(hash(k) + hash(l)) % 2 == 0",
        "f[1]": "(hash(k) + hash(l)) % 2 == 1",
    }


def test_an_import_inside_of_a_channel_is_nobody_elses() -> None:
    """It is copied with its composite, and imports everything in each."""
    adl = Adl().operator("N.f").operator("z", 1, 0).connect("N.f", "z").region("N", 2)
    text = adl.text()
    inside = "</primitiveOperInstance></compositeOperInstance>"
    assert inside in text
    changed = text.replace(
        inside, f"</primitiveOperInstance>{imported(0, name='N.I')}</compositeOperInstance>", 1
    )
    adl.text = lambda: changed  # type: ignore[method-assign]
    assert filters(adl) == {"N[0].f": None, "N[1].f": None}


def test_a_port_that_imports_a_share_and_a_whole_is_refused() -> None:
    """It has one filter, and the other import would lose tuples to it."""
    adl = Adl().operator("N.f").operator("a", 0, 1).operator("z", 1, 0)
    adl.connect("a", "N.f").connect("N.f", "z").region("N", 2)
    composite = 3
    text = adl.text()
    inside = "</primitiveOperInstance></compositeOperInstance>"
    changed = text.replace(
        inside,
        f"</primitiveOperInstance>{imported(0, name='N.J', index=91)}</compositeOperInstance>",
        1,
    ).replace(
        "</compositeOperInstance></compositeOperInstances>",
        f"{imported(composite)}</compositeOperInstance></compositeOperInstances>",
    )
    adl.text = lambda: changed  # type: ignore[method-assign]
    with pytest.raises(PlanRefused) as refused:
        plan_of(adl, LEGACY)
    assert refused.value.reason is Reason.NOT_SUPPORTED_YET
    assert "feed one port" in refused.value.message


def test_a_stream_whose_tuples_cannot_be_hashed_is_refused() -> None:
    """With what to do instead."""
    adl = fed("RoundRobin")
    text = adl.text().replace('type="int32"', 'type="list&lt;int32&gt;"')
    adl.text = lambda: text  # type: ignore[method-assign]
    with pytest.raises(PlanRefused) as refused:
        plan_of(adl, LEGACY)
    assert refused.value.reason is Reason.NOT_SUPPORTED_YET
    assert "put an operator between them" in refused.value.message


def test_every_channel_exports_to_an_export_beside_its_region() -> None:
    """Under the same name; the streams of the channels are one to whoever imports it."""
    adl = Adl().operator("a", 0, 1).operator("f").connect("a", "f").region("f", 2)
    adl.pseudo.append(exported(1))
    result = plan_of(adl, LEGACY)
    names = {
        next(iter(pe.operators)): [
            str(stream.get("name"))
            for stream in pe.root.iterfind("a:outputPorts/a:outputPort/a:exportedStream", NAMES)
        ]
        for pe in read_pes(result.aadls).values()
    }
    assert names == {"a": [], "f[0]": ["s"], "f[1]": ["s"]}
    assert all(schema_errors(text) == "" for text in result.aadls.values())


def test_what_a_job_imports_and_exports_is_warned_of_since_nobody_connects_it_yet() -> None:
    """Each operator is named once, whatever its channels are."""
    adl = fed("Broadcast")
    adl.pseudo.append(exported(0))
    (warning,) = plan_of(adl, LEGACY).warnings
    assert warning == (
        "StreamsNotConnected: streams between jobs are not connected yet, so no tuple comes from"
        " import I and nobody gets what export E offers"
    )
    assert plan_of(Adl().chain("a", "b"), LEGACY).warnings == ()
