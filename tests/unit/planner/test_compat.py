"""Compat: a resize is what the original made of it, with all that the default does better."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from lxml import etree

from contracts.bundle_format import BundleLimits, open_bundle
from planner.application.adl import read_application
from planner.application.model import Application
from planner.drafting import Draft, draft
from planner.numbering.records import Fusion, PlanRecord
from planner.outline import outline, outline_of_resize
from planner.planning import PlanResult, complete
from planner.refusals import PlanRefused
from planner.requesting import PlanLimits, PlanRequest
from tests.places import corpus
from tests.unit.planner.adl_writing import Adl, plan_of
from tests.unit.planner.constrained import constrained
from tests.unit.planner.naive_fusing import NaiveFusion
from tests.unit.planner.reading import NAMES, read_pe
from tests.unit.planner.test_invariants import FEW

LEGACY = Fusion.legacy()


@dataclass(frozen=True)
class Plan:
    draft: Draft
    result: PlanResult

    @property
    def record(self) -> PlanRecord:
        return self.result.record

    @property
    def operators(self) -> dict[str, int]:
        return {each.name: each.index for each in self.draft.topology.operators.values()}


def planned(
    application: Application,
    fusion: Fusion,
    widths: dict[str, int] | None = None,
    *,
    before: Plan | None = None,
) -> Plan:
    asked = draft(
        PlanRequest(
            application=application,
            bundle_digest="digest",
            job_name="job",
            job_id=7,
            fusion=fusion,
            widths={**(before.record.widths if before else {}), **(widths or {})},
            previous=before.record if before else None,
            limits=PlanLimits(aadl_bytes_max=1 << 30),
            compat=True,
        )
    )
    return Plan(asked, complete(asked))


def texts(before: Plan, after: Plan) -> tuple[int, int, int, int]:
    """AADLs that are equal, different, of new PEs, of PEs that are gone."""
    old = {pe.id: pe.content_id for pe in before.record.pes}
    new = {pe.id: pe.content_id for pe in after.record.pes}
    both = old.keys() & new.keys()
    same = sum(old[pe] == new[pe] for pe in both)
    return same, len(both) - same, len(new.keys() - both), len(old.keys() - both)


def changes(before: Plan, after: Plan) -> tuple[int, int, int]:
    """Operators that are changed, added, removed."""
    found = outline_of_resize(before.draft, after.draft)
    return found["changed"], found["added"], found["removed"]


@cache
def parallel() -> Application:
    data = corpus("apps.parallel.Parallel.sab").read_bytes()
    return read_application(open_bundle(data, BundleLimits()))


def region_widths(*numbers: int) -> dict[str, int]:
    return {f"Result.Region{place}": width for place, width in enumerate(numbers, start=1)}


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("start", "fusion", "region", "width", "operators", "pes", "aadls"),
    [
        ((2, 2, 2), LEGACY, 2, 5, (6, 3, 0), 11, (2, 6, 3, 0)),
        ((2, 2, 2), Fusion.manual(1), 2, 5, (6, 3, 0), 1, (0, 0, 1, 1)),
        ((2, 2, 2), Fusion.manual(3), 2, 5, (6, 3, 0), 3, (0, 0, 3, 3)),
        ((2, 2, 2), Fusion.manual(5), 2, 5, (6, 3, 0), 5, (0, 0, 5, 5)),
        ((2, 5, 4), LEGACY, 1, 10, (8, 8, 0), 21, (5, 8, 8, 0)),
        ((2, 5, 4), LEGACY, 3, 2, (8, 0, 2), 11, (3, 8, 0, 2)),
        ((2, 5, 4), Fusion.manual(5), 3, 2, (8, 0, 2), 5, (0, 2, 3, 3)),
        ((3, 3, 3), LEGACY, 2, 1, (7, 0, 2), 9, (2, 7, 0, 2)),
        ((3, 3, 3), Fusion.manual(5), 2, 1, (7, 0, 2), 5, (0, 1, 4, 4)),
        ((4, 4, 4), LEGACY, 2, 6, (12, 2, 0), 16, (2, 12, 2, 0)),
    ],
)
def test_a_resize_of_parallel_is_the_originals(
    start: tuple[int, ...],
    fusion: Fusion,
    region: int,
    width: int,
    operators: tuple[int, int, int],
    pes: int,
    aadls: tuple[int, int, int, int],
) -> None:
    """Every row of what was observed: operators, PEs, and which AADLs are as before."""
    before = planned(parallel(), fusion, region_widths(*start))
    after = planned(parallel(), fusion, {f"Result.Region{region}": width}, before=before)
    assert changes(before, after) == operators
    assert len(after.record.pes) == pes
    assert texts(before, after) == aadls


@pytest.mark.corpus
def test_what_is_new_keeps_its_own_number_unless_it_is_taken() -> None:
    """2/2/2 → R2=5: 7 is R3[1]'s, so R2[2] gets 11, one above both models; 10 stays unused."""
    before = planned(parallel(), LEGACY, region_widths(2, 2, 2))
    after = planned(parallel(), LEGACY, {"Result.Region2": 5}, before=before)
    new = {name: after.operators[name] for name in after.operators if name not in before.operators}
    assert new == {"Result.Region2[2]": 11, "Result.Region2[3]": 8, "Result.Region2[4]": 9}
    assert {after.operators[name] for name in before.operators} == set(range(8))


