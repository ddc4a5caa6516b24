"""PEs that differ, and nodes that they must fill to the last: placed if and only if it can be."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from contracts.scheduling.nodes import Node
from placement.answers import Placed, Refused
from placement.cluster import Cluster
from placement.deciding import decide
from placement.job import Job, Pe


def on_nodes(free: Sequence[int], sizes: Sequence[int]) -> tuple[Cluster, Job]:
    """Nodes that have so much, and PEs that ask for so much."""
    nodes = [Node(f"n{at}", {}, (), {"cpu": cpu, "pods": 9}) for at, cpu in enumerate(free)]
    pes = tuple(Pe(at, {"cpu": size}) for at, size in enumerate(sizes))
    return Cluster.of(nodes), Job("default/job", pes)


def fits(sizes: Sequence[int], free: tuple[int, ...]) -> bool:
    """Whether any way puts all of them somewhere."""
    if not sizes:
        return True
    first, *rest = sizes
    return any(
        fits(rest, (*free[:at], left - first, *free[at + 1 :]))
        for at, left in enumerate(free)
        if left >= first
    )


@pytest.mark.parametrize("seed", range(60))
def test_what_leaves_little_or_nothing_is_placed_exactly_if_it_can_be(seed: int) -> None:
    draw = random.Random(seed)
    free = [draw.choice((20, 20, 23)) for _ in range(3)]
    left, sizes = sum(free) - draw.choice((0, 0, 1, 2)), list[int]()
    while left > 9 and len(sizes) < 7:
        sizes.append(draw.randint(3, 9))
        left -= sizes[-1]
    sizes += [left // 2, left - left // 2] if left > 9 else [left]
    answer = decide(*on_nodes(free, sizes))
    assert isinstance(answer, Placed | Refused)
    assert isinstance(answer, Placed) == fits(sorted(sizes, reverse=True), tuple(free))


@pytest.mark.parametrize("seed", range(3))
def test_nodes_that_no_two_alike_fill_to_the_last_are_filled(seed: int) -> None:
    draw, sizes = random.Random(seed), list[int]()
    while len(sizes) < 36:
        one, other = draw.randint(1_500, 5_000), draw.randint(1_500, 5_000)
        three = {one, other, 10_000 - one - other}
        if len(three) == 3 and min(three) >= 1_000 and not three & {*sizes}:
            sizes += sorted(three)
    draw.shuffle(sizes)
    assert isinstance(decide(*on_nodes([10_000] * 12, sizes)), Placed)
