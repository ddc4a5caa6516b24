"""The plan record survives its JSON form, byte for byte, and refuses what it does not know."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from planner.numbering.measured import MeasuredCpu
from planner.numbering.records import Fusion, PlanRecord
from tests.unit.planner.adl_writing import Adl, plan_of


def nested() -> Adl:
    adl = Adl().operator("a", 0, 1).operator("N.f").operator("N.g").operator("z", 1, 0)
    adl.connect("a", "N.f").connect("N.f", "N.g").connect("N.g", "z")
    return adl.region("N", 2).region("N.f", 3)


@pytest.mark.parametrize("fusion", [Fusion.legacy(), Fusion.manual(3), Fusion.automatic(4)])
def test_a_record_comes_back_from_json(fusion: Fusion) -> None:
    record = plan_of(nested(), fusion).record
    again = PlanRecord.from_json(record.to_json())
    assert again == record
    assert again.to_json() == record.to_json()


def test_measured_cpu_is_kept_and_a_record_without_it_is_as_before() -> None:
    """An older release reads both."""
    record = plan_of(nested(), Fusion.automatic(4)).record
    assert "measured" not in json.loads(record.to_json())
    measured = replace(record, measured=MeasuredCpu(1_500, 4_000, 500))
    assert PlanRecord.from_json(measured.to_json()) == measured
    document = json.loads(measured.to_json())
    with pytest.raises(ValueError, match="not a plan record"):
        PlanRecord.from_json(json.dumps(document | {"measured": {"used": 1}}))


def test_that_an_application_is_in_python_is_kept_and_other_records_are_as_before() -> None:
    """An older release reads both."""
    record = plan_of(nested(), Fusion.legacy()).record
    assert "python" not in json.loads(record.to_json())
    of_python = replace(record, is_python=True)
    assert PlanRecord.from_json(of_python.to_json()) == of_python


def test_equal_requests_give_equal_bytes() -> None:
    """Two plans from separately read applications."""
    one, two = plan_of(nested(), Fusion.manual(2)), plan_of(nested(), Fusion.manual(2))
    assert one.record.to_json() == two.record.to_json()
    assert one.aadls == two.aadls
    assert one.port_labels == two.port_labels


@pytest.mark.parametrize(
    "text", ["{}", "[]", *(f'{{"schema": {number}}}' for number in range(1, 6)), "no json"]
)
def test_what_is_no_record_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the one documented error
        PlanRecord.from_json(text)


def test_a_record_of_an_older_release_reads_the_same() -> None:
    """It knew neither places in pools, the names of isolated operators nor channels of PEs."""
    adl = nested()
    adl.operators["a"].host_isolated = True
    record = plan_of(adl, Fusion.legacy()).record
    document = json.loads(record.to_json())
    for pe in document["pes"]:
        assert pe.pop("in_pool_index") is None
        del pe["isolated"], pe["channel_of"]
    again = PlanRecord.from_json(json.dumps(document | {"schema": 2}))
    assert again == replace(
        record, pes=tuple(replace(pe, isolated=(), channel_of=None) for pe in record.pes)
    )
    assert again.isolated == record.isolated == {0: ("a",)}
    with pytest.raises(ValueError, match="schema version 1 to 5"):
        PlanRecord.from_json(json.dumps(document | {"schema": 6}))


def test_a_record_names_its_pes_and_their_objects() -> None:
    """Names are those of the contracts; input ports are what a Service needs."""
    record = plan_of(nested(), Fusion.legacy()).record
    first = record.pes[0]
    assert first.name == "job-0"
    assert first.config_map in record.packs
    assert first.config_map.startswith("job.pack.")
    assert first.key == "pe-0.xml"
    assert first.operators == ("a",)
    assert first.input_ports == ()
    assert all(pe.input_ports for pe in record.pes[1:])
    assert record.pes[1].regions == (0, 1)
    assert record.widths == {"N": 2, "N.f": 3}


def test_port_labels_name_every_pe_input_port_once() -> None:
    """`<job>.<operator>.<port>=<pe>.<pe port>@<job>`, in order, without a date."""
    result = plan_of(Adl().chain("a", "b", "c"), Fusion.legacy())
    assert result.port_labels == "7.1.0=1.0@7\n7.2.0=2.0@7\n"
