"""Automatic fusion: whole channels, few crossings, as many PEs as threads and CPUs suggest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from contracts.reasons import Reason
from loadtest.cutting import measured, shapes
from planner.fusion.reckoning import CpuUsage
from planner.numbering.measured import MeasuredCpu
from planner.numbering.records import Fusion, PlanRecord
from planner.planning import PlanResult, plan
from planner.refusals import PlanRefused
from planner.requesting import PlanLimits, PlanRequest
from tests.unit.planner.adl_writing import Adl, plan_of, request_of
from tests.unit.planner.reading import read_pes

SHAPES = dict(shapes())
SMALL_NODES = Fusion.automatic(4, allocatable_mcpu=8000, largest_node_mcpu=2000, request_mcpu=100)


def channels_of(width: int, *stages: str) -> Adl:
    """A source, a region around a chain, a sink."""
    return Adl().chain("a", *(f"W.{stage}" for stage in stages), "z").region("W", width)


def homes(result: PlanResult) -> dict[str, int]:
    """PE by operator."""
    return {name: pe.id for pe in result.record.pes for name in pe.operators}


def crossing(result: PlanResult) -> int:
    return sum(item.static for item in read_pes(result.aadls).values())


# ------------------------------------------------------------------------ what is partitioned


@pytest.mark.parametrize(("shape", "text"), SHAPES.items(), ids=SHAPES)
def test_never_more_crosses_than_with_the_originals_greedy(shape: str, text: str) -> None:
    row = measured(shape, text)
    assert row.automatic <= row.greedy
    assert row.pes > 1


@pytest.mark.parametrize("width", [3, 8, 20])
@pytest.mark.parametrize("stages", ["fg", "fghk"])
def test_a_channel_is_never_cut(width: int, stages: str) -> None:
    result = plan_of(channels_of(width, *stages), SMALL_NODES)
    found = homes(result)
    assert len(set(found.values())) > 1
    for channel in range(width):
        assert len({found[f"W[{channel}].{stage}"] for stage in stages}) == 1


def test_pes_are_about_as_large() -> None:
    result = plan_of(channels_of(40, "f", "g", "h"), SMALL_NODES)
    sizes = [len(pe.operators) for pe in result.record.pes]
    assert max(sizes) <= 2 * min(sizes)


def test_what_may_not_share_a_pe_does_not() -> None:
    """A class of its own, and operators that exclude each other, in the middle of a chain."""
    names = [f"o{number}" for number in range(12)]
    adl = Adl().chain(*names)
    for number in (2, 5, 8):
        adl.operators[f"o{number}"].partitions = '<exLocation exlocId="X"/>'
    adl.operators["o6"].restartable = False
    found = homes(plan_of(adl, Fusion.automatic(1)))
    assert len({found["o2"], found["o5"], found["o8"]}) == 3
    assert [name for name in names if found[name] == found["o6"]] == ["o6"]


# --------------------------------------------------------------------------- how many


def test_the_number_follows_from_threads_and_cpu_and_is_recorded_with_them() -> None:
    """21 threads at least and 62 at most; two CPUs a PE give 11 to 31, and 18 in the middle."""
    roomy = replace(SMALL_NODES, allocatable_mcpu=64_000)
    fusion = plan_of(channels_of(20, "f", "g"), roomy).record.fusion
    assert (fusion.threads_min, fusion.threads_max) == (21, 62)
    assert fusion.pes_max == 18
    assert (fusion.nodes, fusion.allocatable_mcpu, fusion.limit_mcpu) == (4, 64_000, 0)


@pytest.mark.parametrize(
    ("given", "pes"),
    [
        ({"limit_mcpu": 500}, 8),
        ({"allocatable_mcpu": 3000}, 3),
        ({"request_mcpu": 4000}, 2),
        ({"limit_mcpu": 2000, "is_divided": True}, 2),
        ({"request_mcpu": 7000, "is_divided": True, "allocatable_mcpu": 2000}, 4),
        ({"allocatable_mcpu": 64_000, "largest_node_mcpu": 64_000}, 1),
        ({"allocatable_mcpu": 64_000, "largest_node_mcpu": 64_000, "limit_mcpu": 2000}, 18),
    ],
)
def test_limits_requests_and_the_cluster_bound_the_number(given: dict[str, Any], pes: int) -> None:
    fusion = replace(SMALL_NODES, **given)
    assert plan_of(channels_of(20, "f", "g"), fusion).record.fusion.pes_max == pes


ROOMY = replace(SMALL_NODES, allocatable_mcpu=64_000)


def measured_plan(
    width: int, measured: MeasuredCpu | None, previous: PlanRecord | None = None
) -> PlanRecord:
    """20 channels of f and g, or so many; 18 PEs where nothing else uses a CPU."""
    request = request_of(channels_of(20, "f", "g"), ROOMY)
    generation = previous.generation + 1 if previous else 1
    return plan(
        replace(
            request,
            generation=generation,
            widths={"W": width},
            previous=previous,
            usage=CpuUsage(measured),
        )
    ).record


@pytest.mark.parametrize(
    ("measured", "pes"),
    [
        (None, 18),
        (MeasuredCpu(0), 18),
        (MeasuredCpu(58_000), 6),
        (MeasuredCpu(58_000, 64_000, 4_000), 10),
        (MeasuredCpu(29_000, 32_000), 6),
        (MeasuredCpu(70_000), 1),
        (MeasuredCpu(1_000, 64_000, 3_000), 18),
    ],
    ids=["unknown", "idle", "busy", "with its own", "half of the nodes", "over", "own is more"],
)
def test_cpu_that_others_use_bounds_the_number_and_is_recorded(
    measured: MeasuredCpu | None, pes: int
) -> None:
    record = measured_plan(20, measured)
    assert (record.fusion.pes_max, record.measured) == (pes, measured)


def test_a_resize_reckons_with_the_cpu_that_the_plan_before_was_made_from() -> None:
    """It reckoned the room of a PE as if all CPUs were free, and made PEs for busy ones."""
    first = measured_plan(20, MeasuredCpu(58_000))
    assert len(first.pes) == 6
    wide = measured_plan(40, None, first)
    assert wide.measured == first.measured
    assert len(wide.pes) == 7
    roomy = measured_plan(40, MeasuredCpu(6_000), first)
    assert roomy.measured == MeasuredCpu(6_000)
    assert len(roomy.pes) > 2 * len(wide.pes)
    assert roomy.fusion == first.fusion


def test_a_pe_that_no_config_map_holds_is_divided_further() -> None:
    application = channels_of(60, "f", "g").application()
    request = PlanRequest(
        application=application,
        bundle_digest="digest",
        job_name="job",
        job_id=7,
        fusion=Fusion.automatic(1, largest_node_mcpu=1_000_000),
    )
    assert len(plan(request).record.pes) == 1
    narrow = replace(request, limits=PlanLimits(aadl_bytes_max=60_000))
    result = plan(narrow)
    assert len(result.record.pes) > 1
    assert max(len(text) for text in result.aadls.values()) <= 60_000
    found = homes(result)
    assert all(found[f"W[{n}].f"] == found[f"W[{n}].g"] for n in range(60))
    assert plan(narrow).aadls == result.aadls


def test_an_operator_that_no_config_map_holds_is_refused() -> None:
    request = PlanRequest(
        application=channels_of(200, "f").application(),
        bundle_digest="digest",
        job_name="job",
        job_id=7,
        fusion=Fusion.automatic(1),
        limits=PlanLimits(aadl_bytes_max=10_000),
    )
    with pytest.raises(PlanRefused) as caught:
        plan(request)
    assert caught.value.reason is Reason.PE_TOO_LARGE


# --------------------------------------------------------------------------- resizes


def test_whole_channels_come_and_go_and_nobody_moves() -> None:
    application = channels_of(8, "f", "g").application()
    first = plan_of(application, SMALL_NODES)
    wide = plan_of(application, SMALL_NODES, {"W": 13}, previous=first.record)
    found = homes(wide)
    assert homes(first).items() <= found.items()
    for channel in range(8, 13):
        assert found[f"W[{channel}].f"] == found[f"W[{channel}].g"]
        assert found[f"W[{channel}].f"] not in (found["a"], found["z"])
    back = plan_of(application, SMALL_NODES, {"W": 8}, previous=wide.record)
    assert {pe.id: pe.content_id for pe in back.record.pes} == {
        pe.id: pe.content_id for pe in first.record.pes
    }
    assert wide.record.fusion == first.record.fusion


def test_a_resize_of_one_region_leaves_what_is_not_next_to_it() -> None:
    """Of two regions with operators between them one grows; the other's PEs stay as they are."""
    stages = ["V.f", "V.g", "m", "n", "W.f", "W.g"]
    adl = Adl().chain("a", *stages, "z").region("V", 4).region("W", 4)
    application = adl.application()
    fusion = replace(SMALL_NODES, limit_mcpu=500, allocatable_mcpu=64_000)
    first = plan_of(application, fusion)
    wide = plan_of(application, fusion, {"V": 4, "W": 6}, previous=first.record)
    before = {pe.id: pe.content_id for pe in first.record.pes}
    after = {pe.id: pe.content_id for pe in wide.record.pes}
    beside = {
        pe.id
        for pe in first.record.pes
        if all(name.startswith("V") or name == "a" for name in pe.operators)
    }
    assert beside
    assert {pe: after[pe] for pe in beside} == {pe: before[pe] for pe in beside}


