"""All constraints hold in every PE, or the plan is refused by the names of two operators."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.reasons import Reason
from services.fusion_backend.core import drafting
from services.fusion_backend.core.planning import PlanResult, plan
from services.fusion_backend.core.records import Fusion, PlanRecord
from services.fusion_backend.core.refusals import PlanRefused
from services.fusion_backend.core.requesting import PlanRequest
from tests.unit.fusion_backend.planner.adl_writing import Adl, plan_of

TOGETHER = '<coLocation colocId="C"/>'
DEFAULT_POOL = '<poolLocation poolIndex="0"/>'
POOL = '<poolLocation poolIndex="1"/>'


def pair(first: dict[str, str | bool], second: dict[str, str | bool]) -> Adl:
    """Two operators in a row."""
    adl = Adl().pool("one").pool("other").pool("own", "exclusive")
    adl.operator("a", 0, 1, **first).operator("b", 1, 0, **second)  # type: ignore[arg-type]
    return adl.connect("a", "b")


def refusal(adl: Adl, fusion: Fusion) -> PlanRefused:
    with pytest.raises(PlanRefused) as caught:
        planned(adl, fusion)
    return caught.value


def planned(
    adl: Adl, fusion: Fusion, *, compat: bool = False, previous: PlanRecord | None = None
) -> PlanResult:
    return plan(
        PlanRequest(
            application=adl.application(),
            bundle_digest="digest",
            job_name="job",
            job_id=7,
            fusion=fusion,
            compat=compat,
            previous=previous,
            is_placed=False,
        )
    )


def located(host: str) -> str:
    return f'<hostLocation hostname="{host}"/>'


CONTRADICTIONS: dict[str, tuple[dict[str, str | bool], dict[str, str | bool], str]] = {
    "restartable": ({}, {"restartable": False}, "CDISR3201E"),
    "ex-location": (
        {"partitions": TOGETHER + '<exLocation exlocId="X"/>'},
        {"partitions": TOGETHER + '<exLocation exlocId="X"/>'},
        "CDISR3204E",
    ),
    "hosts": ({"resources": located("h1")}, {"resources": located("h2")}, "CDISR3209E"),
    "pools": (
        {"resources": POOL},
        {"resources": '<poolLocation poolIndex="2"/>'},
        "CDISR3209E",
    ),
    "exclusive pool": ({"resources": '<poolLocation poolIndex="3"/>'}, {}, "CDISR3205E"),
    "slots": (
        {"resources": '<poolLocation poolIndex="1" inpoolIndex="0"/>'},
        {"resources": '<poolLocation poolIndex="1" inpoolIndex="1"/>'},
        "CDISR3210E",
    ),
    "host ex-location": (
        {"resources": DEFAULT_POOL + '<exLocation exlocId="X"/>'},
        {"resources": DEFAULT_POOL + '<exLocation exlocId="X"/>'},
        "CDISR3211E",
    ),
}


@pytest.mark.parametrize("fusion", [Fusion.legacy(), Fusion.manual(2), Fusion.automatic(2)])
@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_operators_that_must_and_must_not_share_a_pe_are_refused_by_name(
    name: str, fusion: Fusion
) -> None:
    """By two operators and the original's message; compat fuses them as the original did."""
    first, second, code = CONTRADICTIONS[name]
    adl = pair({"partitions": TOGETHER, **first}, {"partitions": TOGETHER, **second})
    found = refusal(adl, fusion)
    assert found.reason is Reason.CONSTRAINTS_CONTRADICT
    assert found.code == "CDISR3200E"
    assert "'a' and 'b'" in found.message
    assert code in found.message
    assert len(planned(adl, fusion, compat=True).record.pes) == 1


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_operators_that_run_together_in_spite_of_a_contradiction_stay(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release that did not look accepted them: their job can be resized and rendered again."""
    first, second, _ = CONTRADICTIONS[name]
    adl = pair({"partitions": TOGETHER, **first}, {"partitions": TOGETHER, **second})
    with monkeypatch.context() as earlier:
        earlier.setattr(drafting, "refuse_contradictions", lambda *_: None)
        before = planned(adl, Fusion.legacy())
    after = planned(adl, Fusion.legacy(), previous=before.record)
    assert after.record.pes == before.record.pes


def test_operators_that_must_and_must_not_share_a_host_are_refused_by_name() -> None:
    apart = f'{DEFAULT_POOL}<coLocation colocId="H"/><exLocation exlocId="X"/>'
    found = refusal(pair({"resources": apart}, {"resources": apart}), Fusion.legacy())
    assert found.reason is Reason.CONSTRAINTS_CONTRADICT
    assert "'a' and 'b' must be on the same host" in found.message


@pytest.mark.parametrize(
    "second", [{"resources": located("h1")}, {"resources": POOL}], ids=["host", "pool"]
)
def test_an_operator_without_a_place_goes_where_the_other_one_must_be(
    second: dict[str, str | bool],
) -> None:
    adl = pair({"partitions": TOGETHER}, {"partitions": TOGETHER, **second})
    assert len(planned(adl, Fusion.legacy()).record.pes) == 1


# --------------------------------------------------------------------------- generated ones

PARTITIONS = ("", "", TOGETHER, '<exLocation exlocId="X"/>', '<coLocation colocId="byChannel(B)"/>')
RESOURCES = (DEFAULT_POOL, DEFAULT_POOL, DEFAULT_POOL, POOL)
SCHEMES = [Fusion.legacy(), Fusion.automatic(2, largest_node_mcpu=1000)]
SCHEMES += [Fusion.manual(number) for number in (1, 2, 4)]
FUSIONS = st.builds(
    lambda scheme, kind: Fusion(
        scheme.scheme, scheme.pes_max, scheme.requested, scheme.nodes, kind
    ),
    st.sampled_from(SCHEMES),
    st.sampled_from(["noChannelInfluence", "channelIsolation", "channelExlocation"]),
)


@st.composite
def constrained(draw: st.DrawFn) -> Adl:
    """A few operators in a row, some of them in a region, with constraints of every kind."""
    count = draw(st.integers(2, 6))
    inside = draw(st.integers(0, count))
    adl = Adl().pool("one")
    paths = [f"W.o{n}" if n < inside else f"o{n}" for n in range(count)]
    for number, path in enumerate(paths):
        adl.operator(
            path,
            int(number > 0),
            1,
            partitions=draw(st.sampled_from(PARTITIONS)),
            resources=draw(st.sampled_from(RESOURCES)),
            restartable=draw(st.integers(0, 5)) > 0,
        )
        if number:
            adl.connect(paths[number - 1], path)
    if inside:
        adl.region("W", draw(st.integers(1, 4)))
    return adl


@settings(max_examples=150, deadline=None)
@given(adl=constrained(), fusion=FUSIONS)
def test_all_constraints_hold_or_the_refusal_names_two_operators(adl: Adl, fusion: Fusion) -> None:
    result = outcome(adl, fusion)
    if isinstance(result, PlanRefused):
        assert result.reason is Reason.CONSTRAINTS_CONTRADICT
        assert result.message.count("'") >= 4
        return
    names = [name for pe in result.record.pes for name in pe.operators]
    assert max(Counter(names).values()) == 1
    for pe in result.record.pes:
        for one, other in combinations(pe.operators, 2):
            check_pair(adl, fusion, one, other)


def outcome(adl: Adl, fusion: Fusion) -> PlanResult | PlanRefused:
    try:
        return plan_of(adl, fusion)
    except PlanRefused as refused:
        return refused


def check_pair(adl: Adl, fusion: Fusion, one: str, other: str) -> None:
    """Two operators that share a PE may, by the words of the specification."""
    first, second = (adl.operators[name.replace(index(name), "")] for name in (one, other))
    both_co_located = "coLocation" in first.partitions and "coLocation" in second.partitions
    assert first.restartable == second.restartable
    assert first.resources == second.resources or both_co_located
    assert not ("exLocation" in first.partitions and "exLocation" in second.partitions)
    if fusion.type == "channelIsolation":
        assert index(one) == index(other)
    if fusion.type == "channelExlocation":
        assert index(one) == index(other) or not (index(one) and index(other))


def index(name: str) -> str:
    """The channel in a physical name, as it is written; empty outside of the region."""
    start = name.find("[")
    return "" if start < 0 else name[start : name.find("]") + 1]
