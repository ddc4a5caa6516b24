"""A plan in numbers and names: what `millrace plan` prints, and what is compared with the original.

`outline` says what a draft holds; `outline_of_resize` what became of one draft in another. Both are
plain JSON. An operator survives if it keeps its number (with `compat` also where it is numbered
again: the original matches operators by what they are), and it is changed by a resize where it
survives and

* is inside of a region that got another width, or
* has another name, since names hold channels, or
* is connected with an operator that is inside: it feeds the region's splitter, or stands behind
  its merger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from planner.drafting import Draft
from planner.graph.topology import Operator, Port
from planner.numbering.records import OperatorKey

Json = dict[str, Any]


def outline(draft: Draft) -> Json:
    """PEs, operators, ports and connections of a draft."""
    topology = draft.topology
    ports = Counter((pe, key.direction) for pe, key in draft.identities.ports)
    return {
        "pes": len(draft.placed),
        "ops": len(topology.operators),
        "operator_connections": topology.connections_count,
        "pe_input_ports": sum(count for (_, side), count in ports.items() if side == "in"),
        "pe_output_ports": sum(count for (_, side), count in ports.items() if side == "out"),
        "static_connections": sum(_static(draft, port) for port in topology.outlets),
        "pe": {
            str(pe): {
                "in": ports[pe, "in"],
                "out": ports[pe, "out"],
                "operators": _indices(topology.operators[index] for index in draft.placed[pe]),
            }
            for pe in sorted(draft.placed)
        },
        "widths": widths_of(draft),
    }


def _static(draft: Draft, port: Port) -> int:
    """The connections of one output port to other PEs; there may be very many in all."""
    pe_of = draft.pe_of
    found = {
        edge for edge in draft.topology.edges_from(port) if pe_of[edge.source] != pe_of[edge.target]
    }
    return len(found)


def widths_of(draft: Draft) -> dict[str, int]:
    """The width of each parallel region, by its name."""
    return {
        region.name: draft.widths.by_region[region.index]
        for region in draft.request.application.regions
    }


def outline_of_resize(before: Draft, after: Draft) -> Json:
    """What a resize did to the operators, and what is there after it."""
    old, new = _by_identity(before), _by_identity(after)
    widths = before.widths.by_region, after.widths.by_region
    beside = regions_beside(after, resized_regions(*widths))
    changed = [
        operator
        for key, operator in new.items()
        if key in old and (operator.index in beside or operator.name != old[key].name)
    ]
    added = [operator for key, operator in new.items() if key not in old]
    removed = [operator for key, operator in old.items() if key not in new]
    return {
        "changed": len(changed),
        "added": len(added),
        "removed": len(removed),
        "changed_ops": _indices(changed),
        "added_ops": _indices(added),
        "removed_ops": _indices(removed),
        "after": outline(after),
    }


def _indices(operators: Iterable[Operator]) -> dict[str, int]:
    return {operator.name: operator.index for operator in operators}


def _by_identity(draft: Draft) -> dict[tuple[OperatorKey, int], Operator]:
    is_compat = draft.request.compat
    return {
        (each.key, -1 if is_compat else each.index): each
        for each in draft.topology.operators.values()
    }


def resized_regions(before: Mapping[int, int], after: Mapping[int, int]) -> frozenset[int]:
    """The regions of the plan after with another width; both map region indices to widths."""
    return frozenset(region for region, width in after.items() if before.get(region) != width)


def regions_beside(draft: Draft, resized: frozenset[int]) -> dict[int, set[int]]:
    """The resized regions that an operator is in, or that a connection of it leads into or out of.

    By the numbers of the operators that have any. A splitter may lead to nobody; who feeds it is
    beside the region all the same.
    """
    inside = {
        index: resized.intersection(level.region for level in operator.levels)
        for index, operator in draft.topology.operators.items()
    }
    found = {index: set(regions) for index, regions in inside.items() if regions}
    if found:
        for edge in draft.topology.edges:
            if across := inside[edge.source] ^ inside[edge.target]:
                found.setdefault(edge.source, set()).update(across)
                found.setdefault(edge.target, set()).update(across)
    for outlet in draft.topology.outlets.values():
        for fan, source in outlet.fans:
            fed = resized.intersection(splitter.region for splitter in fan.splitters)
            if fed:
                found.setdefault(source.operator, set()).update(fed)
    return found
