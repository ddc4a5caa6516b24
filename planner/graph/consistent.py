"""Consistent regions: which operators belong to one, as far as fusion and annotations need it.

A region has an instance for each channel in which its start operators are replicated. Membership
spreads downstream from the start operators over operators that carry an entry; it includes, but
does not pass, those flagged as the end. Instances that share a real operator are one, but for
fusion, which keeps them apart as the original did: an operator that several of them share goes with
the first.

The original counts instances; here their numbers follow from logical region and channel, so that a
resize of one region leaves the annotations of another one alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from planner.application import model
from planner.graph.topology import Operator, Topology

ENTRY = "consistentRegionEntry"
REGION = "consistentRegion"


@dataclass(frozen=True, slots=True)
class ConsistentRegions:
    """By operator index the region that it is in, and the one that it is fused with.

    They differ where regions share an operator. `timeouts` are those of logical regions.
    """

    member_of: Mapping[int, int]
    fused_with: Mapping[int, int]
    timeouts: Mapping[str, tuple[str | None, str | None]]


def find_consistent_regions(
    application: model.Application, topology: Topology, *, is_counted: bool = False
) -> ConsistentRegions:
    """The consistent regions of the topology. `is_counted`: numbered as the original does."""
    seeds: dict[tuple[str, int], list[int]] = {}
    for operator in topology.operators.values():
        entry = entry_of(operator)
        if entry is not None and _flag(entry, "isStartOfRegion"):
            channel = operator.levels[0].channel if operator.levels else 0
            seeds.setdefault((entry.get("index") or "0", channel), []).append(operator.index)
    if not seeds:
        return ConsistentRegions({}, {}, {})
    downstream: dict[int, list[int]] = {}
    for edge in topology.edges:
        downstream.setdefault(edge.source, []).append(edge.target)
    numbers = list(range(len(seeds))) if is_counted else _numbers(seeds)
    merged = {number: number for number in numbers}
    first: dict[int, int] = {}
    for number, starts in zip(numbers, seeds.values(), strict=True):
        for index in _reached(topology, starts, downstream):
            other = first.setdefault(index, number)
            lowest = min(_lowest(merged, other), _lowest(merged, number))
            merged[_lowest(merged, other)] = merged[_lowest(merged, number)] = lowest
    return ConsistentRegions(
        {index: _lowest(merged, number) for index, number in first.items()},
        first,
        dict(_timeouts(application.main)),
    )


def _numbers(seeds: Iterable[tuple[str, int]]) -> list[int]:
    """A number for each (logical region, channel), whatever the widths of other regions are."""
    logical = list(dict.fromkeys(index for index, _ in seeds))
    return [logical.index(index) + len(logical) * channel for index, channel in seeds]


def entry_of(operator: Operator) -> model.Annotation | None:
    """The operator's membership of a consistent region."""
    return next((item for item in operator.item.annotations if item.tag == ENTRY), None)


def _flag(entry: model.Annotation, key: str) -> bool:
    return (entry.get(key) or "").strip() == "true"


def _lowest(merged: Mapping[int, int], number: int) -> int:
    while merged[number] != number:
        number = merged[number]
    return number


def _reached(
    topology: Topology, starts: list[int], downstream: Mapping[int, list[int]]
) -> Iterator[int]:
    seen: set[int] = set()
    stack = list(starts)
    while stack:
        index = stack.pop()
        entry = entry_of(topology.operators[index])
        if index in seen or entry is None:
            continue
        seen.add(index)
        yield index
        if not _flag(entry, "isEndOfRegion"):
            stack += downstream.get(index, [])


def _timeouts(
    composite: model.Composite,
) -> Iterator[tuple[str, tuple[str | None, str | None]]]:
    for annotation in composite.annotations:
        if annotation.tag == REGION:
            times = annotation.get("drainTimeout"), annotation.get("resetTimeout")
            yield annotation.get("index") or "0", times
    for inner in composite.composites:
        yield from _timeouts(inner)
