"""Compares the cut of automatic fusion with that of the original's greedy packing, on ten shapes.

The cut is the number of connections between operators of different PEs. Both schemes get the same
number of PEs: the one that automatic fusion chooses.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cli.showing import answer_lines
from contracts.bundle_format import BundleLimits, open_bundle, pack
from loadtest.applications import chain, channels, fan, nested, wide_connection, without_regions
from planner.application.adl import read_application
from planner.drafting import draft
from planner.fusion.fusing import fuse_manual
from planner.fusion.tiling import cut
from planner.numbering.records import Fusion
from planner.requesting import PlanLimits, PlanRequest

CLUSTER = Fusion.automatic(4, allocatable_mcpu=8_000, largest_node_mcpu=2_000, request_mcpu=100)
"""Four nodes with two CPUs each."""
Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Cut:
    """The connections between PEs of one application, by automatic fusion and by greedy packing."""

    shape: str
    operators: int
    connections: int
    pes: int
    greedy: int
    automatic: int


def cuts() -> list[Cut]:
    """The table, a row for each shape."""
    return [measured(shape, text) for shape, text in shapes()]


def measured(shape: str, text: str) -> Cut:
    """The row of an application, of which `text` is the logical model."""
    drafted = draft(
        PlanRequest(
            application=read_application(open_bundle(pack(text.encode()), BundleLimits())),
            bundle_digest="digest",
            job_name="cut",
            job_id=1,
            fusion=CLUSTER,
            limits=PlanLimits(),
        )
    )
    pes = [units for _, units in drafted.placements]
    return Cut(
        shape=shape,
        operators=len(drafted.topology.operators),
        connections=drafted.topology.connections_count,
        pes=len(pes),
        greedy=cut(fuse_manual(drafted.units, drafted.fusion.pes_max or 1)),
        automatic=cut(pes),
    )


def shapes() -> Iterator[tuple[str, str]]:
    """The name of each shape, and the logical model of an application that has it."""
    yield "chain", chain(400).logical
    yield "100 channels of 4", channels(400).logical
    yield "10 x 10 x 4 channels", nested("", (10, 10, 4), 1).logical
    yield "fan of 400", fan(400).logical
    yield "20 x 20 channels, all to all", wide_connection(20, 20).logical
    yield "12 channels of 3 channels of 10", nested("", (12, 3), 10).logical
    for name, pairs in (
        ("tree that spreads", [(at // 2, at + 1) for at in range(400)]),
        ("tree that gathers", [(400 - (at + 1), 400 - at // 2) for at in range(400)]),
        ("grid of 20 by 20", _grid(20)),
        ("random, forwards", _random()),
    ):
        names = [f"Op{at}" for at in range(1 + max(max(pair) for pair in pairs))]
        yield name, without_regions(names, pairs)


def _grid(side: int) -> Pairs:
    """Each operator feeds the one to its right and the one below."""
    places = [(row, column) for row in range(side) for column in range(side)]
    right = [(row * side + col, row * side + col + 1) for row, col in places if col + 1 < side]
    below = [(row * side + col, (row + 1) * side + col) for row, col in places if row + 1 < side]
    return right + below


def _random() -> Pairs:
    """Each operator is fed by one or two of the thirty before it."""
    draw = random.Random(6)
    return sorted(
        {(max(0, at - draw.randrange(1, 31)), at) for at in range(1, 401) for _ in range(2)}
    )


def render(rows: Sequence[Cut]) -> str:
    """The table for people."""
    lines = [f"connections across PEs {'':15} operators  all  PEs  greedy  automatic"]
    lines += [
        f"{row.shape:38} {row.operators:9} {row.connections:4} {row.pes:4} {row.greedy:7}"
        f" {row.automatic:10}"
        for row in rows
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    answer_lines(render(cuts()))
