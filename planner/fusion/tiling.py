"""Automatic fusion: whole channels of parallel regions to PEs, so that few connections cross.

1. Units of one channel are a tile: tuples then cross PEs where they enter and leave a region, not
   at each of its stages, and a width takes whole tiles in and out. It is the outermost channel of
   which whole ones about fill a PE's share; an innermost channel is never cut, however large.
2. What constraints keep apart within a tile makes several tiles of it.
3. Tiles that may share a PE at all are partitioned among PEs by connections (partitioning.py);
   units that stand alone have a PE each, and every class of tiles that no other may join has one at
   least.
4. The original's greedy packing (fusing.py) of the same number wins where fewer of its connections
   cross.

Each unit ends in exactly one PE, and no constraint of profiles.py or cohosting.py is violated.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from planner.fusion.bicliques import Biclique, summed
from planner.fusion.cohosting import NOBODY_BOUND, Cohosting
from planner.fusion.constraints import Unit, channel_path
from planner.fusion.fusing import Container, fuse_manual
from planner.fusion.partitioning import Graph, partition
from planner.fusion.profiles import ChannelPath, Profile, conflict
from planner.graph.topology import Topology

TILES_TRIED_MAX = 64
"""So many tiles of a channel are tried for a unit; then another one is made."""


@dataclass(frozen=True, slots=True)
class Tile:
    """Units that are placed together. `bound`: the unit that stands for them in cohosting.py."""

    units: list[Unit]
    profile: Profile
    operators: int
    bound: Unit | None = None


def fuse_automatic(
    units: list[Unit], topology: Topology, pes: int, cohosting: Cohosting = NOBODY_BOUND
) -> list[list[Unit]]:
    """About that many PEs, by smallest operator; the units must know their neighbours."""
    apart = cohosting.mark()
    greedy = fuse_manual(units, pes, cohosting)
    cohosting.undo(apart)
    tiled = _tiled(units, topology, pes, cohosting)
    return tiled if cut(tiled) <= cut(greedy) else greedy


def cut(pes: Sequence[list[Unit]]) -> int:
    """How many connections between operators cross from one PE to another."""
    pe_of = {unit: pe for pe, units in enumerate(pes) for unit in units}
    single = sum(
        count
        for unit, pe in pe_of.items()
        for other, count in unit.successors.items()
        if pe_of.get(other, pe) != pe
    )
    return single + sum(biclique.across(pe_of) for biclique in _bicliques(pe_of))


def _bicliques(units: Iterable[Unit]) -> Iterable[Biclique[Unit]]:
    return dict.fromkeys(biclique for unit in units for biclique in unit.bicliques)


def split(units: list[Unit], topology: Topology, parts: int) -> list[list[Unit]]:
    """What one PE cannot hold, in several: whole tiles, else, where it is one tile, units.

    They may share a PE, so any of them may share a host.
    """
    found = _tiled(units, topology, parts, NOBODY_BOUND)
    if len(found) > 1 or len(units) == 1:
        return found
    tiles = [Tile([unit], unit.profile, len(unit.operators)) for unit in units]
    return _partitioned(tiles, parts, NOBODY_BOUND)


def _tiled(
    units: list[Unit], topology: Topology, pes: int, cohosting: Cohosting
) -> list[list[Unit]]:
    found = [[unit] for unit in units if unit.stands_alone]
    rest = [unit for unit in units if not unit.stands_alone]
    left = max(1, pes - len(found))
    share = -(-sum(len(unit.operators) for unit in rest) // left)
    found += _partitioned(tiles_of(rest, topology, share, cohosting), left, cohosting)
    return sorted(found, key=lambda each: min(unit.operators[0] for unit in each))


# --------------------------------------------------------------------------- tiles


def tiles_of(
    units: Iterable[Unit], topology: Topology, share: int, cohosting: Cohosting
) -> list[Tile]:
    """Steps 1 and 2. `share`: the operators of a PE."""
    channels = {unit: _channels(unit, topology) for unit in units}
    sizes: Counter[tuple[int, int]] = Counter()
    for unit, path in channels.items():
        for channel in path:
            sizes[channel] += len(unit.operators)
    found: list[Container] = []
    by_channel: dict[Hashable, list[Container]] = {}
    for unit, path in channels.items():
        fitting = [channel for channel in path if _fits(sizes[channel], share)]
        key: Hashable = fitting[-1] if fitting else path[0] if path else unit
        tiles = by_channel.setdefault(key, [])
        tile = next((each for each in tiles[-TILES_TRIED_MAX:] if each.accepts(unit)), None)
        if tile is None:
            tile = Container(cohosting=cohosting)
            tiles.append(tile)
            found.append(tile)
        tile.add(unit)
    return [Tile(each.units, _profile(each.units), each.operators, each.bound) for each in found]


def _fits(operators: int, share: int) -> bool:
    """Whether tiles of that size leave at most a third of a PE's share unused."""
    return operators <= share and share % operators <= share // 3