# --------------------------------------------------------------------------- channels


@pytest.mark.parametrize(
    "scheme", [Fusion.manual(1), Fusion.manual(5), Fusion.manual(50), SMALL_NODES], ids=str
)
def test_channel_isolation_fuses_each_channel_by_itself(scheme: Fusion) -> None:
    """The operators of a channel together, and with nothing else; the same sets in each."""
    result = plan_of(channels_of(4, "f", "g", "h"), replace(scheme, type="channelIsolation"))
    with_channels = [set(pe.operators) for pe in result.record.pes if pe.regions]
    assert with_channels == [{f"W[{n}].{stage}" for stage in "fgh"} for n in range(4)]


def test_channel_isolation_keeps_what_constraints_keep_apart() -> None:
    adl = channels_of(3, "f", "g", "h")
    adl.operators["W.g"].restartable = False
    result = plan_of(adl, replace(Fusion.manual(1), type="channelIsolation"))
    found = sorted(sorted(pe.operators) for pe in result.record.pes if pe.regions)
    assert found == sorted(
        pieces for n in range(3) for pieces in ([f"W[{n}].f", f"W[{n}].h"], [f"W[{n}].g"])
    )


@pytest.mark.parametrize("scheme", [Fusion.manual(1), Fusion.manual(6), SMALL_NODES], ids=str)
def test_channel_exlocation_keeps_channels_apart_and_lets_others_in(scheme: Fusion) -> None:
    result = plan_of(channels_of(4, "f", "g"), replace(scheme, type="channelExlocation"))
    for pe in result.record.pes:
        assert len({name.partition(".")[0] for name in pe.operators if "[" in name}) <= 1
    if scheme == Fusion.manual(1):
        assert len(result.record.pes) == 4
        assert all(pe.regions for pe in result.record.pes)


def test_channels_stay_apart_at_a_resize() -> None:
    application = channels_of(2, "f", "g").application()
    fusion = replace(Fusion.manual(2), type="channelIsolation")
    first = plan_of(application, fusion)
    wide = plan_of(application, fusion, {"W": 4}, previous=first.record)
    assert homes(first).items() <= homes(wide).items()
    found = [set(pe.operators) for pe in wide.record.pes if pe.regions]
    assert found == [{f"W[{n}].f", f"W[{n}].g"} for n in range(4)]


def test_legacy_fuses_no_channel() -> None:
    fusion = replace(Fusion.legacy(), type="channelIsolation")
    assert len(plan_of(channels_of(2, "f", "g"), fusion).record.pes) == 6


def test_an_id_that_holds_channels_together_contradicts_their_isolation() -> None:
    adl = channels_of(3, "f", "g")
    adl.operators["W.f"].partitions = '<coLocation colocId="C"/>'
    for kind in ("channelIsolation", "channelExlocation"):
        with pytest.raises(PlanRefused) as caught:
            plan_of(adl, replace(Fusion.manual(3), type=kind))
        assert caught.value.reason is Reason.CONSTRAINTS_CONTRADICT
        assert "'W[0].f' and 'W[1].f'" in caught.value.message
