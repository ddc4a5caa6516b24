"""Packing picks what the original picks, which sorts everything that is left before every pick."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

import pytest

from planner.fusion.bicliques import Biclique
from planner.fusion.constraints import Unit
from planner.fusion.fusing import Container, fuse_manual, initial_order
from planner.fusion.partitioning import Graph, partition
from planner.fusion.profiles import Profile
from planner.fusion.tiling import cut

End = TypeVar("End")

PLAIN = Profile(
    jvm=frozenset(),
    restartable=frozenset({True}),
    relocatable=frozenset({True}),
    exclusive=frozenset({False}),
    consistent=frozenset({None}),
    isolated=False,
    exlocations=frozenset(),
    host_isolated=False,
    host_colocated=False,
    host_exlocations=frozenset(),
    hosts=frozenset(),
    tags=frozenset(),
    slots=frozenset(),
    pools=frozenset(),
)


def sorted_every_time(units: list[Unit], pes_max: int) -> list[list[Unit]]:
    """The rounds of fusing.py word by word: nothing counted along, nothing left out."""
    left, done = initial_order(units), []
    for alone in [unit for unit in left if unit.stands_alone]:
        done.append(Container())
        done[-1].add(alone)
        left.remove(alone)
    wanted = min(pes_max, sum(len(unit.operators) for unit in units)) - len(done)
    available = [Container() for _ in range(wanted)]
    current, chained = None, False
    while left:
        if len(left) <= len(available) and not all(each.units for each in available):
            current = None
        heads = current is None
        if current is None:
            available = available or [Container()]
            current = min(available, key=lambda each: each.operators)
        else:
            chained = True
        share(current, available, left)
        unit = picked(current, left, heads=heads)
        if unit is not None:
            current.add(unit)
            left.remove(unit)
        elif not chained:
            available.remove(current)
            done.append(current)
        if unit is None or current.full:
            current, chained = None, False
    filled = [each.units for each in (*done, *available) if each.units]
    return sorted(filled, key=lambda each: min(unit.operators[0] for unit in each))


def share(current: Container, available: list[Container], left: list[Unit]) -> None:
    open_ones = [each for each in available if not each.full]
    operators = sum(len(unit.operators) for unit in left)
    operators += sum(each.operators for each in open_ones)
    current.target = max(1, -(-operators // max(1, len(open_ones))))


def picked(current: Container, left: list[Unit], *, heads: bool) -> Unit | None:
    feeds, fed_by = current.feeds, current.fed_by

    def key(unit: Unit) -> tuple[int, ...]:
        fed, feeding = feeds.get(unit, 0), fed_by.get(unit, 0)
        if not heads:
            return -fed, -feeding
        return not unit.has_source, not unit.has_sink, -len(unit.operators), -fed - feeding

    left.sort(key=key)
    fitting = (unit for unit in left if current.accepts(unit))
    return next((unit for unit in fitting if heads or unit in feeds or unit in fed_by), None)


def some_units(draw: random.Random) -> list[Unit]:
    """Units with a few constraints and connections, in every density."""
    units: list[Unit] = []
    operators, constrained = 0, draw.random() < 0.5
    for _ in range(draw.randrange(1, 40)):
        size = draw.choice((1, 1, 1, 2, 3))
        profile = PLAIN
        if constrained and draw.random() < 0.3:
            apart = frozenset({(draw.choice("ab"), draw.randrange(4))})
            profile = replace(PLAIN, exlocations=apart, restartable=frozenset({False}))
        is_source, is_sink, is_alone = (draw.random() < p for p in (0.2, 0.2, 0.05))
        members = tuple(range(operators, operators + size))
        units.append(Unit(members, profile, is_source, is_sink, is_alone, {}, {}))
        operators += size
    for _ in range(draw.choice((0, len(units) // 2, len(units), 3 * len(units)))):
        one, other = draw.choice(units), draw.choice(units)
        if one is not other:
            count = draw.randrange(1, 3)
            one.successors[other] = one.successors.get(other, 0) + count
            other.predecessors[one] = other.predecessors.get(one, 0) + count
    return units


@pytest.mark.parametrize("seed", range(300))
def test_packing_picks_what_sorting_before_every_pick_gives(seed: int) -> None:
    draw = random.Random(seed)
    units = some_units(draw)
    pes_max = draw.randrange(1, len(units) + 4)
    assert fuse_manual(units, pes_max) == sorted_every_time(units, pes_max)


# --------------------------------------------------------------------------- bicliques


def some_biclique(draw: random.Random, ends: list[End]) -> Biclique[End]:
    return Biclique(
        {end: draw.randrange(1, 3) for end in ends if draw.random() < 0.5},
        {end: draw.randrange(1, 3) for end in ends if draw.random() < 0.5},
    )


def pairs_in(biclique: Biclique[End]) -> Iterator[tuple[End, End, int]]:
    for source, count in biclique.sources.items():
        for target, other in biclique.targets.items():
            if source != target:
                yield source, target, count * other


def spelt_out(units: list[Unit], bicliques: list[Biclique[Unit]]) -> list[Unit]:
    """The same units, each pair of a biclique counted for itself."""
    twin = {unit: replace(unit, successors={}, predecessors={}, bicliques=[]) for unit in units}
    single = [(unit, *each) for unit in units for each in unit.successors.items()]
    for source, target, count in (
        *single,
        *(pair for each in bicliques for pair in pairs_in(each)),
    ):
        one, other = twin[source], twin[target]
        one.successors[other] = one.successors.get(other, 0) + count
        other.predecessors[one] = other.predecessors.get(one, 0) + count
    return list(twin.values())


def members(pes: list[list[Unit]]) -> list[list[tuple[int, ...]]]:
    return [[unit.operators for unit in pe] for pe in pes]


@pytest.mark.parametrize("seed", range(100))
def test_bicliques_of_connections_count_like_the_pairs_in_them(seed: int) -> None:
    draw = random.Random(seed)
    units = some_units(draw)
    bicliques = [some_biclique(draw, units) for _ in range(draw.randrange(1, 4))]
    expected = spelt_out(units, bicliques)
    for biclique in bicliques:
        for unit in {**biclique.sources, **biclique.targets}:
            unit.bicliques.append(biclique)
    pes_max = draw.randrange(1, len(units) + 4)
    packed, spelt = fuse_manual(units, pes_max), fuse_manual(expected, pes_max)
    assert members(packed) == members(spelt)
    assert cut(packed) == cut(spelt)


@pytest.mark.parametrize("seed", range(100))
def test_a_graph_with_bicliques_is_partitioned_like_the_graph_of_its_pairs(seed: int) -> None:
    draw = random.Random(seed)
    size = draw.randrange(2, 30)
    weights = [draw.randrange(1, 4) for _ in range(size)]
    bicliques = [some_biclique(draw, list(range(size))) for _ in range(draw.randrange(1, 4))]
    chain: list[dict[int, int]] = [{} for _ in range(size)]
    pairs: list[dict[int, int]] = [{} for _ in range(size)]
    links = [(vertex - 1, vertex, 1) for vertex in range(1, size)]
    for one, other, count in links:
        chain[one][other] = chain[other][one] = count
    for one, other, count in (*links, *(pair for each in bicliques for pair in pairs_in(each))):
        pairs[one][other] = pairs[other][one] = pairs[one].get(other, 0) + count
    parts = draw.randrange(1, size + 1)
    held = partition(Graph(weights, chain, bicliques), parts, None)
    assert held == partition(Graph(weights, pairs), parts, None)