@pytest.mark.corpus
def test_a_second_resize_renumbers_what_the_first_one_kept() -> None:
    """2/2/2 → R2=3 keeps R3[1] at 7; the next one starts from a fresh 2/3/2, where it is 8."""
    start = planned(parallel(), LEGACY, region_widths(2, 2, 2))
    first = planned(parallel(), LEGACY, {"Result.Region2": 3}, before=start)
    second = planned(parallel(), LEGACY, {"Result.Region1": 3}, before=first)
    assert first.operators["Result.Region3[1]"] == 7
    assert first.operators["Result.Region2[2]"] == 9
    assert second.operators["Result.Region3[1]"] == 8
    assert second.operators["Result.Region2[2]"] == 7


@pytest.mark.corpus
def test_several_resizes_count_what_came_and_went_and_not_what_was_numbered_again() -> None:
    """Operators are matched by what they are; the second resize gives some another number."""
    start = planned(parallel(), LEGACY, region_widths(2, 2, 2))
    first = planned(parallel(), LEGACY, {"Result.Region2": 3}, before=start)
    second = planned(parallel(), LEGACY, {"Result.Region1": 3}, before=first)
    assert changes(start, first) == (6, 1, 0)
    assert changes(first, second) == (6, 1, 0)
    assert changes(start, second) == (7, 2, 0)


Key = tuple[int, tuple[int, ...]]


def matched(plan: Plan) -> dict[Key, int]:
    """The index of each operator, by what it is matched by: logical index and local channels."""
    return {
        (each.item.index, tuple(level.local for level in each.levels)): each.index
        for each in plan.draft.topology.operators.values()
    }


def transferred(prior: dict[Key, int], current: dict[Key, int]) -> dict[Key, int]:
    """3.8.1: survivors keep the index before, what is new its own, else one above all."""
    highest = max([*prior.values(), *current.values()])
    found = {key: prior[key] for key in current if key in prior}
    for key in sorted(current.keys() - prior.keys(), key=lambda each: current[each]):
        if current[key] in prior.values():
            highest += 1
        found[key] = highest if current[key] in prior.values() else current[key]
    return found


def pe_ids(before: Plan, after: Plan, pes: list[list[int]]) -> dict[int, list[int]]:
    """3.9: the old id of the same names, else one above the highest that runs."""
    known = {"".join(sorted(pe.operators)): pe.id for pe in before.record.pes}
    highest = max(known.values())
    found: dict[int, list[int]] = {}
    for members in pes:
        names = "".join(sorted(after.draft.topology.operators[index].name for index in members))
        if names not in known:
            highest += 1
        found[known.get(names, highest)] = members
    return found


@FEW
@given(
    adl=constrained(),
    pes=st.sampled_from([0, 1, 2, 3, 5]),
    steps=st.lists(st.tuples(st.integers(0, 1), st.integers(1, 4)), min_size=1, max_size=3),
)
def test_every_resize_is_numbered_by_the_words_of_the_specification(
    adl: Adl, pes: int, steps: list[tuple[int, int]]
) -> None:
    """Fresh topologies of both widths, fusion from scratch, PEs by the names of their operators."""
    application = adl.application()
    fusion = Fusion.manual(pes) if pes else LEGACY
    names = [region.name for region in application.regions]
    try:
        before = planned(application, fusion)
    except PlanRefused as refused:
        assume(refused.field != "jvmArguments")
        raise
    for place, width in steps:
        if place >= len(names):
            continue
        widths = before.record.widths | {names[place]: width}
        after = planned(application, fusion, widths, before=before)
        prior = matched(planned(application, LEGACY, before.record.widths))
        expected = transferred(prior, matched(planned(application, LEGACY, widths)))
        assert matched(after) == expected
        naive = NaiveFusion(after.draft.topology)
        fused = naive.packed(pes) if pes else naive.units
        assert after.draft.placed == pe_ids(before, after, fused)
        before = after


