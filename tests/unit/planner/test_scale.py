"""Connections multiply; what is kept of them must not, and none may be lost or made up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.reasons import Reason
from planner.compressing import CompressedTexts
from planner.drafting import Draft, draft
from planner.graph.topology import Edge, Topology
from planner.numbering.port_numbers import PortNumbers
from planner.numbering.records import (
    Fusion,
    PlanRecord,
    PortKey,
    PortRun,
    PortRuns,
)
from planner.planning import plan
from planner.refusals import PlanRefused
from planner.requesting import PlanLimits, PlanRequest
from tests.unit.planner.adl_writing import Adl, plan_of
from tests.unit.planner.test_invariants import FAST, SCHEMES, applications

Place = tuple[str, tuple[int, ...]]
"""An operator: its path, and the channel of each region around it, outermost first."""


def request(adl: Adl, fusion: Fusion, **limits: int) -> PlanRequest:
    return PlanRequest(
        application=adl.application(),
        bundle_digest="digest",
        job_name="job",
        job_id=7,
        fusion=fusion,
        limits=PlanLimits(**limits),
    )


def drafted(adl: Adl) -> Draft:
    return draft(request(adl, Fusion.legacy()))


def wide(first: int, second: int) -> Adl:
    adl = Adl().chain("a", "f", "g", "z")
    return adl.region("f", first).region("g", second)


# ----------------------------------------------------------------------- none lost, none made up


def regions_around(path: str, widths: dict[str, int]) -> list[str]:
    parts = path.split(".")
    around = [".".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
    return [each for each in around if each in widths]


def expected(adl: Adl, widths: dict[str, int]) -> Counter[tuple[Place, int, Place, int]]:
    """Every connection feeds every channel, but for the channels that hold both of its ends."""
    found: Counter[tuple[Place, int, Place, int]] = Counter()
    for source, output, target, port in adl.connections:
        out_of, into = regions_around(source, widths), regions_around(target, widths)
        shared = [each for each in out_of if each in into and each not in (source, target)]
        for leaving in product(*(range(widths[each]) for each in out_of)):
            for entering in product(*(range(widths[each]) for each in into)):
                alike = all(
                    leaving[out_of.index(each)] == entering[into.index(each)] for each in shared
                )
                if alike:
                    found[(source, leaving), output, (target, entering), port] += 1
    return found


def found_in(topology: Topology, edges: Iterator[Edge]) -> Counter[tuple[Place, int, Place, int]]:
    def place(index: int) -> Place:
        operator = topology.operators[index]
        return operator.logical_name, tuple(level.local for level in reversed(operator.levels))

    return Counter(
        (place(edge.source), edge.output, place(edge.target), edge.input) for edge in edges
    )


@FAST
@given(adl=applications())
def test_expansion_conserves_connections(adl: Adl) -> None:
    """As many as the widths say, between those channels; the same from both of their ends."""
    made = drafted(adl)
    topology, widths = made.topology, made.widths.by_region
    by_name = {region.name: widths[region.index] for region in made.request.application.regions}
    assert found_in(topology, topology.edges) == expected(adl, by_name)
    entering = (edge for port in topology.inlets for edge in topology.edges_into(port))
    assert Counter(entering) == Counter(topology.edges)
    assert topology.connections_count == sum(1 for _ in topology.edges)
    ends = topology.inlets.values()
    assert topology.connections_count == sum(inlet.connections_count for inlet in ends)


@FAST
@given(adl=applications(), fusion=SCHEMES)
def test_planning_twice_gives_the_same_bytes(adl: Adl, fusion: Fusion) -> None:
    one, two = plan_of(adl, fusion), plan_of(adl, fusion)
    assert dict(one.aadls) == dict(two.aadls)
    assert one.record.to_json() == two.record.to_json()
    assert one.port_labels == two.port_labels


# --------------------------------------------------------------------------- what is kept


@pytest.mark.parametrize("kind", ["RoundRobin", "Broadcast"])
def test_a_wide_connection_is_kept_in_as_much_as_it_has_ends(kind: str) -> None:
    adl = Adl().chain("a", "f", "g", "z").region("f", 60, kind).region("g", 70, kind)
    topology = drafted(adl).topology
    assert topology.connections_count == 60 + 60 * 70 + 70
    fans = {fan for outlet in topology.outlets.values() for fan, _ in outlet.fans}
    kept = sum(len(fan.sources) + fan.targets_count for fan in fans)
    kept += sum(len(outlet.targets) for outlet in topology.outlets.values())
    kept += sum(len(inlet.fans) + len(inlet.sources) for inlet in topology.inlets.values())
    assert kept < 6 * (60 + 70)


def test_a_channel_that_also_feeds_its_own_neighbour_shares_the_wide_connection() -> None:
    """What else a port feeds does not take the connection apart."""
    adl = Adl().operator("a", 0, 1).operator("N.f").operator("N.h", 1, 0).operator("g", 1, 0)
    adl.connect("a", "N.f").connect("N.f", "N.h").connect("N.f", "g")
    topology = drafted(adl.region("N", 50).region("g", 40)).topology
    assert topology.connections_count == 50 + 50 + 50 * 40
    assert {len(fan.sources) for outlet in topology.outlets.values() for fan, _ in outlet.fans} == {
        1,
        50,
    }


@pytest.mark.parametrize("fusion", [Fusion.manual(4), Fusion.automatic(4)])
def test_no_pair_of_units_is_counted_for_a_wide_connection(fusion: Fusion) -> None:
    units = draft(request(wide(40, 50), fusion)).units
    assert len(units) == 92
    counted = sum(len(unit.successors) + len(unit.bicliques) for unit in units)
    assert counted <= 3 * len(units)


def test_the_ports_of_a_wide_connection_are_recorded_in_runs() -> None:
    record = plan_of(wide(40, 50), Fusion.legacy()).record
    assert len(record.ports) == 40 + 40 + 40 * 50 + 50 + 50 + 1
    assert len(record.port_runs) < 5 * (40 + 50)
    assert PlanRecord.from_json(record.to_json()) == record


def test_a_record_is_read_in_pieces_and_whole() -> None:
    """Rows are taken out of a text as we write it only, and never out of somebody's name."""
    adl = wide(3, 4)
    for name in ("shop", '"ports":[["', '],"splitters":', '"highWater":', "\\"):
        record = replace(plan_of(adl, Fusion.legacy()).record, job_name=name)
        text = record.to_json()
        assert PlanRecord.from_json(text) == PlanRecord.from_json(text.encode()) == record
        document = orjson.loads(text)
        turned = dict(reversed(document.items()))
        for other in (document, turned):
            for option in (orjson.OPT_INDENT_2, None):
                assert PlanRecord.from_json(orjson.dumps(other, option=option)) == record


