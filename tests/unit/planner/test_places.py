"""Where PEs must run: every way to say so, read from an ADL and carried into the plan record."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from contracts.reasons import Reason
from planner.drafting import draft
from planner.explaining import explain
from planner.fusion.placing import HostRules
from planner.numbering.records import Fusion, PeRecord, PlanRecord
from planner.planning import plan
from planner.refusals import PlanRefused
from services.fusion_backend.core.spec.inputs import BundleSource, PlanInputs, request, template_of
from tests.unit.planner.adl_writing import Adl, plan_of, request_of

SCHEMES = [Fusion.legacy(), Fusion.manual(1), Fusion.manual(2), Fusion.automatic(1)]
SCHEMES += [Fusion.manual(1, kind) for kind in ("channelIsolation", "channelExlocation")]
TOGETHER = '<coLocation colocId="C"/>'
"""As a partition: one PE. As a resource: one host."""
APART = '<exLocation exlocId="X"/>'
NOWHERE = '<poolLocation poolIndex="0"/>'


def on(host: str) -> str:
    return f'<hostLocation hostname="{host}"/>'


def in_pool(pool: int, place: int | None = None) -> str:
    which = "" if place is None else f' inpoolIndex="{place}"'
    return f'<poolLocation poolIndex="{pool}"{which}/>'


def pools() -> Adl:
    """The pools of the design document: literals, and createPool in all its variants."""
    adl = Adl()
    adl.pool("NamesPool", inside='<host hostname="foo"/><host hostname="bar"/>')
    adl.pool("IPsPool", inside='<host hostname="10.8.5.6"/><host hostname="::1"/>')
    tags = '<tag name="ib"/><tag name="blue"/>'
    adl.pool("P1", inside=tags, size=10).pool("P2", "exclusive", tags, size=10)
    adl.pool("P3", inside=tags).pool("P4", size=10).pool("P5", "exclusive", size=10)
    return adl.pool("P6")


def only_pe(adl: Adl, resources: str) -> tuple[PeRecord, PlanRecord]:
    adl.operator("a", 0, 0, resources=resources)
    record = plan_of(adl, Fusion.legacy()).record
    (pe,) = record.pes
    return pe, record


def refused(adl: Adl, fusion: Fusion, hosts: HostRules | None = None) -> PlanRefused:
    with pytest.raises(PlanRefused) as caught:
        plan(replace(request_of(adl, fusion), hosts=hosts or HostRules()))
    return caught.value


def planned(adl: Adl, fusion: Fusion, hosts: HostRules | None = None) -> list[PeRecord]:
    asked = replace(request_of(adl, fusion), hosts=hosts or HostRules())
    return list(plan(asked).record.pes)


# --------------------------------------------------------------------------- every variant


@pytest.mark.parametrize("host", ["foo.watson.ibm.com", "10.4.40.83", "2001:db8::1"])
def test_a_particular_host_is_what_the_application_wrote(host: str) -> None:
    pe, _ = only_pe(Adl(), on(host))
    assert (pe.host, pe.host_pool, pe.in_pool_index) == (host, None, None)


@pytest.mark.parametrize("index", range(1, 9))
def test_a_pool_of_every_kind_is_planned_as_it_is_declared(index: int) -> None:
    declared = [
        (None, "shared", ("foo", "bar"), ()),
        (None, "shared", ("10.8.5.6", "::1"), ()),
        (10, "shared", (), ("ib", "blue")),
        (10, "exclusive", (), ("ib", "blue")),
        (None, "shared", (), ("ib", "blue")),
        (10, "shared", (), ()),
        (10, "exclusive", (), ()),
        (None, "shared", (), ()),
    ]
    pe, record = only_pe(pools(), in_pool(index))
    assert (pe.host, pe.host_pool, pe.in_pool_index) == (None, index, None)
    pool = record.pools[index]
    assert (pool.size, pool.mode, pool.hosts, pool.tags) == declared[index - 1]


@pytest.mark.parametrize(("pool", "place"), [(1, 0), (1, 1), (4, 9), (8, 99)])
def test_a_particular_host_of_a_pool_is_in_the_record(pool: int, place: int) -> None:
    pe, record = only_pe(pools(), in_pool(pool, place))
    assert (pe.host_pool, pe.in_pool_index) == (pool, place)
    assert PlanRecord.from_json(record.to_json()) == record


def test_the_isolated_operators_of_a_pe_are_named_one_by_one() -> None:
    adl = Adl().chain("a", "b", "c")
    for name in ("a", "c"):
        adl.operators[name].host_isolated = True
    (pe,) = planned(adl, Fusion.manual(1))
    assert (pe.isolation, pe.isolated) == (True, ("a", "c"))


def test_the_tokens_of_all_operators_of_a_pe_are_merged() -> None:
    adl = Adl().chain("a", "b")
    adl.operators["a"].resources = f'{on("h1")}<coLocation colocId="x"/>{APART}'
    adl.operators["b"].resources = f'{on("h1")}<coLocation colocId="y"/>'
    (pe,) = planned(adl, Fusion.manual(1))
    assert (pe.host, pe.colocations, pe.exlocations) == ("h1", ("x", "y"), ("X",))


def test_people_are_reported_where_a_pe_may_run() -> None:
    adl = pools().chain("a", "b", "c", "d", "e", "f")
    adl.operators["a"].resources = on("h1")
    adl.operators["b"].resources = in_pool(3, 7)
    adl.operators["c"].resources = in_pool(5) + TOGETHER
    adl.operators["d"].resources = NOWHERE + APART + '<exLocation exlocId="Y"/>'
    adl.operators["e"].host_isolated = True
    found = explain(draft(request_of(adl, Fusion.legacy())))
    told = {pe: each.together for pe, each in found.items()}
    legacy = "legacy: no constraint joins it"
    assert told == {
        0: (legacy, "on the host 'h1'"),
        1: (legacy, "at place 7 of the host pool 'P1'"),
        2: (
            legacy,
            "in the host pool 'P3'",
            "on the host of all that have host co-location 'C'",
        ),
        3: (legacy, "on another host than all that have host ex-location 'X', 'Y'"),
        4: (legacy, "on a host of its own: 'e' asks for it"),
        5: (legacy,),
    }
    packed = explain(draft(request_of(adl, Fusion.manual(2))))
    assert ("on the host 'h1'",) in [each.together for each in packed.values()]


def test_a_shared_ex_location_is_reported_of_those_that_it_keeps_apart_only() -> None:
    adl = Adl().chain("a", "b")
    adl.operators["a"].resources = NOWHERE + TOGETHER + APART
    adl.operators["b"].resources = NOWHERE + APART
    adl.operators["b"].host_isolated = True
    found = explain(draft(request_of(adl, Fusion.manual(1))))
    assert found[0].apart == ((1, "a host is isolated (CDISR3231E)"),)


# --------------------------------------------------------------------------- never fused

EXCLUDING = {
    "two hosts": (on("h1"), on("h2")),
    "a name and an address": (on("h1"), on("10.0.0.1")),
    "two addresses": (on("10.0.0.1"), on("10.0.0.2")),
    "a host and nothing": (on("h1"), NOWHERE),
    "two places of a pool": (in_pool(3, 0), in_pool(3, 1)),
    "two pools": (in_pool(3), in_pool(5)),
    "a host and a pool that does not name it": (on("h1"), in_pool(1)),
    "an exclusive pool and none": (in_pool(4), NOWHERE),
    "ex-location": (NOWHERE + APART, NOWHERE + APART),
    "two hosts on one host": (f"{on('h1')}{TOGETHER}", f"{on('10.0.0.1')}{TOGETHER}"),
    "two pools on one host": (f"{in_pool(3)}{TOGETHER}", f"{in_pool(5)}{TOGETHER}"),
}


@pytest.mark.parametrize("fusion", SCHEMES)
@pytest.mark.parametrize("which", EXCLUDING)
def test_operators_whose_hosts_exclude_each_other_are_never_fused(
    which: str, fusion: Fusion
) -> None:
    """However few PEs are requested; the number is exceeded."""
    adl = pools().chain("a", "b", "c", "d")
    for place, name in enumerate("abcd"):
        adl.operators[name].resources = EXCLUDING[which][place % 2]
    if which == "ex-location":
        adl.operators["b"].resources = adl.operators["d"].resources = NOWHERE
    pes = planned(adl, fusion)
    for one, other in (("a", "b"), ("c", "d")) if which != "ex-location" else (("a", "c"),):
        assert not any({one, other} <= set(pe.operators) for pe in pes)


@pytest.mark.parametrize("fusion", SCHEMES)
def test_operators_of_different_hosts_are_not_fused_at_a_resize_either(fusion: Fusion) -> None:
    """Each channel has its host: new ones go neither to each other nor to those that run."""
    adl = Adl().chain("a", "f", "z").region("f", 2)
    adl.operators["f"].resources = on("host-getChannel()")
    for widths in ((2, 5), (5, 2), (2, 7)):
        first = plan_of(adl, fusion, {"f": widths[0]})
        record = plan_of(adl, fusion, {"f": widths[1]}, previous=first.record).record
        assert sorted(pe.host for pe in record.pes if pe.host) == [
            f"host-{channel}" for channel in range(widths[1])
        ]


@pytest.mark.parametrize(
    ("one", "other"), [("h1", "h1"), ("::1", "0:0:0:0:0:0:0:1"), ("FE80::a", "fe80::A")]
)
def test_operators_of_one_host_share_a_pe_however_its_address_is_written(
    one: str, other: str
) -> None:
    adl = Adl().chain("a", "b")
    adl.operators["a"].resources, adl.operators["b"].resources = on(one), on(other)
    (pe,) = planned(adl, Fusion.manual(1))
    assert pe.host in (one, other)


# --------------------------------------------------------------------------- contradictions


def test_a_refusal_names_what_holds_two_operators_together_and_what_keeps_them_apart() -> None:
    adl = Adl().chain("a", "b")
    adl.operators["a"].resources = adl.operators["b"].resources = f"{NOWHERE}{TOGETHER}{APART}"
    found = refused(adl, Fusion.legacy())
    assert found.reason is Reason.CONSTRAINTS_CONTRADICT
    assert (
        "'a' and 'b' must be on the same host (by the host coLocation 'C') and must not: both have"
        " the host exLocation 'X'" in found.message
    )


def test_the_ties_of_a_contradiction_are_reported_operator_by_operator() -> None:
    """a is with b by x, b with c by y, and c, which is isolated, is not allowed to share a PE."""
    adl = Adl().chain("a", "b", "c")
    for name, ids in (("a", "x"), ("b", "xy"), ("c", "y")):
        tokens = "".join(f'<coLocation colocId="{each}"/>' for each in ids)
        adl.operators[name].resources = NOWHERE + tokens
    adl.operators["c"].host_isolated = adl.operators["a"].isolated = True
    found = refused(adl, Fusion.legacy())
    assert "'a' and 'b' must share a processing element" in found.message
    adl.operators["a"].isolated = False
    adl.operators["a"].resources += APART
    adl.operators["c"].resources += APART
    assert (
        "'a' and 'c' must share a processing element (by the host coLocation 'x' of 'a' and 'b',"
        " the host coLocation 'y' of 'b' and 'c')" in refused(adl, Fusion.legacy()).message
    )


def test_an_isolated_operator_shares_its_pe_with_all_that_must_be_on_its_host() -> None:
    adl = Adl().chain("a", "b", "c")
    adl.operators["a"].resources = adl.operators["c"].resources = NOWHERE + TOGETHER
    adl.operators["c"].host_isolated = True
    assert [pe.operators for pe in planned(adl, Fusion.legacy())] == [("a", "c"), ("b",)]


FORCED = {
    "two names": (on("h1"), on("h2"), "their host differs: h1 of 'a' and h2 of 'b'"),
    "a name and an address": (on("h1"), on("10.0.0.1"), "their host differs"),
    "two pools": (in_pool(3), in_pool(5), "their host pool differs: P1 of 'a' and P3 of 'b'"),
    "a host and a pool without it": (on("h1"), in_pool(1), "'a' may run on h1 and 'b' on bar, foo"),
    "two places": (
        in_pool(3, 0),
        in_pool(3, 1),
        "'a' asks for place 0 and 'b' for place 1 of the host pool 'P1'",
    ),
    "an exclusive pool": (in_pool(4), NOWHERE, "CDISR3205E"),
}


@pytest.mark.parametrize("which", FORCED)
def test_what_must_share_a_pe_and_has_different_hosts_is_refused(which: str) -> None:
    """Both constraints are named; whether co-location must hold plays no part."""
    first, second, why = FORCED[which]
    adl = pools().chain("a", "b")
    adl.operators["a"].resources, adl.operators["b"].resources = first, second
    adl.operators["a"].partitions = adl.operators["b"].partitions = TOGETHER
    for hosts in (HostRules(), HostRules(required=False), HostRules("zone")):
        found = refused(adl, Fusion.manual(1), hosts)
        assert found.reason is Reason.CONSTRAINTS_CONTRADICT
        assert "'a' and 'b' must share a processing element" in found.message
        assert "(by the partition coLocation 'C')" in found.message
        assert why in found.message


@pytest.mark.parametrize("pool", [1, 2])
def test_a_host_and_a_pool_that_may_have_it_can_share_a_pe(pool: int) -> None:
    """The pool names it, or names addresses, of which nobody knows here whose they are."""
    adl = pools().chain("a", "b")
    adl.operators["a"].resources, adl.operators["b"].resources = on("foo"), in_pool(pool)
    adl.operators["a"].partitions = adl.operators["b"].partitions = TOGETHER
    (pe,) = planned(adl, Fusion.legacy())
    assert (pe.host, pe.host_pool) == ("foo", pool)


@pytest.mark.parametrize(
    ("first", "second", "is_refused"),
    [
        (on("h1"), on("h2"), True),
        (on("h1"), in_pool(1), True),
        (in_pool(4), NOWHERE, True),
        (in_pool(4), in_pool(7), True),
        (in_pool(3, 0), in_pool(3, 1), True),
        (on("h1"), on("10.0.0.1"), False),
        (on("10.0.0.1"), on("::1"), False),
        (in_pool(3), in_pool(5), False),
        (in_pool(3, 0), in_pool(6, 1), False),
    ],
)
def test_what_must_be_on_one_host_is_refused_only_where_no_cluster_could_give_it(
    first: str, second: str, is_refused: bool
) -> None:
    """A node may have a name and addresses, and be in several shared pools."""
    adl = pools().chain("a", "b")
    adl.operators["a"].resources = first + TOGETHER
    adl.operators["b"].resources = second + TOGETHER
    if is_refused:
        assert "must be on the same host" in refused(adl, Fusion.manual(1)).message
    else:
        assert len(planned(adl, Fusion.manual(1))) == 2


# --------------------------------------------------------------------------- zones, preferences


def test_what_is_only_preferred_contradicts_nothing() -> None:
    adl = Adl().chain("a", "b", "c")
    adl.operators["a"].resources = f"{on('h1')}{TOGETHER}{APART}"
    adl.operators["b"].resources = f"{on('h2')}{TOGETHER}{APART}"
    adl.operators["c"].resources = NOWHERE + TOGETHER
    adl.operators["c"].host_isolated = adl.operators["c"].isolated = True
    assert refused(adl, Fusion.legacy()).reason is Reason.CONSTRAINTS_CONTRADICT
    for fusion in SCHEMES:
        pes = planned(adl, fusion, HostRules(required=False))
        assert [(pe.operators, pe.host) for pe in pes] == [
            (("a",), "h1"),
            (("b",), "h2"),
            (("c",), None),
        ]


def test_two_that_are_ex_located_share_a_pe_if_they_must_and_ex_location_need_not_hold() -> None:
    adl = Adl().chain("a", "b", "c")
    adl.operators["a"].resources = adl.operators["b"].resources = NOWHERE + APART
    adl.operators["c"].resources = NOWHERE + APART
    adl.operators["a"].partitions = adl.operators["b"].partitions = TOGETHER
    assert "CDISR3211E" in refused(adl, Fusion.legacy()).message
    pes = planned(adl, Fusion.manual(1), HostRules(required=False))
    assert [pe.operators for pe in pes] == [("a", "b"), ("c",)]


@pytest.mark.parametrize(
    ("first", "second"), [(on("h1"), on("h2")), (in_pool(3, 0), in_pool(3, 1))]
)
def test_two_hosts_may_be_in_one_zone(first: str, second: str) -> None:
    """And are two PEs all the same."""
    adl = pools().chain("a", "b")
    adl.operators["a"].resources = first + TOGETHER
    adl.operators["b"].resources = second + TOGETHER
    assert refused(adl, Fusion.manual(1)).reason is Reason.CONSTRAINTS_CONTRADICT
    assert len(planned(adl, Fusion.manual(1), HostRules("topology.kubernetes.io/zone"))) == 2


@pytest.mark.parametrize("where", [on("h1"), in_pool(3, 0)])
def test_one_host_is_in_one_zone(where: str) -> None:
    """a is on the node of b, and b in the zone of c, from which a is ex-located."""
    adl = pools().chain("a", "b", "c")
    adl.operators["a"].resources = where + APART
    adl.operators["b"].resources = where + TOGETHER
    adl.operators["c"].resources = NOWHERE + TOGETHER + APART
    found = refused(adl, Fusion.legacy(), HostRules("zone"))
    assert "'a' and 'c' must be on the same host" in found.message


@pytest.mark.parametrize(
    ("asked", "hosts"),
    [
        (None, HostRules()),
        ({}, HostRules()),
        ({"required": True, "nodeName": True}, HostRules()),
        ({"required": False}, HostRules(required=False)),
        ({"topologyKey": "zone"}, HostRules("zone")),
    ],
)
def test_the_spec_of_the_job_says_how_constraints_are_put_into_force(
    asked: dict[str, Any] | None, hosts: HostRules
) -> None:
    """As the plan's template has it: an edit counts from the next resize on."""
    template = template_of({"placement": asked, "bundle": {"name": "b"}})
    inputs = PlanInputs("job", 7, 1, BundleSource("b"), Fusion.legacy(), template=template)
    application = Adl().chain("a", "b").application()
    made = request(inputs, application=application, bundle_digest="d", previous=None)
    assert made.hosts == hosts


# --------------------------------------------------------------------------- places


def test_a_place_beyond_the_hosts_of_its_pool_is_refused() -> None:
    for pool, place, hosts in ((1, 2, "2 hosts"), (3, 10, "10 hosts")):
        adl = pools().operator("a", 0, 0, resources=in_pool(pool, place))
        found = refused(adl, Fusion.legacy())
        assert found.reason is Reason.CONSTRAINTS_CONTRADICT
        assert (found.field, found.value) == ("ADL poolLocation@inpoolIndex", str(place))
        assert f"operator 'a' asks for place {place} of the host pool" in found.message
        assert hosts in found.message
