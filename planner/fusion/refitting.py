"""Fusion at a resize: what runs stays where it is, only new operators are placed.

Legacy: a unit stays in the PE that its operators run in; a new unit gets a new PE.
Manual N: surviving operators stay in their PE; a new unit opens a new PE while there are fewer than
N, otherwise it joins the PE with the fewest operators among those of its parallel region, then
among all, that no constraint closes to it; if every one is closed, it gets a new PE.
Automatic: new units come as tiles (tiling.py). A tile joins a PE that holds nothing but tiles of
its parallel region and has room for it, else a new PE: PEs come and go by whole tiles, and no
others change than those that the width itself changes.

A PE that lost its last operator goes away. Operators whose constraints changed with the width (an
id that holds `getMaxChannels()`) may have to leave: a unit that its PE refuses is placed as if new.
What new operators forbid to a PE that runs, it refuses only with `is_strict`: all stay,
unless the width could not be had otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from planner.fusion.cohosting import Cohosting
from planner.fusion.constraints import Unit
from planner.fusion.fusing import Container
from planner.fusion.tiling import Tile, tiles_of
from planner.graph.topology import Topology
from planner.numbering.records import Fusion

Placement = tuple[int | None, list[Unit]]
"""A PE id, or None for a new PE, and the units in it."""


def refit(
    units: list[Unit],
    fusion: Fusion,
    pe_of: Mapping[int, int],
    topology: Topology,
    cohosting: Cohosting,
    *,
    share: int = 0,
    is_strict: bool = False,
) -> list[Placement]:
    """The PEs after a resize, new ones last and by smallest operator.

    `share`: the operators that automatic fusion would give a PE today.
    """
    containers: dict[int, Container] = {}
    new: list[Unit] = []
    for unit in units:
        home = _home(unit, pe_of)
        if home is None:
            new.append(unit)
            continue
        container = containers.setdefault(home, Container(cohosting=cohosting))
        stays = container.accepts(unit) if is_strict else container.fits(unit)
        is_apart = fusion.scheme == "legacy" or _alone(container, unit)
        if not container.units or (stays and not is_apart):
            container.add(unit)
        else:
            new.append(unit)
    if fusion.scheme == "automatic":
        added = _place_tiles(new, containers, topology, share, cohosting)
    else:
        added = _place_new(new, fusion, containers, topology, cohosting)
    kept: list[Placement] = [(pe, containers[pe].units) for pe in sorted(containers)]
    return kept + [(None, container.units) for container in added]


def _joinable(container: Container, unit: Unit) -> bool:
    return not _alone(container, unit) and container.accepts(unit)


def _alone(container: Container, unit: Unit) -> bool:
    return unit.stands_alone or any(other.stands_alone for other in container.units)


def _home(unit: Unit, pe_of: Mapping[int, int]) -> int | None:
    """The PE that most of its surviving operators run in, the lowest id among equals."""
    counts = Counter(pe_of[index] for index in unit.operators if index in pe_of)
    if not counts:
        return None
    return min(counts, key=lambda pe: (-counts[pe], pe))


def _place_new(
    new: list[Unit],
    fusion: Fusion,
    containers: Mapping[int, Container],
    topology: Topology,
    cohosting: Cohosting,
) -> list[Container]:
    added: list[Container] = []
    everything = list(containers.values())
    pes_max = fusion.pes_max or 0
    for unit in new:
        chosen: Container | None = None
        if fusion.scheme == "manual" and len(everything) >= pes_max:
            chosen = _least_filled(unit, everything, topology)
        if chosen is None:
            chosen = Container(cohosting=cohosting)
            added.append(chosen)
            everything.append(chosen)
        chosen.add(unit)
    return added


def _least_filled(unit: Unit, containers: list[Container], topology: Topology) -> Container | None:
    regions = _regions(unit, topology)
    fitting = [container for container in containers if _joinable(container, unit)]
    if not fitting:
        return None

    def rank(container: Container) -> tuple[bool, int]:
        alike = any(regions & _regions(other, topology) for other in container.units)
        return not alike, container.operators

    return min(fitting, key=rank)


def _regions(unit: Unit, topology: Topology) -> set[int]:
    return {level.region for index in unit.operators for level in topology.operators[index].levels}


# --------------------------------------------------------------------------- automatic


def _place_tiles(
    new: list[Unit],
    containers: Mapping[int, Container],
    topology: Topology,
    share: int,
    cohosting: Cohosting,
) -> list[Container]:
    """New PEs for the tiles that no PE of their region has room for."""
    alone = [Tile([unit], unit.profile, len(unit.operators)) for unit in new if unit.stands_alone]
    tiles = tiles_of((unit for unit in new if not unit.stands_alone), topology, share, cohosting)
    by_region: dict[int, list[Container]] = {}
    for _, container in sorted(containers.items()):
        for region in _common_regions(container.units, topology):
            by_region.setdefault(region, []).append(container)
    added: list[Container] = []
    for tile in sorted((*alone, *tiles), key=lambda each: each.units[0].operators[0]):
        regions = _common_regions(tile.units, topology)
        peers = by_region.setdefault(regions[0], []) if regions else []
        chosen = next((each for each in peers if _has_room(each, tile, share)), None)
        if chosen is None:
            chosen = Container(cohosting=cohosting)
            added.append(chosen)
            peers.append(chosen)
        for unit in tile.units:
            chosen.add(unit)
    return added


def _has_room(container: Container, tile: Tile, share: int) -> bool:
    if container.operators + tile.operators > share:
        return False
    return all(_joinable(container, unit) for unit in tile.units)


def _common_regions(units: list[Unit], topology: Topology) -> list[int]:
    """The regions that all operators are in, innermost first."""
    operators = [topology.operators[index] for unit in units for index in unit.operators]
    regions = [level.region for level in operators[0].levels]
    for operator in operators[1:]:
        inside = {level.region for level in operator.levels}
        regions = [region for region in regions if region in inside]
    return regions