def test_very_many_rows_of_ports_come_back_as_they_were() -> None:
    """A text is read in pieces of many rows."""
    runs = [
        PortRun(pe, PortKey("out", 2**31 - 1, port, -1, -1), port, 1 + port % 2)
        for pe in range(40)
        for port in range(800)
    ]
    record = replace(plan_of(wide(2, 2), Fusion.legacy()).record, port_runs=PortRuns(runs))
    again = PlanRecord.from_json(record.to_json())
    assert again == record
    assert tuple(again.port_runs) == tuple(runs)
    assert again.port_runs[:3] == tuple(runs[:3])
    assert orjson.loads(record.to_json())["ports"][801] == [1, "out", 2**31 - 1, 1, -1, -1, 1, 2]


def test_a_number_that_no_plan_has_is_no_record() -> None:
    text = plan_of(wide(2, 2), Fusion.legacy()).record.to_json()
    document = orjson.loads(text)
    document["ports"][0][0] = 2**40
    with pytest.raises(ValueError, match="not a plan record"):
        PlanRecord.from_json(orjson.dumps(document))


def test_a_record_of_the_release_before_gives_the_same_ids() -> None:
    """Schema 1 has a row for each port."""
    adl = wide(3, 4)
    first = plan_of(adl, Fusion.legacy())
    document = orjson.loads(first.record.to_json())
    document["schema"] = 1
    document["ports"] = [[port.pe, *port.key, port.id] for port in first.record.ports]
    older = PlanRecord.from_json(orjson.dumps(document))
    assert older.ports == first.record.ports
    again = plan_of(adl, Fusion.legacy(), previous=older)
    assert not again.aadls
    assert again.record.port_runs == first.record.port_runs


