"""The units of channelIsolation: those of a channel share a PE, as far as constraints allow.

They are gathered before PEs are filled, so that no packing and no cutting takes a channel apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.fusion.cohosting import Cohosting
from planner.fusion.constraints import Unit
from planner.fusion.fusing import Container
from planner.fusion.profiles import ChannelPath


def gathered(units: Iterable[Unit], cohosting: Cohosting) -> list[Unit]:
    """One unit for each channel, or as few as there may be; the others as they are."""
    found: list[Container] = []
    channels: dict[ChannelPath, list[Container]] = {}
    for unit in units:
        path, *more = unit.profile.isolated_channels or ((),)
        is_of_one = path and not more and not unit.stands_alone
        pieces = channels.setdefault(path, []) if is_of_one else []
        piece = next((each for each in pieces if each.accepts(unit)), None)
        if piece is None:
            piece = Container(cohosting=cohosting)
            pieces.append(piece)
            found.append(piece)
        piece.add(unit)
    return sorted((as_one(piece.units) for piece in found), key=lambda unit: unit.operators[0])


def as_one(units: Sequence[Unit]) -> Unit:
    """A unit of all of their operators; it does not know its neighbours."""
    first, *others = units
    if not others:
        return first
    profile = first.profile
    for other in others:
        profile = profile.joined(other.profile)
    return Unit(
        operators=tuple(sorted(index for unit in units for index in unit.operators)),
        profile=profile,
        has_source=any(unit.has_source for unit in units),
        has_sink=any(unit.has_sink for unit in units),
        stands_alone=any(unit.stands_alone for unit in units),
        successors={},
        predecessors={},
    )
