"""Operators share a PE only if all that must follow them to its host may be there together."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations

import pytest

from planner.drafting import draft
from planner.explaining import explain
from planner.fusion.cohosting import Cohosting
from planner.fusion.neighbouring import connect
from planner.fusion.placing import HostRules
from planner.fusion.tiling import fuse_automatic
from planner.numbering.records import Fusion
from planner.planning import plan
from tests.unit.planner.adl_writing import Adl, plan_of, request_of
from tests.unit.planner.naive_fusing import NaiveFusion

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
    """a must be on the host of channel 1, by way of g and h, and b must not be."""
    adl = chain_of(a="t", b="X", g="t", h="", f="").region("f", 1)
    adl.operators["g"].partitions = adl.operators["h"].partitions = SHARED
    adl.operators["g"].relocatable = adl.operators["h"].relocatable = False
    adl.operators["h"].resources = NOWHERE + with_("u1")
    adl.operators["f"].resources = NOWHERE + with_("X", "ugetChannel()")
    return adl


@pytest.mark.parametrize("fusion", [Fusion.manual(2), Fusion.automatic(1)], ids=str)
def test_an_operator_leaves_its_pe_only_where_the_width_could_not_be_had_otherwise(
    fusion: Fusion,
) -> None:
    """One operator, and the PEs that nothing concerns stay."""
    adl = regional()
    first = plan_of(adl, fusion, {"f": 1})
    before = [pe.operators for pe in first.record.pes]
    assert ("a", "b") in before
    wide = plan_of(adl, fusion, {"f": 2}, previous=first.record)
    after = [pe.operators for pe in wide.record.pes]
    assert {("a",), ("a", "f[1]")} & set(after)
    assert ("b",) in after
    assert set(before) - {("a", "b")} <= set(after)


@pytest.mark.parametrize("fusion", [Fusion.manual(1), Fusion.automatic(1)], ids=str)
def test_pes_that_run_in_spite_of_a_contradiction_stay(
    fusion: Fusion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release that did not look accepted them; new operators still join by the rule."""
    adl = chain_of(d="X", a="t", b="t", c="X", f="X").region("f", 1)
    adl.operators["b"].partitions = adl.operators["c"].partitions = SHARED
    adl.operators["b"].relocatable = adl.operators["c"].relocatable = False
    adl.operators["f"].relocatable = False
    with monkeypatch.context() as earlier:
        earlier.setattr(Cohosting, "refusal", lambda *_: None)
        first = plan_of(adl, fusion, {"f": 1})
    assert ("d", "a") in [pe.operators for pe in first.record.pes]
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


@pytest.mark.parametrize("seed", range(60))
def test_cutting_in_several_ways_never_ex_locates_what_must_be_on_one_host(seed: int) -> None:
    """Each proposal begins again, and each class of operators knows what became of the others."""
    choose = random.Random(seed)
    tokens = [choose.choice(("", "s", "t", "u", "X", "Y", "Z")) for _ in range(18)]
    adl = chain_of(**{f"o{number}": each for number, each in enumerate(tokens)})
    for operator in adl.operators.values():
        operator.relocatable = choose.random() < 0.7
    drafted = draft(request_of(adl, Fusion.legacy()))
    connect(drafted.topology, drafted.units)
    naive = NaiveFusion(drafted.topology)
    for pes in (3, 4, 6):
        cohosting = Cohosting(drafted.topology, drafted.units, HostRules())
        fused = fuse_automatic(drafted.units, drafted.topology, pes, cohosting)
        placed = [[index for unit in units for index in unit.operators] for units in fused]
        for group in naive.hosted(placed):
            asked = [naive.operators[index].constraints for index in group]
            apart = [each for own in asked for each in own.host_exlocations]
            assert len(apart) == len(set(apart)), pes