def nested() -> Application:
    """Regions within regions: 2 x 4 x 3 channels, 37 operators, 59 connections."""
    adl = Adl().operator("beat", 0, 1).operator("m").operator("z", 1, 0)
    adl.operator("P.o").operator("P.H.f").operator("P.H.o")
    for source, target in pairwise(("beat", "P.H.f", "P.H.o", "P.o", "m", "z")):
        adl.connect(source, target)
    adl.region("P", 2).region("P.H", 4).region("P.H.f", 3)
    adl.operators["beat"].isolated = True
    return adl.application()


def test_nested_regions_are_numbered_as_the_originals() -> None:
    """Replicas in the order of copying: inner regions first, composites before operators."""
    found = planned(nested(), LEGACY).operators
    shown = {f"P[0].H[0].f[{n}]": index for n, index in enumerate((4, 6, 7))}
    shown |= {"P[0].H[1].f[3]": 8, "P[0].H[1].o": 9, "P[0].H[1].f[4]": 10, "P[1].o": 36}
    assert shown.items() <= found.items()
    assert found["P[1].H[4].f[12]"] == 20


def test_splitters_are_numbered_depth_first() -> None:
    """The source's: 0 by P, below its channels 1 and 6 by H, below theirs those by f."""
    root = read_pe(planned(nested(), LEGACY).result.aadls[0]).root
    (port,) = root.iterfind(".//d:outputPort", NAMES)

    def tree(place: etree._Element) -> dict[int, object]:
        below = place.iterfind("d:splitter", NAMES), place.iterfind("d:*/d:splitter", NAMES)
        return {int(str(each.get("index"))): tree(each) for found in below for each in found}

    inner: list[dict[int, object]] = [{n: {} for n in range(first, first + 4)} for first in (2, 7)]
    assert tree(port) == {0: {1: inner[0], 6: inner[1]}}


@pytest.mark.parametrize(
    ("fusion", "pes", "inputs", "outputs"),
    [(LEGACY, 37, 36, 59), (Fusion.manual(10), 10, 28, 34), (Fusion.manual(40), 37, 36, 59)]
    + [
        (Fusion.manual(wanted), pes, None, None) for wanted, pes in ((1, 2), (2, 2), (3, 3), (5, 5))
    ],
)
def test_nested_regions_are_fused_as_the_originals(
    fusion: Fusion, pes: int, inputs: int | None, outputs: int | None
) -> None:
    """The source is isolated."""
    found = outline(planned(nested(), fusion).draft)
    assert found["pes"] == pes
    assert inputs in (None, found["pe_input_ports"])
    assert outputs in (None, found["pe_output_ports"])


@pytest.mark.parametrize(
    ("region", "width", "operators", "pes", "connections", "aadls"),
    [
        ("P.H.f", 4, (33, 8, 0), 45, 75, (4, 15, 26, 18)),
        ("P.H.f", 2, (25, 0, 8), 29, 43, (3, 13, 13, 21)),
        ("P.H", 5, (35, 8, 0), 45, 73, (2, 31, 12, 4)),
        ("P.H", 3, (27, 0, 8), 29, 45, (2, 23, 4, 12)),
        ("P", 3, (36, 17, 0), 54, 88, (1, 36, 17, 0)),
        ("P", 1, (19, 0, 17), 20, 30, (1, 19, 0, 17)),
    ],
)
def test_a_resize_of_nested_regions_is_the_originals(
    region: str,
    width: int,
    operators: tuple[int, int, int],
    pes: int,
    connections: int,
    aadls: tuple[int, int, int, int],
) -> None:
    """An inner width renames channels elsewhere, and a PE goes by the names of its operators."""
    before = planned(nested(), LEGACY)
    assert outline(before.draft)["operator_connections"] == 59
    after = planned(nested(), LEGACY, {region: width}, before=before)
    assert changes(before, after) == operators
    assert len(after.record.pes) == pes
    assert outline(after.draft)["operator_connections"] == connections
    assert texts(before, after) == aadls


