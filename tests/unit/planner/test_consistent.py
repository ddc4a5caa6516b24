"""Consistent regions: what annotations say of them, and what a resize leaves of that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.reasons import Reason
from planner.drafting import draft
from planner.numbering.records import Fusion
from planner.planning import complete
from planner.refusals import PlanRefused
from planner.requesting import PlanRequest
from planner.resizing import refuse_resized_consistency
from tests.unit.planner.adl_writing import Adl, plan_of, request_of
from tests.unit.planner.reading import NAMES, read_pe

LEGACY = Fusion.legacy()


def value(key: str, text: str) -> str:
    return f'<value key="{key}" type="rstring">{text}</value>'


def entry(region: int, *flags: str, more: str = "") -> str:
    """Membership of a region; flags are true."""
    inside = value("index", str(region)) + more + "".join(value(flag, "true") for flag in flags)
    return f'<splAnnotation tag="consistentRegionEntry" internal="true">{inside}</splAnnotation>'


def region(index: int, drain: str, reset: str) -> str:
    """What the main composite says of a region."""
    times = value("drainTimeout", drain) + value("resetTimeout", reset)
    trigger = value("index", str(index)) + value("trigger", "periodic") + value("period", "10")
    return f'<splAnnotation tag="consistentRegion">{trigger}{times}</splAnnotation>'


def entries(adl: Adl, *, compat: bool = False) -> dict[str, dict[str, str]]:
    """The entry of each operator that has one, in the order of its keys."""
    plan = complete(draft(replace(request_of(adl, LEGACY), compat=compat)))
    found = {}
    for text in plan.aadls.values():
        (operator,) = read_pe(text).root.iterfind("a:operInstances/d:operInstance", NAMES)
        for item in operator.iterfind("{*}annotation[@tag='consistentRegionEntry']"):
            pairs = item.iterfind("{*}tuple/{*}attr")
            found[str(operator.get("name"))] = {
                str(each.get("key")): str(each.get("value")) for each in pairs
            }
    return found


def channels(*, with_sink: bool) -> Adl:
    """Three channels of a source and an operator, which meet in a sink."""
    adl = Adl().operator("k", 1, 0).operator("N.src", 0, 1).operator("N.f")
    adl.operators["N.src"].extra = entry(0, "isStartOfRegion")
    adl.operators["N.f"].extra = entry(0)
    adl.operators["k"].extra = entry(0, "isEndOfRegion") if with_sink else ""
    return adl.connect("N.src", "N.f").connect("N.f", "k").region("N", 3)


def test_an_entry_says_the_region_its_time_outs_and_flags_in_the_originals_order() -> None:
    """Time-outs with a decimal point; what else the entry has comes last."""
    adl = Adl().chain("a", "b", "c")
    ports = value("autonomousInputPort", "0") + value("autonomousInputPort", "1")
    adl.operators["a"].extra = entry(3, "isTriggerOperator", "isStartOfRegion", more=ports)
    adl.operators["b"].extra = entry(3, "isEndOfRegion")
    adl.operators["c"].extra = entry(3)
    adl.pseudo.append(region(3, "180", "60.5"))
    found = entries(adl)
    times = {"drainTimeout": "180.0", "resetTimeout": "60.5"}
    assert list(found["a"]) == [
        *("index", "logicalIndex", "drainTimeout", "resetTimeout"),
        *("isStartOfRegion", "autonomousInputPort", "isTriggerOperator"),
    ]
    assert found["b"] == {"index": "0", "logicalIndex": "3", **times, "isEndOfRegion": "true"}
    assert found["c"]["index"] == "3", "nothing passes the end of a region"


def test_channels_that_share_an_operator_are_one_region() -> None:
    apart, shared = (entries(channels(with_sink=sink)) for sink in (False, True))
    assert [apart[f"N[{n}].{name}"]["index"] for n in range(3) for name in ("src", "f")] == [
        *("0", "0", "1", "1", "2", "2")
    ]
    assert {each["index"] for each in shared.values()} == {"0"}
    assert len(shared) == 7


def test_fusion_keeps_channels_apart_that_are_one_region() -> None:
    """As the original did; what they share goes with the first."""
    pes = plan_of(channels(with_sink=True), Fusion.manual(1)).record.pes
    assert [pe.operators for pe in pes] == [
        ("k", "N[0].src", "N[0].f"),
        ("N[1].src", "N[1].f"),
        ("N[2].src", "N[2].f"),
    ]


def test_operators_of_as_many_regions_need_no_pe_alone() -> None:
    """The original compares the number of regions with that of operators."""
    together = '<coLocation colocId="C"/>'
    adl = Adl().chain("a", "b", "c", "z")
    for path, number in (("a", 0), ("b", 0), ("c", 1)):
        adl.operators[path].extra = entry(number, "isStartOfRegion")
    adl.operators["a"].partitions = adl.operators["b"].partitions = together
    request = replace(request_of(adl, Fusion.manual(2)), compat=True)
    assert [unit.stands_alone for unit in draft(request).units] == [True, False, False]
    adl.operators["b"].partitions = adl.operators["b"].extra = ""
    adl.operators["c"].partitions = together
    units = draft(replace(request, application=adl.application())).units
    assert [unit.stands_alone for unit in units] == [False, False, False]


def test_a_region_keeps_its_index_when_another_one_is_resized() -> None:
    """Two replicated regions: the PEs of the one are as before, whatever the other's width is."""
    adl = Adl().operator("k", 2, 0)
    for number, name in enumerate("VW"):
        adl.operator(f"{name}.src", 0, 1).operator(f"{name}.f")
        adl.operators[f"{name}.src"].extra = entry(number, "isStartOfRegion")
        adl.operators[f"{name}.f"].extra = entry(number)
        adl.connect(f"{name}.src", f"{name}.f").connect(f"{name}.f", "k", port=number)
        adl.region(name, 2)
    application = adl.application()
    before = plan_of(application, LEGACY)
    kept = {pe.name: pe.content_id for pe in before.record.pes if "W" in pe.operators[0]}
    assert len(kept) == 4
    for width in (1, 4):
        after = plan_of(application, LEGACY, {"V": width, "W": 2}, previous=before.record)
        assert kept.items() <= {pe.name: pe.content_id for pe in after.record.pes}.items()
    assert entries(adl)["W[1].f"]["index"] == "3"
    assert entries(adl, compat=True)["W[1].f"]["index"] == "3"