PORT_KEYS = st.builds(
    PortKey,
    st.just("out"),
    st.integers(0, 3),
    st.integers(0, 1),
    st.integers(-1, 2),
    st.integers(-1, 6),
) | st.builds(
    PortKey, st.just("in"), st.integers(0, 3), st.integers(0, 1), st.just(-1), st.just(-1)
)


@given(st.dictionaries(st.tuples(st.integers(0, 3), PORT_KEYS), st.integers(0, 9), max_size=40))
def test_numbers_of_ports_come_back_from_their_runs(ids: dict[tuple[int, PortKey], int]) -> None:
    numbers = PortNumbers()
    for (pe, key), number in ids.items():
        numbers.put(pe, key, number)
    assert dict(numbers) == ids
    assert len(numbers) == len(ids)
    assert dict(PortNumbers(numbers.runs())) == ids
    for pe in range(4):
        assert numbers.count_of(pe) == len([place for place in ids if place[0] == pe])


@given(st.dictionaries(st.integers(0, 9), st.text()))
def test_compressed_texts_are_those_that_were_kept(texts: dict[int, str]) -> None:
    held: CompressedTexts[int] = CompressedTexts()
    for key, text in texts.items():
        held.put(key, text.encode())
    assert held == texts
    assert held.found_by({"a": 3, "b": 99}) == ({"a": texts[3]} if 3 in texts else {})
    assert CompressedTexts.of(held.models, held.compressed, bytes_max=1_000_000) == texts


def test_the_texts_of_a_plan_are_kept_in_a_fraction_of_their_size() -> None:
    texts = plan_of(Adl().chain("a", "f", "z").region("f", 200), Fusion.legacy()).aadls
    assert isinstance(texts, CompressedTexts)
    assert texts.compressed_bytes < sum(map(len, texts.values())) / 10


def test_texts_that_are_alike_are_small_although_the_first_was_another() -> None:
    held: CompressedTexts[int] = CompressedTexts()
    held.put(-1, b"".join(b"<%d/>" % number for number in range(2_000)))
    for number in range(100):
        held.put(number, b"%d " % number + b"".join(b"(%d)" % part for part in range(1_000)))
    assert max(len(held.compressed[number]) for number in range(1, 100)) < 200


def test_a_text_larger_than_may_be_is_not_restored() -> None:
    held: CompressedTexts[int] = CompressedTexts()
    held.put(0, b"a" * 1_000_000)
    assert CompressedTexts.of(held.models, held.compressed, bytes_max=1_000_000)[0] == held[0]
    with pytest.raises(ValueError, match="more than 999999 bytes"):
        CompressedTexts.of(held.models, held.compressed, bytes_max=999_999)[0]
    with pytest.raises(ValueError, match="models"):
        CompressedTexts.of([b""] * 100, {})


# --------------------------------------------------------------------------- what is refused


def test_what_is_copied_beside_operators_is_counted_before_it_is_copied() -> None:
    """Widths multiply composites, ports and connections as well."""
    adl = Adl().chain("a", "P.A.B.C.D.f", "z").region("P", 100)
    assert len(plan_of(adl, Fusion.legacy()).record.pes) == 102
    with pytest.raises(PlanRefused) as caught:
        draft(request(adl, Fusion.legacy(), operators_max=102))
    assert caught.value.reason is Reason.PLAN_TOO_LARGE
    assert "composites, ports and connections" in caught.value.message


def test_the_widest_connection_of_a_pe_that_cannot_fit_is_named_at_either_end() -> None:
    adl = Adl().operator("z", 1, 0)
    for number in range(40):
        adl.operator(f"o{number}", 0, 1).connect(f"o{number}", "z")
    with pytest.raises(PlanRefused) as caught:
        plan(request(adl, Fusion.legacy(), aadl_bytes_max=5_000))
    assert caught.value.reason is Reason.PE_TOO_LARGE
    assert "widest connection is that of z with 40 connections at input port 0" in (
        caught.value.message
    )
