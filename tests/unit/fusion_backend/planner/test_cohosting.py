"""Operators share a PE only if all that must follow them to its host may be there together."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations

import pytest

from services.fusion_backend.core.fusion.cohosting import Cohosting
from services.fusion_backend.core.fusion.placing import HostRules
from services.fusion_backend.core.numbering.records import Fusion
from services.fusion_backend.core.planner.drafting import draft
from services.fusion_backend.core.planner.explaining import explain
from services.fusion_backend.core.planner.planning import plan
from tests.unit.fusion_backend.planner.adl_writing import Adl, plan_of, request_of

SHARED = '<coLocation colocId="C"/>'
NOWHERE = '<poolLocation poolIndex="0"/>'
SCHEMES = [Fusion.manual(1), Fusion.manual(2), Fusion.automatic(1)]
SCHEMES += [Fusion.manual(1, "channelIsolation"), Fusion.automatic(1, kind="channelIsolation")]


def with_(*tokens: str) -> str:
    """Tokens of co-location in small letters, of ex-location in capitals."""
    kinds = (("exLocation exlocId" if each.isupper() else "coLocation colocId") for each in tokens)
    return "".join(f'<{kind}="{each}"/>' for kind, each in zip(kinds, tokens, strict=True))


def chain_of(**tokens: str) -> Adl:
    """Operators in a row, each with the tokens of its name."""
    adl = Adl().chain(*tokens)
    for name, each in tokens.items():
        adl.operators[name].resources = NOWHERE + with_(*each)
    return adl


def pes_of(adl: Adl, fusion: Fusion, hosts: HostRules | None = None) -> list[tuple[str, ...]]:
    asked = replace(request_of(adl, fusion), hosts=hosts or HostRules())
    return [pe.operators for pe in plan(asked).record.pes]


# --------------------------------------------------------------------------- who follows


@pytest.mark.parametrize("fusion", SCHEMES, ids=str)
def test_nobody_is_fused_with_one_whose_co_located_shares_a_pe_with_one_to_avoid(
    fusion: Fusion,
) -> None:
    """a is on the host of b, which shares a PE with c; c and d exclude each other."""
    adl = chain_of(d="X", a="t", b="t", c="X")
    adl.operators["b"].partitions = adl.operators["c"].partitions = SHARED
    adl.operators["a"].relocatable = adl.operators["d"].relocatable = False
    assert sorted(pes_of(adl, fusion)) == [("a",), ("b", "c"), ("d",)]
    why = "what would be on one host is ex-located (CDISR3211E): by 'X'"
    explained = explain(draft(request_of(adl, fusion)))
    assert [each.apart for each in explained.values()].count(((1, why),)) == 1


@pytest.mark.parametrize("fusion", SCHEMES, ids=str)
def test_what_was_fused_before_counts_also_among_those_that_no_pe_could_hold_together(
    fusion: Fusion,
) -> None:
    """a and b share a PE, so c is not on the host of d: c and d are of another class."""
    adl = chain_of(a="t", b="X", c="t", d="X")
    for name in "cd":
        adl.operators[name].restartable = False
    assert sorted(pes_of(adl, fusion)) in (
        [("a", "b"), ("c",), ("d",)],
        [("a",), ("b",), ("c", "d")],
    )


@pytest.mark.parametrize("fusion", SCHEMES, ids=str)
@pytest.mark.parametrize(
    "place", ['<hostLocation hostname="h1"/>', '<poolLocation poolIndex="1"/>']
)
def test_a_host_that_others_bring_counts_like_an_own_one(fusion: Fusion, place: str) -> None:
    """a is where c is, on h1 or in a pool, and d is ex-located from somebody there."""
    adl = chain_of(e="Y", a="t", b="t", c="").pool("one")
    adl.operators["b"].partitions = adl.operators["c"].partitions = SHARED
    adl.operators["c"].resources = place
    assert ("e",) in pes_of(adl, fusion)


def test_in_zones_only_tokens_of_zones_follow() -> None:
    """b and a are in one zone, a and c on one node: d may be with neither, and is with nobody."""
    adl = chain_of(d="X", a="t", b="t", c="X")
    for name in "ac":
        adl.operators[name].resources += '<hostLocation hostname="h1"/>'
    for hosts in (HostRules("zone"), HostRules()):
        pes = pes_of(adl, Fusion.manual(1), hosts)
        assert ("d",) in pes
    assert ("d", "b") in pes_of(adl, Fusion.manual(1), HostRules("zone", required=False))


def test_k_operators_that_are_ex_located_are_on_k_hosts_whatever_is_fused() -> None:
    adl = chain_of(**{f"o{n}": "Xt"[n % 2] if n < 6 else "" for n in range(12)})
    for fusion in SCHEMES:
        pes = pes_of(adl, fusion)
        apart = [pe for pe in pes if {"o0", "o2", "o4"} & set(pe)]
        assert len(apart) == 3
        assert len([pe for pe in apart if {"o1", "o3", "o5"} & set(pe)]) <= 1


# --------------------------------------------------------------------------- resizes


def regional() -> Adl:
    """a must be with channel 1, b must not be with any channel."""
    adl = chain_of(a="t", b="X", f="X").region("f", 1)
    adl.operators["a"].resources = NOWHERE + with_("u1")
    adl.operators["f"].resources = NOWHERE + with_("X", "ugetChannel()")
    return adl


@pytest.mark.parametrize("fusion", [Fusion.manual(1), Fusion.automatic(1)], ids=str)
def test_an_operator_leaves_its_pe_only_where_the_width_could_not_be_had_otherwise(
    fusion: Fusion,
) -> None:
    """a, on the host of the new channel, runs with b, which must not be there."""
    adl = regional()
    first = plan_of(adl, fusion, {"f": 1})
    before = [pe.operators for pe in first.record.pes]
    assert ("a", "b") in before
    wide = plan_of(adl, fusion, {"f": 2}, previous=first.record)
    after = [pe.operators for pe in wide.record.pes]
    assert ("a",) in after or ("a", "f[1]") in after
    assert all(not {"b", "f[1]"} <= set(pe) for pe in after)
    adl.operators["a"].resources = NOWHERE
    first = plan_of(adl, fusion, {"f": 1})
    wide = plan_of(adl, fusion, {"f": 2}, previous=first.record)
    assert {pe.id: pe.operators for pe in first.record.pes}.items() <= {
        pe.id: pe.operators for pe in wide.record.pes
    }.items()


# --------------------------------------------------------------------------- the table itself


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("hosts", [HostRules(), HostRules("zone")], ids=["nodes", "zones"])
def test_whatever_was_joined_can_be_undone(seed: int, hosts: HostRules) -> None:
    choose = random.Random(seed)
    names = [f"o{n}" for n in range(8)]
    adl = chain_of(**{name: "".join(choose.sample("stXYZ", 2)) for name in names})
    for name in choose.sample(names, 3):
        adl.operators[name].resources += '<hostLocation hostname="h1"/>'
    drafted = draft(replace(request_of(adl, Fusion.legacy()), compat=True))
    cohosting = Cohosting(drafted.topology, drafted.units, hosts)
    before: list[tuple[int, list[str | None]]] = []
    for _ in range(6):
        told = [cohosting.refusal(*pair) for pair in combinations(drafted.units, 2)]
        before.append((cohosting.mark(), told))
        cohosting.joined(*choose.sample(drafted.units, 2))
    for mark, told in reversed(before):
        cohosting.undo(mark)
        assert [cohosting.refusal(*pair) for pair in combinations(drafted.units, 2)] == told
