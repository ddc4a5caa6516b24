"""From the graph to what runs: one instance of an operator for each channel, and where tuples go.

An instance is known by its operator and its channels, outermost region first. Where a stream enters
a region there is a splitter for each producer; where it leaves one, channels are merged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from millrace.graph import Entry, Graph, Operator, Region
from millrace.runtime.splitting import Splitter, inner_turn, key_reader, turn_of
from millrace.state import KEY_GROUPS

Channels = tuple[int, ...]
Widths = Mapping[Region, int]


@dataclass(frozen=True, slots=True)
class Place:
    """One instance of an operator."""

    operator: Operator
    channels: Channels

    @property
    def name(self) -> str:
        """Such as `Counted[2]`; channels of nested regions are separated by commas."""
        shown = ",".join(map(str, self.channels))
        return f"{self.operator.name}[{shown}]" if self.channels else self.operator.name


@dataclass(frozen=True, slots=True)
class Split:
    """A splitter, and where the tuples of each channel go."""

    splitter: Splitter
    channels: tuple[tuple[Place | Split, ...], ...]


Outlet = Place | Split


class Expansion:
    """All instances of a graph at these widths, and the outlets of each."""

    def __init__(self, graph: Graph, widths: Widths) -> None:
        """Imports count as operators: somebody feeds them. Exports are left out."""
        self._widths = widths
        self._readers: dict[Operator | Entry, list[Operator | Entry]] = defaultdict(list)
        for region in graph.regions:
            for source in region.entry.sources if region.entry else ():
                assert region.entry is not None
                self._readers[source].append(region.entry)
        operators = [each for each in graph.operators if each.role != "export"]
        for operator in operators:
            for source in operator.sources:
                self._readers[source].append(operator)
        self.places = [
            Place(operator, channels)
            for operator in operators
            for channels in product(*(range(widths[each]) for each in operator.regions))
        ]
        self.outlets = {
            place: tuple(self._outlets(place.operator, place.channels, self._turn(graph, place)))
            for place in self.places
        }
        self.inputs: dict[Place, int] = defaultdict(int)
        for outlets in self.outlets.values():
            for place in _reached(outlets):
                self.inputs[place] += 1

    def channel(self, place: Place) -> tuple[int, int]:
        """The number of an instance among all of its operator, and how many there are."""
        index, count = 0, 1
        for region, local in zip(place.operator.regions, place.channels, strict=True):
            index = index * self._widths[region] + local
            count *= self._widths[region]
        return index, count

    def _turn(self, graph: Graph, place: Place) -> int:
        return turn_of(graph, place.operator, self.channel(place))

    def _outlets(self, source: Operator | Entry, channels: Channels, turn: int) -> Iterator[Outlet]:
        for reader in self._readers[source]:
            if isinstance(reader, Operator):
                yield Place(reader, channels[: len(reader.regions)])
            else:
                yield self._split(reader, channels, turn)

    def _split(self, entry: Entry, channels: Channels, turn: int) -> Split:
        region = entry.region
        width = self._widths[region]
        key = None
        if region.key:
            key = key_reader(region.key, entry.access)
        splitter = Splitter(region.kind, width, KEY_GROUPS, key, turn=turn)
        inner = inner_turn(turn, region.kind, width)
        base = channels[: len(region.around) - 1]
        return Split(
            splitter,
            tuple(tuple(self._outlets(entry, (*base, each), inner)) for each in range(width)),
        )


def _reached(outlets: tuple[Outlet, ...]) -> Iterator[Place]:
    for outlet in outlets:
        if isinstance(outlet, Place):
            yield outlet
        else:
            for channel in outlet.channels:
                yield from _reached(channel)
