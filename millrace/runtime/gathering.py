"""Which seals of a hand-over a launch reads: its own first, then others as it needs them.

1. A state says which instances of operators its PE had, and so how wide their regions were.
2. An instance needs what the same channel of it saved. One that keeps whole groups of keys needs
   what the channels saved that had these groups; one that keeps a part of groups, what all saved.
3. While something that it needs is not found, the seal is read that most likely has it: PEs have
   their ids in the order of channels. A wrong guess costs a read.

Property: what is not found is in no seal. So a damaged one stops only those that need it.

Where a PE of the hand-over is gone, a state may also have tuples that were kept: for an instance
whose place this PE takes, or, if the one that is gone kept them, for one that it has. A damaged
state is needed as well then, as nobody can count what it kept.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from millrace.graph import Graph, Operator
from millrace.runtime.assembling import whole_groups_of
from millrace.runtime.reading import Description, Instance
from millrace.runtime.splitting import channel_of
from millrace.runtime.state_names import StateName
from millrace.runtime.states import Channels, SavedPe, numbers_of
from millrace.state import KEY_GROUPS

Numbers = tuple[int, ...]
"""The channels of one instance, innermost region first; () outside of regions."""


@dataclass(frozen=True, slots=True)
class Need:
    """An instance that a launch has. `keeps`: its own channel, whole groups of keys, or any key."""

    path: str
    channels: Channels
    keeps: Literal["channel", "groups", "keys"]

    def sources(self, widths: Sequence[int]) -> set[Numbers]:
        """The channels whose states it needs, if the regions were so wide."""
        if self.keeps == "keys":
            return set(product(*map(range, widths)))
        if self.keeps == "groups":
            [(channel, width)], [before] = self.channels, widths
            groups = (e for e in range(KEY_GROUPS) if channel_of(e, width, KEY_GROUPS) == channel)
            return {(channel_of(each, before, KEY_GROUPS),) for each in groups}
        own = numbers_of(self.channels)
        return {own} if all(map(int.__lt__, own, widths)) else set()


def needs_of(description: Description, graph: Graph) -> tuple[Need, ...]:
    """What the instances of a PE need; those that the application does not have, nothing."""
    operators = {graph.path(each): each for each in graph.running}
    there = [each for each in description.operators if each.path in operators]
    return tuple(_need(each, operators[each.path]) for each in there)


def _need(instance: Instance, operator: Operator) -> Need:
    keeps: Literal["channel", "groups", "keys"] = "channel"
    if operator.has_state and operator.key and operator.follows_width and operator.regions:
        keeps = "groups" if whole_groups_of(instance, operator) else "keys"
    return Need(instance.path, tuple(instance.channels.values()), keeps)


async def gathered(
    read: Callable[[StateName], Awaitable[SavedPe]],
    seals: Sequence[StateName],
    pe: int,
    needs: Sequence[Need],
) -> tuple[SavedPe, ...]:
    """The seals that a PE needs, in the order of PEs, and its own. Raises what `read` raises."""
    left = {each.pe: each for each in seals}
    found: list[SavedPe] = []
    if pe in left:
        found.append(await read(left.pop(pe)))
    while left and (missing := missing_of(needs, found)):
        found.append(await read(left.pop(_likeliest(missing[0], found, left.keys()))))
    return tuple(sorted(found, key=lambda each: each.pe))


def missing_of(needs: Sequence[Need], found: Sequence[SavedPe]) -> list[tuple[str, Numbers]]:
    """The instances whose states are needed and not found; the channels are () if any may be."""
    missing: list[tuple[str, Numbers]] = []
    for need in needs:
        known = list(_known(need.path, found))
        if not known:
            missing.append((need.path, ()))
            continue
        there = {numbers_of(each) for _, each in known}
        wanted = need.sources([width for _, width in known[0][1]])
        missing += [(need.path, each) for each in sorted(wanted - there)]
    return missing


def may_have_kept(needs: Sequence[Need], seals: Sequence[SavedPe], gone: int | None = None) -> bool:
    """Whether a PE that sealed may have kept tuples that come to these instances, or one `gone`.

    `seals`: those that are whole. A PE that sealed has positions of all that it takes.
    """
    return any(_may_have_kept(each, seals, gone) for each in needs)


def _may_have_kept(need: Need, seals: Sequence[SavedPe], gone: int | None) -> bool:
    known = [each for _, each in _known(need.path, seals)]
    if not known:
        return True
    own, before = numbers_of(need.channels), [width for _, width in known[0]]
    is_as_wide = before == [width for _, width in need.channels]
    sources = {own} if is_as_wide else set(product(*map(range, before)))
    if sources - {numbers_of(each) for each in known}:
        return True
    fed = [each for each in seals if any(spot.origin.pe == gone for spot in each.positions)]
    return any(numbers_of(each) in sources for _, each in _known(need.path, fed))


def _known(path: str, found: Sequence[SavedPe]) -> Iterator[tuple[int, Channels]]:
    """The instances of an operator, each with its PE."""
    for state in found:
        for each in (state.instances or {}).get(path, ()):
            yield state.pe, each


def _likeliest(wanted: tuple[str, Numbers], found: Sequence[SavedPe], left: Iterable[int]) -> int:
    """The PE that most likely has an instance, by those that are known to have others."""
    path, channels = wanted
    known = sorted((_rank(each), pe) for pe, each in _known(path, found))
    if not known or not channels:
        return min(left)
    widths = [width for _, width in next(_known(path, found))[1]]
    rank = _rank(tuple(zip(channels, widths, strict=True)))
    known.sort(key=lambda each: abs(each[0] - rank))
    (near, pe), slope = known[0], 1.0
    if len(known) > 1 and known[1][0] != near:
        slope = (known[1][1] - pe) / (known[1][0] - near)
    guess = pe + slope * (rank - near)
    return min(left, key=lambda each: (abs(each - guess), each))


def _rank(channels: Sequence[tuple[int, int]]) -> int:
    """The place of an instance among all of its operator."""
    rank = 0
    for channel, width in channels:
        rank = rank * width + channel
    return rank
