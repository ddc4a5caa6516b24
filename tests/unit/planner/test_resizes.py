"""A resize changes what it must and nothing else; what runs keeps its identity."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.bundle_format import BundleLimits, open_bundle
from planner.application.adl import read_application
from planner.application.model import Application
from planner.drafting import Draft, draft
from planner.numbering.records import Fusion, PlanRecord
from planner.outline import outline_of_resize
from planner.planning import PlanResult, complete
from planner.requesting import PlanRequest
from tests.places import corpus
from tests.unit.planner.adl_writing import Adl, plan_of
from tests.unit.planner.test_invariants import FAST, SCHEMES, applications

LEGACY = Fusion.legacy()


@pytest.fixture(name="parallel")
def parallel_application() -> Application:
    data = corpus("apps.parallel.Parallel.sab").read_bytes()
    return read_application(open_bundle(data, BundleLimits()))


def widths(one: int, two: int, three: int) -> dict[str, int]:
    return {"Result.Region1": one, "Result.Region2": two, "Result.Region3": three}


def difference(before: PlanResult, after: PlanResult) -> tuple[set[int], set[int], set[int]]:
    """Changed, added and removed PEs, by content."""
    old = {pe.id: pe.content_id for pe in before.record.pes}
    new = {pe.id: pe.content_id for pe in after.record.pes}
    changed = {pe for pe in old.keys() & new.keys() if old[pe] != new[pe]}
    assert set(after.aadls) == changed | (new.keys() - old.keys())
    return changed, new.keys() - old.keys(), old.keys() - new.keys()


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("start", "end", "changed", "added", "removed"),
    [
        ((2, 5, 4), (10, 5, 4), {0, 2, 3, 5, 6, 7, 8, 9}, set(range(13, 21)), set()),
        ((2, 5, 4), (2, 5, 2), {1, 3, 4, 6, 7, 8, 9, 10}, set(), {11, 12}),
        ((2, 2, 2), (2, 5, 2), {2, 3, 4, 5, 6, 7}, {8, 9, 10}, set()),
        ((3, 3, 3), (3, 1, 3), {2, 3, 4, 5, 6, 9, 10}, set(), {7, 8}),
        ((4, 4, 4), (4, 6, 4), set(range(2, 14)), {14, 15}, set()),
    ],
)
def test_legacy_changes_the_same_pes_as_the_original(
    parallel: Application,
    start: tuple[int, int, int],
    end: tuple[int, int, int],
    changed: set[int],
    added: set[int],
    removed: set[int],
) -> None:
    """The rows of the original's table where it is right; the others are byte-identical."""
    before = plan_of(parallel, LEGACY, widths(*start))
    after = plan_of(parallel, LEGACY, widths(*end), previous=before.record)
    assert difference(before, after) == (changed, added, removed)


@pytest.mark.corpus
def test_a_large_resize_leaves_what_is_not_next_to_the_region(parallel: Application) -> None:
    """100/200/45 → R1=50: the original changed 296 of 297 PEs, and 46 of them for nothing."""
    before = plan_of(parallel, LEGACY, widths(100, 200, 45))
    after = plan_of(parallel, LEGACY, widths(50, 200, 45), previous=before.record)
    changed, added, removed = difference(before, after)
    assert (len(changed), len(added), len(removed)) == (251, 0, 50)


@pytest.mark.corpus
@pytest.mark.parametrize("pes", [1, 3, 5])
def test_manual_keeps_the_number_of_pes_and_every_survivor_where_it_is(
    parallel: Application, pes: int
) -> None:
    """New operators join running PEs; no operator moves (the original replaced every PE)."""
    before = plan_of(parallel, Fusion.manual(pes), widths(2, 2, 2))
    after = plan_of(parallel, Fusion.manual(pes), widths(2, 5, 2), previous=before.record)
    assert {pe.id for pe in after.record.pes} == {pe.id for pe in before.record.pes}
    homes = {item.key: (item.operator, item.pe) for item in after.record.operators}
    for item in before.record.operators:
        assert homes[item.key] == (item.operator, item.pe)


@pytest.mark.corpus
@pytest.mark.parametrize("fusion", [LEGACY, Fusion.manual(3)], ids=["legacy", "manual 3"])
def test_there_and_back_again_gives_identical_texts(parallel: Application, fusion: Fusion) -> None:
    """w → w+1 → w ends with the content of the start."""
    start = plan_of(parallel, fusion, widths(2, 3, 2))
    wider = plan_of(parallel, fusion, widths(2, 4, 2), previous=start.record)
    back = plan_of(parallel, fusion, widths(2, 3, 2), previous=wider.record)
    assert [pe.content_id for pe in back.record.pes] == [pe.content_id for pe in start.record.pes]


def grown() -> Adl:
    return Adl().chain("a", "f", "z").region("f", 2)