@pytest.mark.parametrize("step", [-1, 1])
@pytest.mark.parametrize("region", ["P.H.f", "P.H", "P"])
def test_fusion_from_scratch_keeps_only_the_isolated_pe(region: str, step: int) -> None:
    """Manual 6: one PE stays and changes, five are new, five are gone."""
    before = planned(nested(), Fusion.manual(6))
    width = before.record.widths[region] + step
    after = planned(nested(), Fusion.manual(6), {region: width}, before=before)
    assert texts(before, after) == (0, 1, 5, 5)


def grown() -> Application:
    return Adl().chain("a", "f", "z").region("f", 2).application()


def test_an_id_that_went_may_come_back() -> None:
    """New PEs are numbered above those that run, not above those that ever ran."""
    wide = planned(grown(), LEGACY, {"f": 3})
    narrow = planned(grown(), LEGACY, {"f": 2}, before=wide)
    again = planned(grown(), LEGACY, {"f": 3}, before=narrow)
    assert [pe.id for pe in wide.record.pes] == [pe.id for pe in again.record.pes]


def test_an_aadl_says_the_position_of_its_pe() -> None:
    """A PE whose place among all moved is restarted, although nothing else of it changed."""
    before = planned(grown(), Fusion.manual(2))
    after = planned(grown(), Fusion.manual(2), {"f": 3}, before=before)
    for each in (before, after):
        ordered = sorted(each.record.pes, key=lambda pe: each.draft.placed[pe.id][0])
        positions = {pe.id: place for place, pe in enumerate(ordered)}
        for pe, text in each.result.aadls.items():
            assert read_pe(text).root.get("logicalIndex") == str(positions[pe])


def test_an_aadl_lists_every_pool_of_the_job() -> None:
    """The default lists those that the PE uses."""
    adl = Adl().pool("gpu", inside='<tag name="gpu"/>').chain("a", "z")
    adl.operators["a"].resources = '<poolLocation poolIndex="1"/>'
    path = "d:hostpools/d:hostpool"
    of_default = plan_of(adl, LEGACY).aadls.values()
    of_compat = planned(adl.application(), LEGACY).result.aadls.values()
    names = {"d": "http://www.ibm.com/xmlns/prod/streams/application"}
    assert [len(read_pe(text).root.findall(path, names)) for text in of_default] == [1, 1]
    assert [len(read_pe(text).root.findall(path, names)) for text in of_compat] == [2, 2]


@pytest.mark.parametrize(
    ("apart", "is_isolated"), [('<exLocation exlocId="X"/>', False), ("", True)]
)
def test_constraints_that_contradict_are_taken_without_a_word(
    apart: str, *, is_isolated: bool
) -> None:
    """What is co-located is fused, whatever else it asks for."""
    adl = Adl().chain("a", "b", "c")
    for path in ("a", "b"):
        adl.operators[path].partitions = f'<coLocation colocId="C"/>{apart}'
    adl.operators["a"].isolated = is_isolated
    found = planned(adl.application(), LEGACY).record.pes
    assert [pe.operators for pe in found] == [("a", "b"), ("c",)]


def imported(*, inside: bool) -> Application:
    """An Import that feeds a region of width 2, or an operator inside of one."""
    adl = Adl().operator("N.f").operator("z", 1, 0).connect("N.f", "z")
    adl.region("N" if inside else "N.f", 2)
    end = '<connection operIndex="{}" portIndex="0" portKind="{}"/>'
    pseudo = (
        '<primitiveImportOperInstance name="N.I" index="9" definitionIndex="0"><outputPorts>'
        '<port index="0" name="o" streamName="I" encoding="LE" transport="TCP" tupleTypeIndex="0"'
        f' isMutable="false"><connections>{end.format(0, "input")}</connections></port>'
        '</outputPorts><propertyBasedImport subscription="k"/></primitiveImportOperInstance>'
    )
    text = adl.text().replace(
        "</primitiveOperInstance></compositeOperInstance>",
        f"</primitiveOperInstance>{pseudo}</compositeOperInstance>",
        1,
    )
    return read_application(replace(adl.bundle(), adl=text.encode()))


def test_an_import_beside_a_region_is_the_originals_internal_error() -> None:
    """Inside of the composite that is replicated it is copied like any operator."""
    with pytest.raises(PlanRefused) as refused:
        planned(imported(inside=False), LEGACY)
    assert refused.value.code == "CDISR1358E"
    assert "operator 'I'" in refused.value.message
    assert "region 'N.f'" in refused.value.message
    assert len(planned(imported(inside=True), LEGACY).record.pes) == 3
