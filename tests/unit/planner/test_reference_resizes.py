"""Resizes one after the other against a naive expansion for the widths after each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planner.drafting import Draft
from planner.numbering.records import Fusion
from tests.patience import patient
from tests.unit.planner.reference import (
    Record,
    Reference,
    identity_of,
    name_of,
    reference,
    transferred,
)
from tests.unit.planner.test_reference import (
    SCHEMES,
    SLOW,
    answers,
    drafted,
    is_comparable,
    recorded,
    splitters_of,
    trees,
)
from tests.unit.planner.tree_writing import Tree

RESIZES = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 3)), min_size=2, max_size=3)
Shape = tuple[object, ...]
SECONDS_MAX = patient(600)
"""Against hanging: machines are shared, and one example in many is large."""


def widths_after(tree: Tree, resizes: Iterable[tuple[int, int]]) -> Iterable[dict[str, int]]:
    """The widths of all regions after each resize of one of them."""
    regions = tree.regions()
    widths = {region.path: region.width for region in regions}
    for place, width in resizes:
        widths = {**widths, regions[place % len(regions)].path: width}
        yield widths


def shape_of(records: list[Record]) -> list[Shape]:
    """Splitters without their numbers."""
    return [
        (
            *(each.kind, each.port, each.region, each.drop, each.attributes),
            tuple(tuple(shape_of(channel)) for channel in each.channels),
        )
        for each in records
    ]


def numbers_in(records: list[Record]) -> list[int]:
    return [
        number
        for each in records
        for number in (each.index, *(n for channel in each.channels for n in numbers_in(channel)))
    ]


def check_for_life(made: Draft, naive: Reference) -> None:
    """The topology of these widths under the numbers that operators and splitters keep."""
    topology = made.topology
    number = {tuple(each.key): index for index, each in topology.operators.items()}
    now = {fresh: number[identity_of(node)] for fresh, node in naive.nodes.items()}
    assert {now[fresh]: name_of(node) for fresh, node in naive.nodes.items()} == {
        index: operator.name for index, operator in topology.operators.items()
    }
    assert Counter((edge[:4], edge[5]) for edge in topology.edges) == Counter(
        ((now[source], output, now[target], port), channel)
        for source, output, target, port, _, channel in naive.edges
    )
    ours = splitters_of(topology)
    for (source, port), records in naive.splitters.items():
        found = ours[now[source], port]
        assert shape_of(found) == shape_of(records)
        assert len(set(numbers_in(found))) == len(numbers_in(found))


@SLOW
@pytest.mark.timeout(SECONDS_MAX)
@given(tree=trees(), fusion=SCHEMES, resizes=RESIZES)
def test_numbers_for_life_stand_for_the_topology_of_the_widths(
    tree: Tree, fusion: Fusion, resizes: list[tuple[int, int]]
) -> None:
    """By default; an operator that stays keeps its number, and one that comes gets a new one."""
    assume(tree.regions())
    answers(tree, fusion)
    made = drafted(tree, fusion, compat=False)
    given_ever = set(made.topology.operators)
    for widths in widths_after(tree, resizes):
        naive = reference(tree.text(), widths)
        assume(is_comparable(naive))
        before = {each.key: index for index, each in made.topology.operators.items()}
        made = drafted(tree, fusion, compat=False, widths=widths, previous=recorded(made))
        check_for_life(made, naive)
        for index, operator in made.topology.operators.items():
            assert before.get(operator.key, index) == index
            assert operator.key in before or index not in given_ever
        given_ever |= set(made.topology.operators)


@SLOW
@pytest.mark.timeout(SECONDS_MAX)
@given(tree=trees(), fusion=SCHEMES, resizes=RESIZES)
def test_every_resize_in_compat_starts_from_fresh_numbers_of_the_widths_before(
    tree: Tree, fusion: Fusion, resizes: list[tuple[int, int]]
) -> None:
    """So a second one numbers again what the first one kept."""
    assume(tree.regions())
    made, prior = answers(tree, fusion)
    for widths in widths_after(tree, resizes):
        current = reference(tree.text(), widths)
        assume(is_comparable(current))
        made = drafted(tree, fusion, widths=widths, previous=recorded(made))
        assert {operator.name: index for index, operator in made.topology.operators.items()} == {
            name_of(current.nodes[fresh]): number
            for fresh, number in transferred(prior, current).items()
        }
        prior = current
