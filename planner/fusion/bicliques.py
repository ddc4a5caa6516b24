"""Bicliques: connections of many with many, where each source is connected with each target.

Two wide regions, one behind the other, connect a million pairs of units. The fusion of units needs
their counts, and none of them for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

End = TypeVar("End")


@dataclass(frozen=True, slots=True, eq=False)
class Biclique(Generic[End]):
    """Sources and targets, and how often each is one: a pair has the product as connections."""

    sources: Mapping[End, int]
    targets: Mapping[End, int]

    def from_end(self, end: End) -> Iterator[tuple[End, int]]:
        """Whom else a source feeds, and by how many connections."""
        return _others(end, self.sources, self.targets)

    def into_end(self, end: End) -> Iterator[tuple[End, int]]:
        """Who else feeds a target, and by how many connections."""
        return _others(end, self.targets, self.sources)

    def across(self, part_of: Mapping[End, int]) -> int:
        """The connections between ends that have different parts."""
        sources, targets = _by_part(self.sources, part_of), _by_part(self.targets, part_of)
        inside = sum(count * targets.get(part, 0) for part, count in sources.items())
        return sum(sources.values()) * sum(targets.values()) - inside


def _others(
    end: End, own: Mapping[End, int], others: Mapping[End, int]
) -> Iterator[tuple[End, int]]:
    factor = own.get(end, 0)
    return ((other, factor * count) for other, count in others.items() if factor and other != end)


def _by_part(counts: Mapping[End, int], part_of: Mapping[End, int]) -> dict[int, int]:
    return summed((part_of[end], count) for end, count in counts.items() if end in part_of)


def summed(counts: Iterable[tuple[End, int]]) -> dict[End, int]:
    """One count for each."""
    found: dict[End, int] = {}
    for end, count in counts:
        found[end] = found.get(end, 0) + count
    return found