def _channels(unit: Unit, topology: Topology) -> ChannelPath:
    """The channels that all operators of a unit are in, innermost first."""
    path, *others = (channel_path(topology.operators[index]) for index in unit.operators)
    for other in others:
        path = tuple(channel for channel in path if channel in other)
    return path


def _profile(units: list[Unit]) -> Profile:
    profile = units[0].profile
    for unit in units[1:]:
        profile = profile.joined(unit.profile)
    return profile


# ----------------------------------------------------------------------- partitioning


class _Rules:
    """The constraints of tiles of one class, as partitioning.py asks for them."""

    def __init__(self, tiles: list[Tile], cohosting: Cohosting) -> None:
        self._tiles = tiles
        self._cohosting = cohosting
        self._apart = cohosting.mark()

    def begun(self) -> None:
        self._cohosting.undo(self._apart)

    def opened(self) -> _Part:
        return _Part(self._tiles, self._cohosting)

    def settle(self, parts: Iterable[Iterable[int]]) -> None:
        """Takes one partition for good: what comes next is beside its parts."""
        self.begun()
        for part in parts:
            held: Unit | None = None
            for vertex in part:
                held = self._cohosting.joined(held, self._tiles[vertex].bound)

    def is_free(self, vertex: int) -> bool:
        return self._tiles[vertex].profile.is_plain


class _Part:
    def __init__(self, tiles: list[Tile], cohosting: Cohosting) -> None:
        self._tiles = tiles
        self._cohosting = cohosting
        self._held: Profile | None = None
        self._bound: Unit | None = None

    def takes(self, vertex: int) -> bool:
        profile, bound = self._tiles[vertex].profile, self._tiles[vertex].bound
        if self._held is None:
            self._held = profile
        elif not profile.is_plain or not self._held.is_plain:
            if conflict(profile, self._held) is not None:
                return False
            if self._cohosting.refusal(self._bound, bound) is not None:
                return False
            self._held = self._held.joined(profile)
        self._bound = self._cohosting.joined(self._bound, bound)
        return True


def _partitioned(tiles: list[Tile], pes: int, cohosting: Cohosting) -> list[list[Unit]]:
    classes: dict[Hashable, list[Tile]] = {}
    for tile in tiles:
        classes.setdefault(tile.profile.fusion_class, []).append(tile)
    found: list[list[Unit]] = []
    for members, parts in zip(classes.values(), _shares(list(classes.values()), pes), strict=True):
        is_free = all(tile.profile.is_plain for tile in members)
        rules = None if is_free else _Rules(members, cohosting)
        vertices = partition(_graph(members), parts, rules)
        if rules is not None:
            rules.settle(vertices)
        found += [[unit for vertex in part for unit in members[vertex].units] for part in vertices]
    return found


def _shares(classes: list[list[Tile]], pes: int) -> list[int]:
    """PEs of each class: as many as ex-location asks for, the rest to whose PEs are the largest."""
    shares = [_parts_min(members) for members in classes]
    weights = [sum(tile.operators for tile in members) for members in classes]
    largest = [
        (-weight / shares[place], place)
        for place, weight in enumerate(weights)
        if shares[place] < len(classes[place])
    ]
    heapq.heapify(largest)
    for _ in range(pes - sum(shares)):
        if not largest:
            break
        place = heapq.heappop(largest)[1]
        shares[place] += 1
        if shares[place] < len(classes[place]):
            heapq.heappush(largest, (-weights[place] / shares[place], place))
    return shares


def _parts_min(members: list[Tile]) -> int:
    """As many as there are operators that must not share one."""
    apart = {pair for tile in members for pair in tile.profile.exlocations}
    hosts_apart = {pair for tile in members for pair in tile.profile.host_exlocations}
    ids = Counter(identifier for identifier, _ in apart)
    hosts = Counter(identifier for identifier, _ in hosts_apart)
    channels = {channel for tile in members for channel in tile.profile.apart_channels}
    regions = Counter(region for region, _ in channels)
    return max([1, *ids.values(), *hosts.values(), *regions.values()])


def _graph(tiles: list[Tile]) -> Graph:
    vertex_of = {unit: vertex for vertex, tile in enumerate(tiles) for unit in tile.units}
    neighbours: list[dict[int, int]] = [{} for _ in tiles]
    for unit, vertex in vertex_of.items():
        for target, count in unit.successors.items():
            other = vertex_of.get(target, vertex)
            if other != vertex:
                neighbours[vertex][other] = neighbours[vertex].get(other, 0) + count
                neighbours[other][vertex] = neighbours[other].get(vertex, 0) + count
    bicliques = [_of_vertices(biclique, vertex_of) for biclique in _bicliques(vertex_of)]
    return Graph([tile.operators for tile in tiles], neighbours, bicliques)


def _of_vertices(biclique: Biclique[Unit], vertex_of: Mapping[Unit, int]) -> Biclique[int]:
    sources, targets = (
        summed((vertex_of[unit], count) for unit, count in ends.items() if unit in vertex_of)
        for ends in (biclique.sources, biclique.targets)
    )
    return Biclique(sources, targets)
