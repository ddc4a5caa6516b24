"""Which PEs stand for channels of parallel regions: what an autoscaler counts.

A channel of a region is stood for by its first operator: that of the lowest logical index, in the
first channel of each other region around it or in it. So resizes do not change which one it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.graph.topology import Operator


def channels_stood_for(
    operators: Iterable[Operator], placed: Mapping[int, list[int]]
) -> dict[int, tuple[int, ...]]:
    """The regions that each PE stands for one channel of, ascending, by the PE's id.

    A PE does if it has the first operator of a channel and no operator of another channel of the
    region. That depends on the PE's operators only, so it changes only with its content.
    """
    by_index = {operator.index: operator for operator in operators}
    first = _first_logical(by_index.values())
    return {
        pe: _stood_for([by_index[index] for index in indexes], first)
        for pe, indexes in placed.items()
    }


def _first_logical(operators: Iterable[Operator]) -> dict[int, int]:
    """The lowest logical index of each region's operators, by region."""
    first: dict[int, int] = {}
    for operator in operators:
        for level in operator.levels:
            known = first.get(level.region, operator.key.logical)
            first[level.region] = min(known, operator.key.logical)
    return first


def _stood_for(operators: list[Operator], first: dict[int, int]) -> tuple[int, ...]:
    channels: dict[int, set[int]] = {}
    stands: set[int] = set()
    for operator in operators:
        for level in operator.levels:
            channels.setdefault(level.region, set()).add(level.local)
            others = (each.local for each in operator.levels if each.region != level.region)
            if operator.key.logical == first[level.region] and not any(others):
                stands.add(level.region)
    return tuple(sorted(region for region in stands if len(channels[region]) == 1))
