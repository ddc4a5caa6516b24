"""All constraints hold in every PE, or the plan is refused by the names of two operators."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations, product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.reasons import Reason
from planner import drafting
from planner.drafting import Draft
from planner.fusion.placing import HostRules
from planner.graph.topology import Operator
from planner.numbering.records import Fusion, PlanRecord
from planner.planning import PlanResult, complete, plan
from planner.refusals import PlanRefused
from planner.requesting import PlanRequest
from tests.unit.planner.adl_writing import Adl, request_of
from tests.unit.planner.constrained import bound_to_hosts, constrained
from tests.unit.planner.naive_fusing import NaiveFusion
from tests.unit.planner.test_naive_fusing import drafted, request_for

TOGETHER = '<coLocation colocId="C"/>'
DEFAULT_POOL = '<poolLocation poolIndex="0"/>'
POOL = '<poolLocation poolIndex="1"/>'
HOST = f'{DEFAULT_POOL}<coLocation colocId="H"/>'


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
    asked = request_of(adl, fusion)
    return plan(replace(asked, compat=compat, previous=previous))


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


def test_operators_are_on_one_host_by_those_that_share_their_pes() -> None:
    """a shares a PE with b, and b is on the host of c: so a is, which is ex-located from c."""
    adl = Adl().chain("a", "b", "c")
    adl.operators["a"].partitions = adl.operators["b"].partitions = TOGETHER
    adl.operators["b"].resources = adl.operators["c"].resources = HOST
    adl.operators["a"].resources = f'{DEFAULT_POOL}<exLocation exlocId="X"/>'
    adl.operators["c"].resources += '<exLocation exlocId="X"/>'
    assert "'a' and 'c' must be on the same host" in refusal(adl, Fusion.legacy()).message
    assert len(planned(adl, Fusion.legacy(), compat=True).record.pes) == 2


def test_who_has_which_jvm_arguments_and_what_holds_them_together_is_reported() -> None:
    adl = Adl().chain("a", "b", "c")
    for name, heap in (("a", "1g"), ("b", "1g"), ("c", "2g")):
        adl.operators[name].partitions = TOGETHER
        adl.operators[
            name
        ].extra = f"<jvmArguments><jvmArgument>-Xmx{heap}</jvmArgument></jvmArguments>"
    found = refusal(adl, Fusion.legacy())
    assert found.field == "jvmArguments"
    assert "'a' and 'c' must share a processing element (by the partition coLo" in found.message
    assert found.message.endswith("a: -Xmx1g; c: -Xmx2g")


@pytest.mark.parametrize(
    "second", [{"resources": located("h1")}, {"resources": POOL}], ids=["host", "pool"]
)
def test_an_operator_without_a_place_goes_where_the_other_one_must_be(
    second: dict[str, str | bool],
) -> None:
    adl = pair({"partitions": TOGETHER}, {"partitions": TOGETHER, **second})
    assert len(planned(adl, Fusion.legacy()).record.pes) == 1


# --------------------------------------------------------------------------- generated ones

SCHEMES = [Fusion.legacy(), Fusion.automatic(2, largest_node_mcpu=1000)]
SCHEMES += [Fusion.manual(number) for number in (1, 2, 4)]
FUSIONS = st.builds(
    lambda scheme, kind: replace(scheme, type=kind),
    st.sampled_from(SCHEMES),
    st.sampled_from(["noChannelInfluence", "channelIsolation", "channelExlocation"]),
)


def test_all_constraints_hold_or_the_refusal_names_two_operators() -> None:
    """What a plan holds together, every rule allows; what is refused, two operators contradict."""
    seen = {"planned": 0, "refused": 0}

    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(adl=constrained(), fusion=FUSIONS)
    def check(adl: Adl, fusion: Fusion) -> None:
        request = replace(request_for(adl), fusion=fusion)
        found = drafted(replace(request, compat=False))
        if isinstance(found, PlanRefused):
            check_refusal(found, request)
            seen["refused"] += 1
        else:
            check_constraints(found)
            seen["planned"] += 1

    check()
    assert min(seen.values()) > 5, seen


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    adl=constrained(),
    fusion=FUSIONS,
    widths=st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3)), min_size=2, max_size=4),
)
def test_all_constraints_hold_over_resizes(
    adl: Adl, fusion: Fusion, widths: list[tuple[int, int]]
) -> None:
    """Nothing moves, and still nothing is together that may not be."""
    request = replace(request_for(adl), fusion=fusion, compat=False)
    names = [region.name for region in request.application.regions]
    for wanted in widths:
        found = drafted(request)
        if isinstance(found, PlanRefused):
            assert found.reason is Reason.CONSTRAINTS_CONTRADICT
            return
        check_constraints(found)
        record = complete(found).record
        request = replace(
            request,
            generation=request.generation + 1,
            widths=record.widths | dict(zip(names, wanted, strict=False)),
            previous=record,
        )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    adl=constrained(),
    fusion=FUSIONS,
    hosts=st.sampled_from(
        [HostRules(required=False), HostRules("zone"), HostRules("zone", required=False)]
    ),
    widths=st.lists(st.integers(1, 4), max_size=3),
)
def test_a_pe_has_one_place_whatever_a_host_is_and_whether_tokens_must_hold(
    adl: Adl, fusion: Fusion, hosts: HostRules, widths: list[int]
) -> None:
    """Also over resizes. What is refused, two operators of one PE or one node contradict."""
    request = replace(request_for(adl), fusion=fusion, compat=False, hosts=hosts)
    for width in (*widths, 2):
        found = drafted(request)
        if isinstance(found, PlanRefused):
            assert found.reason is Reason.CONSTRAINTS_CONTRADICT
            assert "CDISR3211E" not in found.message or hosts.required
            assert "CDISR3231E" not in found.message or hosts.required
            return
        for pe in found.placed.values():
            check_place(found, [found.topology.operators[index] for index in pe], hosts)
        record = complete(found).record
        wide = {region.name: width for region in request.application.regions[:1]}
        request = replace(
            request,
            generation=request.generation + 1,
            widths=record.widths | wide,
            previous=record,
        )


def check_place(found: Draft, operators: list[Operator], hosts: HostRules) -> None:
    """One host, one pool, one place of it, and ex-location ids of one operator."""
    asked = [operator.constraints for operator in operators]
    pools = {own.pool for own in asked if own.pool} - {None}
    assert len({own.host for own in asked} - {None}) <= 1
    assert len(pools) <= 1
    assert len({own.pool_slot for own in asked} - {None}) <= 1
    ids = [each for own in asked for each in own.host_exlocations]
    assert len(set(ids)) == len(ids) or not hosts.required
    is_exclusive = {found.topology.pools[own.pool or 0].mode for own in asked}
    assert len(is_exclusive) == 1


def check_constraints(found: Draft) -> None:
    """Every operator has one PE, and no rule keeps apart what is in it."""
    fusion, naive = found.fusion, NaiveFusion(found.topology, keeps_places=True)
    assert sorted(index for pe in found.placed.values() for index in pe) == sorted(naive.operators)
    for pe in found.placed.values():
        units = [unit for unit in naive.units if set(unit) & set(pe)]
        assert sorted(index for unit in units for index in unit) == sorted(pe)
        for one, other in combinations(units, 2):
            assert naive.compatible(one, other)
            if fusion.scheme != "legacy":
                assert not any(in_channels(naive, fusion, *pair) for pair in product(one, other))
    for pair in together(naive):
        assert not clashing(naive, *pair, fusion)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    adl=bound_to_hosts(),
    fusion=FUSIONS,
    widths=st.lists(st.integers(1, 4), max_size=2),
)
def test_what_no_two_units_contradict_no_fusion_makes_contradict(
    adl: Adl, fusion: Fusion, widths: list[int]
) -> None:
    """Also over resizes. Hosts are those of the closure of all that puts two on one.

    As many PEs as may be are those of legacy: what it takes, every scheme does.
    """
    request = replace(request_for(adl), fusion=fusion, compat=False)
    for width in (*widths, None):
        found = drafted(request)
        apart = drafted(replace(request, fusion=Fusion.legacy(fusion.type), previous=None))
        assert isinstance(found, Draft) == isinstance(apart, Draft)
        if isinstance(found, PlanRefused):
            return
        check_hosts(found)
        record = complete(found).record
        wide = {} if width is None else {each.name: width for each in request.application.regions}
        request = replace(
            request,
            generation=request.generation + 1,
            widths=record.widths | wide,
            previous=record,
        )


def check_hosts(found: Draft) -> None:
    """Nobody on a host, of those that must be on one, keeps another one from there."""
    naive = NaiveFusion(found.topology)
    pes = list(found.placed.values())
    for pair in together(naive, pes):
        assert not clashing(naive, *pair, found.fusion, pes)


def check_refusal(refusal: PlanRefused, request: PlanRequest) -> None:
    """It names two operators that must be together and must not."""
    assert refusal.reason is Reason.CONSTRAINTS_CONTRADICT
    assert refusal.code == "CDISR3200E"
    if refusal.field == "jvmArguments":
        assert "CDISR3216E" in refusal.message
        return
    taken = drafted(replace(request, compat=True))
    assert isinstance(taken, Draft)
    naive = NaiveFusion(taken.topology)
    named = {f"{each.name!r}": each.index for each in naive.each()}
    one, other = (named[name] for name in re.findall(r"'[^']*'", refusal.message)[:2])
    assert (min(one, other), max(one, other)) in together(naive)
    assert clashing(naive, one, other, request.fusion)


def together(naive: NaiveFusion, pes: list[list[int]] | None = None) -> set[tuple[int, int]]:
    """Operators that must share a PE or a host where these, or the units, are the PEs."""
    groups = naive.hosted(naive.units if pes is None else pes)
    return {pair for group in groups for pair in combinations(sorted(group), 2)}


def clashing(
    naive: NaiveFusion,
    one: int,
    other: int,
    fusion: Fusion,
    pes: list[list[int]] | None = None,
) -> bool:
    """Whether two operators that must be together ask for what cannot be."""
    share_pe = any({one, other} <= set(pe) for pe in (naive.units if pes is None else pes))
    first, second = (naive.operators[index].constraints for index in (one, other))
    pools = [naive.topology.pools[0 if p is None else p] for p in (first.pool, second.pool)]
    slots = first.pool_slot, second.pool_slot
    names = [
        {each.host} - {None, "10.0.0.1"} or set(pool.hosts if each.host is None else ())
        for each, pool in zip((first, second), pools, strict=True)
    ]
    on_host = [
        set(first.host_exlocations) & set(second.host_exlocations),
        all(names) and not names[0] & names[1],
        pools[0] != pools[1] and "exclusive" in {pool.mode for pool in pools},
        pools[0] == pools[1] and None not in slots and slots[0] != slots[1],
        not share_pe and (first.host_isolation or second.host_isolation),
    ]
    in_pe = [
        first.restartable != second.restartable,
        first.relocatable != second.relocatable,
        first.isolation or second.isolation,
        set(first.exlocations) & set(second.exlocations),
        naive.is_exclusive(one) != naive.is_exclusive(other),
        first.host and second.host and first.host != second.host,
        0 not in {pool.index for pool in pools} and pools[0] != pools[1],
        in_channels(naive, fusion, one, other),
    ]
    return any(on_host) or (share_pe and any(in_pe))


def in_channels(naive: NaiveFusion, fusion: Fusion, one: int, other: int) -> bool:
    """Whether `fusion.type` keeps two operators apart."""
    first, second = (
        {level.region: level.channel for level in naive.operators[index].levels}
        for index in (one, other)
    )
    if fusion.type == "channelIsolation":
        return first != second
    common = first.keys() & second.keys()
    return fusion.type == "channelExlocation" and any(first[r] != second[r] for r in common)
