"""Which units are connected, and by how many connections: what packing and cutting ask for.

Legacy fusion does not, and need not pay for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.fusion.bicliques import Biclique, summed
from planner.fusion.constraints import Unit
from planner.graph.topology import Fan, Topology


def connect(topology: Topology, units: list[Unit]) -> None:
    """Counts the connections between units."""
    owner = {index: unit for unit in units for index in unit.operators}
    fans: dict[Fan, None] = {}
    for (operator, _), outlet in topology.outlets.items():
        for target, _ in outlet.targets:
            _connect(owner[operator], owner[target], 1)
        fans.update((fan, None) for fan, _ in outlet.fans)
    for fan in fans:
        sources = summed((owner[source.operator], 1) for source in fan.sources)
        targets = summed((owner[target], 1) for leg in fan.legs for target, _ in leg.targets)
        if len(sources) > 1 and len(targets) > 1:
            biclique = Biclique(sources, targets)
            for unit in {**sources, **targets}:
                unit.bicliques.append(biclique)
            continue
        for source, count in sources.items():
            for target_unit, other in targets.items():
                _connect(source, target_unit, count * other)


def _connect(source: Unit, target: Unit, count: int) -> None:
    if source is not target:
        source.successors[target] = source.successors.get(target, 0) + count
        target.predecessors[source] = target.predecessors.get(source, 0) + count


def fed(unit: Unit) -> Iterator[tuple[Unit, int]]:
    """Whom a unit feeds, and by how many connections; others may come several times."""
    yield from unit.successors.items()
    for biclique in unit.bicliques:
        yield from biclique.from_end(unit)


def feeding(unit: Unit) -> Iterator[tuple[Unit, int]]:
    """Who feeds a unit, in the same way."""
    yield from unit.predecessors.items()
    for biclique in unit.bicliques:
        yield from biclique.into_end(unit)
