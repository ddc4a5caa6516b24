"""What cannot be planned is refused with a reason, a field and a value that people understand."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from contracts.reasons import Reason
from planner.application.adl import read_application
from planner.application.model import Application
from planner.graph import walking
from planner.numbering.records import Fusion
from planner.planning import PlanResult, plan
from planner.refusals import PlanRefused
from planner.requesting import PlanLimits, PlanRequest
from tests.unit.planner.adl_writing import Adl, plan_of

LEGACY = Fusion.legacy()


def region_of(width: int | str = 2) -> Adl:
    adl = Adl().chain("a", "W.f", "z")
    if isinstance(width, str):
        adl.value("width", width)
        width = "width"
    return adl.region("W", width)


def read(text: str) -> PlanRefused:
    bundle = replace(Adl().chain("a", "b").bundle(), adl=text.encode())
    with pytest.raises(PlanRefused) as caught:
        plan_of(read_application(bundle), LEGACY)
    return caught.value


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('name="a" index="0"', 'name="a" index="x"', "index='x', not a number"),
        ('name="a" index="0"', 'name="a" index="1"', "have the index 1"),
        ('name="a" index="0"', 'name="a"', "has no attribute index"),
        ('name="a" index="0"', 'name="b" index="0"', "have the name 'b'"),
        ('restartable="true"', 'restartable="maybe"', "not a boolean"),
        ('tupleTypeIndex="0"', 'tupleTypeIndex="9"', "unknown tuple type 9"),
        ('poolIndex="0"', 'poolIndex="9"', "unknown host pool 9"),
        ('definitionIndex="0" optimized', 'definitionIndex="9" optimized', "definition 9"),
        ('operIndex="1"', 'operIndex="99"', "which is not there"),
        ("<sharedObject", "<ignored/><x", "not well-formed"),
        ("splApplication", "spl", "no splApplication"),
        ("application/v4200", "application/v9", "not an applicationSet"),
        ('membershipMode="shared"', 'membershipMode="both"', "not one of shared, exclusive"),
    ],
)
def test_an_adl_that_is_not_valid_is_refused_by_element_and_value(
    old: str, new: str, says: str
) -> None:
    text = Adl().chain("a", "b").text()
    assert old in text
    error = read(text.replace(old, new))
    assert error.reason is Reason.ADL_INVALID
    assert says in error.message


def test_composites_that_feed_each_other_in_a_circle_are_refused() -> None:
    """Connections without an operator in them must not be followed for ever."""
    adl = Adl().chain("a", "P.f", "Q.g", "z")
    text = adl.text()
    first, second = adl.composites["P"].index, adl.composites["Q"].index
    text = text.replace(
        f'<outgoingConnections><connection operIndex="{adl.operators["P.f"].index}"',
        f'<outgoingConnections><connection operIndex="{second}" portIndex="0" portKind="input"/>'
        f'<connection operIndex="{adl.operators["P.f"].index}"',
    ).replace(
        f'<outgoingConnections><connection operIndex="{adl.operators["Q.g"].index}"',
        f'<outgoingConnections><connection operIndex="{first}" portIndex="0" portKind="input"/>'
        f'<connection operIndex="{adl.operators["Q.g"].index}"',
    )
    application = read_application(replace(adl.bundle(), adl=text.encode()))
    with pytest.raises(PlanRefused) as caught:
        plan(request(application, limits=PlanLimits(connections_max=1000)))
    assert caught.value.reason is Reason.ADL_INVALID
    assert "in a circle" in caught.value.message


def test_a_region_with_more_channels_than_a_way_may_be_deep_is_no_circle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(walking, "DEPTH_MAX", 10)
    adl = Adl().chain("a", "f", "g", "z").region("f", 20).region("g", 20)
    assert len(plan(request(adl.application())).record.pes) == 42


def request(application: Application, **more: Any) -> PlanRequest:
    values: dict[str, Any] = {"fusion": LEGACY, **more}
    return PlanRequest(
        application=application, bundle_digest="digest", job_name="job", job_id=7, **values
    )


@pytest.mark.parametrize("width", [0, -1])
def test_a_width_below_one_is_refused_wherever_it_comes_from(width: int) -> None:
    """From the ADL, the job spec, a ParallelRegion and a submission-time value."""
    sources: dict[str, Callable[[], PlanResult]] = {
        "constantWidth": lambda: plan_of(region_of(max(width, 0)), LEGACY),
        "spec.parallelRegions[*].width": lambda: plan_of(
            region_of(), LEGACY, overrides=[("*", width)]
        ),
        "ParallelRegion W spec.width": lambda: plan_of(region_of(), LEGACY, {"W": width}),
        "spec.submissionTimeValues.width": lambda: plan_of(
            region_of('"2"'), LEGACY, values={"width": str(width)}
        ),
    }
    for field, attempt in sources.items():
        with pytest.raises(PlanRefused) as caught:
            attempt()
        error = caught.value
        assert error.reason is Reason.WIDTH_REFUSED
        assert error.field == field
        assert "region W" in error.message
        assert error.value in (str(width), "0")
        assert "CDISR1164E" in error.message


def test_a_width_that_is_no_number_is_a_bad_submission_value() -> None:
    with pytest.raises(PlanRefused) as caught:
        plan_of(region_of('"2"'), LEGACY, values={"width": "wide"})
    assert caught.value.reason is Reason.SUBMISSION_VALUE_INVALID
    assert caught.value.field == "spec.submissionTimeValues.width"
    assert "'wide'" in caught.value.message


def test_an_unknown_region_is_refused_with_the_list_of_those_that_exist() -> None:
    for widths, overrides in (({"X": 2}, []), ({}, [("X*", 2)])):
        with pytest.raises(PlanRefused) as caught:
            plan_of(region_of(), LEGACY, widths, overrides=overrides)
        assert caught.value.reason is Reason.UNKNOWN_REGION
        assert caught.value.message.endswith("it has: W")


def test_widths_that_multiply_beyond_the_limit_are_refused_before_anything_is_copied() -> None:
    adl = Adl().chain("a", "N.M.f", "z").region("N", 1000).region("N.M", 1000)
    with pytest.raises(PlanRefused) as caught:
        plan_of(adl.region("N.M.f", 1000), LEGACY)
    assert caught.value.reason is Reason.PLAN_TOO_LARGE
    assert "1000000002 operators" in caught.value.message


def test_connections_beyond_the_limit_are_refused() -> None:
    adl = Adl().chain("a", "f", "g", "z").region("f", 40).region("g", 40)
    with pytest.raises(PlanRefused) as caught:
        plan(request(adl.application(), limits=PlanLimits(connections_max=1600)))
    assert caught.value.reason is Reason.PLAN_TOO_LARGE


def test_a_pe_that_does_not_fit_a_config_map_is_refused_by_name_and_size() -> None:
    adl = Adl().chain("a", "f", "z").region("f", 50)
    with pytest.raises(PlanRefused) as caught:
        plan(request(adl.application(), limits=PlanLimits(aadl_bytes_max=10_000)))
    error = caught.value
    assert error.reason is Reason.PE_TOO_LARGE
    assert "job-0" in error.message
    assert "at most 10000" in error.message
    assert "widest connection is that of a with 50" in error.message


def test_as_many_isolated_operators_as_pods_can_have_labels_for() -> None:
    """A label for each on every other pod: few in a job of many PEs."""
    adl = Adl().chain("a", "f", "z").region("f", 6)
    adl.operators["f"].host_isolated = True
    asked = request(adl.application())
    assert len(plan(asked).record.pes) == 8
    for limits in (PlanLimits(isolated_max=5), PlanLimits(isolation_labels_max=41)):
        with pytest.raises(PlanRefused) as caught:
            plan(replace(asked, limits=limits))
        assert caught.value.reason is Reason.PLAN_TOO_LARGE
        assert "6 operators ask for a host of their own" in caught.value.message
    plan(replace(asked, limits=PlanLimits(isolated_max=6, isolation_labels_max=42)))


def test_one_pe_has_nobody_to_keep_away() -> None:
    adl = Adl().chain("a", "f", "z").region("f", 6)
    adl.operators["f"].host_isolated = True
    asked = request(adl.application(), fusion=Fusion.manual(1))
    plan(replace(asked, limits=PlanLimits(isolated_max=0, isolation_labels_max=0)))


@pytest.mark.parametrize("pes", [0, -3])
def test_fewer_than_one_pe_is_refused(pes: int) -> None:
    with pytest.raises(PlanRefused) as caught:
        plan_of(region_of(), Fusion.manual(pes))
    assert caught.value.reason is Reason.FUSION_INVALID
    assert caught.value.field == "spec.fusion.manual"


def test_a_shared_pool_with_tags_is_planned() -> None:
    adl = Adl().pool("gpu", "shared", '<tag name="gpu"/>')
    adl.operator("a", 0, 0, resources='<poolLocation poolIndex="1"/>')
    record = plan_of(adl, LEGACY).record
    assert record.pes[0].host_pool == 1
    assert record.pools[1].tags == ("gpu",)


POOL_AND_PLACE = '<poolLocation poolIndex="1" inpoolIndex="0"/>'


@pytest.mark.parametrize(
    ("old", "new", "field", "says"),
    [
        ('size="2"', 'size="0"', "hostpool@size", "hostpool 'gpu'"),
        ('size="2"', 'size="-1"', "hostpool@size", "size='-1', not a number"),
        ('size="2"', 'size="two"', "hostpool@size", "size='two', not a number"),
        ('Mode="shared"><host', 'Mode="own"><host', "hostpool@membershipMode", "'own', not one of"),
        ('name="gpu"', 'name=""', "hostpool@name", "empty name"),
        (
            'index="1" n',
            'index="0" n',
            "hostpool@index",
            "two host pools of the ADL have the index 0",
        ),
        ('name="$default"', 'name="gpu"', "name", "two host pools of the ADL have the name 'gpu'"),
        ('hostname="h1"', 'hostname=" "', "host@hostname", "host of hostpool 'gpu'"),
        ('<tag name="t"/>', '<tag name=""/>', "tag@name", "tag of hostpool 'gpu'"),
        ('poolIndex="1"', 'poolIndex="7"', "poolIndex", "'a' of the ADL asks for the unknown host"),
        ('poolIndex="1"', 'poolIndex="x"', "poolLocation@poolIndex", "OperInstance 'a'"),
        ('inpoolIndex="0"', 'inpoolIndex="-1"', "poolLocation@inpoolIndex", "OperInstance 'a'"),
        (POOL_AND_PLACE, "<hostLocation/>", "hostLocation@hostname", "OperInstance 'a'"),
        (POOL_AND_PLACE, '<hostLocation hostname=""/>', "hostLocation@hostname", "empty hostname"),
        (POOL_AND_PLACE, "<coLocation/>", "coLocation@colocId", "OperInstance 'a'"),
    ],
)
def test_a_place_that_cannot_be_read_is_refused_by_operator_or_pool_and_field(
    old: str, new: str, field: str, says: str
) -> None:
    inside = '<host hostname="h1"/><host hostname="h2"/><tag name="t"/>'
    adl = Adl().pool("gpu", inside=inside, size=2).operator("a", 0, 0, resources=POOL_AND_PLACE)
    assert adl.text().count(old) == 1
    found = read(adl.text().replace(old, new))
    assert found.reason is Reason.ADL_INVALID
    assert found.field == f"ADL {field}"
    assert says in found.message


def test_different_jvm_arguments_of_co_located_operators_are_refused() -> None:
    adl = Adl()
    for name, argument in (("a", "-Xmx1g"), ("b", "-Xmx2g")):
        adl.operator(
            name,
            0,
            0,
            extra=f"<jvmArguments><jvmArgument>{argument}</jvmArgument></jvmArguments>",
            partitions='<coLocation colocId="C"/>',
        )
    with pytest.raises(PlanRefused) as caught:
        plan_of(adl, LEGACY)
    assert caught.value.reason is Reason.CONSTRAINTS_CONTRADICT
    assert "a: -Xmx1g; b: -Xmx2g" in caught.value.message


def test_a_refusal_survives_the_way_back_from_a_worker_process() -> None:
    error = PlanRefused(Reason.WIDTH_REFUSED, field="f", value="v" * 500, message="m")
    again = pickle.loads(pickle.dumps(error))
    assert (again.reason, again.field, again.value) == (error.reason, error.field, error.value)
    assert str(again) == "m"
    assert len(again.value) < 250