def test_ids_are_never_given_twice() -> None:
    """A channel that went away and comes back is a new operator in a new PE."""
    adl = grown().application()
    first = plan_of(adl, LEGACY, {"f": 3})
    narrow = plan_of(adl, LEGACY, {"f": 2}, previous=first.record)
    again = plan_of(adl, LEGACY, {"f": 3}, previous=narrow.record)
    gone = {pe.id for pe in first.record.pes} - {pe.id for pe in narrow.record.pes}
    new = {pe.id for pe in again.record.pes} - {pe.id for pe in narrow.record.pes}
    assert gone == {4}
    assert new == {5}
    ports = {(port.pe, port.key.direction, port.id): port.key for port in first.record.ports}
    for port in again.record.ports:
        place = (port.pe, port.key.direction, port.id)
        assert ports.get(place, port.key) == port.key


def test_a_plan_without_a_change_renders_nothing() -> None:
    """The same widths again: every meaning is known, no text is made."""
    adl = grown().application()
    first = plan_of(adl, LEGACY)
    again = plan_of(adl, LEGACY, previous=first.record)
    assert again.aadls == {}
    assert again.record.pes == first.record.pes


def test_a_known_meaning_keeps_its_content_whatever_a_newer_renderer_would_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An upgrade that writes AADLs differently restarts nothing."""
    adl = grown().application()
    first = plan_of(adl, LEGACY)
    monkeypatch.setattr(
        "planner.planning.render",
        lambda meaning: f"<new id='{meaning.id}'/>".encode(),
    )
    resized = plan_of(adl, LEGACY, {"f": 3}, previous=first.record)
    contents = {pe.id: pe.content_id for pe in resized.record.pes}
    assert set(resized.aadls) == {0, 1, 2, 3, 4}
    unchanged = plan_of(adl, LEGACY, previous=first.record)
    assert [pe.content_id for pe in unchanged.record.pes] == [
        pe.content_id for pe in first.record.pes
    ]
    assert contents[0] != first.record.pes[0].content_id


def test_manual_opens_new_pes_while_there_are_fewer_than_requested() -> None:
    """With room up to N a new channel gets a PE of its own, beyond N it joins its region."""
    adl = grown().application()
    first = plan_of(adl, Fusion.manual(5), {"f": 1})
    assert len(first.record.pes) == 3
    wide = plan_of(adl, Fusion.manual(5), {"f": 6}, previous=first.record)
    assert len(wide.record.pes) == 5
    assert max(len(pe.operators) for pe in wide.record.pes) == 2
    region = {pe.id for pe in wide.record.pes if pe.regions == (0,)}
    assert {item.pe for item in wide.record.operators if item.key.channels} == region


def test_a_pe_left_empty_goes_away() -> None:
    """Its id goes with it."""
    adl = grown().application()
    wide = plan_of(adl, Fusion.manual(9), {"f": 5})
    narrow = plan_of(adl, Fusion.manual(9), {"f": 1}, previous=wide.record)
    assert len(narrow.record.pes) == 3
    assert narrow.record.high_water.pe == wide.record.high_water.pe


def test_a_new_operator_that_is_co_located_joins_its_group_under_legacy() -> None:
    """A literal co-location id inside a region holds all channels together."""
    adl = Adl().operator("a", 0, 1).operator("z", 1, 0)
    adl.operator("f", partitions='<coLocation colocId="C"/>').connect("a", "f").connect("f", "z")
    application = adl.region("f", 2).application()
    first = plan_of(application, LEGACY)
    wide = plan_of(application, LEGACY, {"f": 4}, previous=first.record)
    assert len(first.record.pes) == len(wide.record.pes) == 3
    assert max(len(pe.operators) for pe in wide.record.pes) == 4


def test_automatic_stays_what_it_was_resolved_to() -> None:
    """A node that joins between two resizes does not re-fuse a running job."""
    adl = grown().application()
    first = plan_of(adl, Fusion.automatic(2, largest_node_mcpu=1000))
    wide = plan_of(adl, Fusion.automatic(5), {"f": 3}, previous=first.record)
    assert wide.record.fusion == first.record.fusion
    assert (first.record.fusion.nodes, first.record.fusion.pes_max) == (2, 2)


def test_another_bundle_is_another_application() -> None:
    """Operators of a new bundle take over neither operator indices nor PEs."""
    first = plan_of(grown(), LEGACY)
    other = plan_of(grown(), LEGACY, previous=first.record, digest="another")
    assert {pe.id for pe in other.record.pes} == {4, 5, 6, 7}
    assert not {o.operator for o in other.record.operators} & {
        o.operator for o in first.record.operators
    }


def test_a_nested_resize_keeps_splitter_and_port_numbers_of_what_stays() -> None:
    """Splitters are found again by the way to them, although a fresh plan would renumber them."""
    adl = Adl().operator("a", 0, 1).operator("N.f").operator("z", 1, 0)
    adl.connect("a", "N.f").connect("N.f", "z").region("N", 2).region("N.f", 2)
    application = adl.application()
    first = plan_of(application, LEGACY)
    wide = plan_of(application, LEGACY, {"N": 3}, previous=first.record)
    kept: PlanRecord = wide.record
    assert set(first.record.splitters) < set(kept.splitters)
    assert set(first.record.ports) < set(kept.ports)


def test_a_new_operator_never_joins_an_isolated_one() -> None:
    """Isolation holds at a resize as it does in a fresh plan."""
    adl = Adl().operator("a", 0, 1).operator("f").operator("z", 1, 0)
    adl.operators["a"].isolated = True
    application = adl.connect("a", "f").connect("f", "z").region("f", 1).application()
    first = plan_of(application, Fusion.manual(2))
    wide = plan_of(application, Fusion.manual(2), {"f": 5}, previous=first.record)
    assert [pe.operators for pe in wide.record.pes if "a" in pe.operators] == [("a",)]
    assert len(wide.record.pes) == 2


# --------------------------------------------------------------------------- whole lives


Generation = tuple[Draft, PlanRecord]


def generations(
    application: Application, fusion: Fusion, widths: Iterable[dict[str, int]]
) -> Iterator[Generation]:
    """The generations of one job: the submission, and a resize for each of these widths."""
    request = PlanRequest(
        application=application,
        bundle_digest="digest",
        job_name="job",
        job_id=7,
        fusion=fusion,
    )
    drafted = draft(request)
    record = complete(drafted).record
    yield drafted, record
    for wanted in widths:
        drafted = draft(
            replace(
                request,
                generation=record.generation + 1,
                widths={**record.widths, **wanted},
                previous=record,
            )
        )
        record = complete(drafted).record
        yield drafted, record


def identities(record: PlanRecord) -> Iterator[tuple[Hashable, Hashable]]:
    """Every number of a generation: where it is unique, and what bears it."""
    for operator in record.operators:
        yield ("operator", operator.operator), operator.key
    for port in record.ports:
        yield ("port", port.pe, port.key.direction, port.id), port.key
    for splitter in record.splitters:
        yield ("splitter", splitter.key.operator, splitter.key.port, splitter.id), splitter.key
    for pool in record.pools:
        yield ("pool", pool.index), pool.name


WIDTHS = st.lists(st.integers(1, 4), min_size=1, max_size=4)


def by_region(application: Application, wanted: list[int]) -> dict[str, int]:
    """Widths for the first regions that an application has."""
    names = sorted(region.name for region in application.regions)
    return dict(zip(names, wanted, strict=False))


@FAST
@given(adl=applications(), fusion=SCHEMES, wishes=st.lists(WIDTHS, min_size=2, max_size=4))
def test_no_number_ever_means_something_else(
    adl: Adl, fusion: Fusion, wishes: list[list[int]]
) -> None:
    """Over any number of resizes; and what went does not come back under its number."""
    application = adl.application()
    meant: dict[Hashable, Hashable] = {}
    gone: set[Hashable] = set()
    before: set[Hashable] = set()
    wanted = [by_region(application, wish) for wish in wishes]
    for _, record in generations(application, fusion, wanted):
        now = dict(identities(record)) | {("pe", pe.id): "" for pe in record.pes}
        for number, bearer in now.items():
            assert meant.setdefault(number, bearer) == bearer
        lasting = {number for number in now if number[0] in ("operator", "pe")}  # type: ignore[index]
        gone |= before - lasting
        before = lasting
        assert not gone & lasting


def test_there_and_back_leaves_untouched_pes_alone() -> None:
    """A PE keeps its content id if a resize changes, adds or removes none of its operators."""
    untouched = 0

    @FAST
    @given(adl=applications(always_restartable=True), fusion=SCHEMES, there=WIDTHS)
    def check(adl: Adl, fusion: Fusion, there: list[int]) -> None:
        nonlocal untouched
        application = adl.application()
        submitted = plan_of(application, fusion).record.widths
        wanted = [by_region(application, there), submitted]
        for (before, old), (after, new) in pairwise(generations(application, fusion, wanted)):
            changes = outline_of_resize(before, after)
            kinds = ("changed_ops", "added_ops", "removed_ops")
            touched = {index for kind in kinds for index in changes[kind].values()}
            contents = {pe.id: pe.content_id for pe in new.pes}
            for pe in old.pes:
                operators = {*before.placed[pe.id], *after.placed.get(pe.id, ())}
                if touched.isdisjoint(operators):
                    assert contents[pe.id] == pe.content_id
                    untouched += 1

    check()
    assert untouched > 20, "nearly every PE was touched"