def resized(adl: Adl, **widths: int) -> PlanRequest:
    """Another width of a region of a job that runs."""
    before = plan_of(adl, LEGACY).record
    wanted = {**before.widths, **widths}
    return replace(request_of(adl, LEGACY), generation=2, widths=wanted, previous=before)


@pytest.mark.parametrize("with_sink", [False, True])
def test_a_region_within_a_consistent_region_keeps_its_width(with_sink: bool) -> None:
    adl = channels(with_sink=with_sink)
    refuse_resized_consistency(resized(adl))
    with pytest.raises(PlanRefused) as caught:
        refuse_resized_consistency(resized(adl, N=4))
    refusal = caught.value
    assert (refusal.reason, refusal.value) == (Reason.CONSISTENT_REGION, "4")
    assert refusal.field == "ParallelRegion N spec.width"
    assert refusal.message.startswith(f"{refusal.field} is 4, and 3 channels must stay")
    assert "'N.src'" in refusal.message


def test_a_single_operator_that_is_replicated_counts_as_well() -> None:
    adl = Adl().chain("a", "w", "z").region("w", 2)
    adl.operators["a"].extra = entry(0, "isStartOfRegion")
    adl.operators["w"].extra = entry(0)
    with pytest.raises(PlanRefused, match="'w' is in a consistent region"):
        refuse_resized_consistency(resized(adl, w=1))


def test_a_region_beside_a_consistent_one_has_the_width_that_is_wanted() -> None:
    """Also one whose operators name a region that nothing starts: there is none."""
    adl = Adl().chain("a", "b", "w", "z").region("w", 2)
    adl.operators["a"].extra = entry(0, "isStartOfRegion")
    adl.operators["b"].extra = entry(0, "isEndOfRegion")
    adl.operators["w"].extra = entry(1)
    refuse_resized_consistency(resized(adl, w=5))


def test_a_first_plan_may_have_any_width_of_a_consistent_region() -> None:
    refuse_resized_consistency(
        replace(request_of(channels(with_sink=True), LEGACY), widths={"N": 7})
    )
