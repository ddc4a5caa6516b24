"""Which ConfigMap holds the AADL of each PE: packs, of PEs that come, change and go together.

1. A PE whose content is as before keeps its pack and its key: a resize moves nobody, so it writes
   packs for what is new or changed only.
2. The others are put in order: what changed apart from what is new, since it changes again; then by
   the channel of the outermost region, then by PE.
3. A pack takes whole channels, one after the other, as long as they fit: `PACK_BYTES_MAX`,
   `PACK_PES_MAX`, and after *n* channels of the region at most 2 *n* + 2 of them. A larger AADL has
   a pack of its own.
4. PEs outside of channels are packed by size, none with one of more than `ALIKE_MAX` times its
   bytes. The large ones name every channel of a region and change with each resize; a small one
   that stays must not keep their bytes.

Properties, whatever resizes came before: each pod's kubelet reads its whole pack, all together at
most `PACK_PES_MAX` times the bytes of the AADLs (as long as those of a pack are much alike). Of a
region that shrinks, the packs of a plan hold less than 3 times the channels that are left. Where
packs hold more than `KEPT_MAX` times the bytes in use up to a channel, each new AADL has a pack of
its own from there on: nothing in it can become useless.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from typing import NamedTuple

from contracts.labels import pack_key, pack_name

PACK_BYTES_MAX = 64 * 1024
"""Of AADLs in one pack, unless it is one alone."""
PACK_PES_MAX = 10
"""So many times the bytes of its own AADL a kubelet reads for a pod."""
KEPT_MAX = 1.5
"""As long as packs hold more than so many times the bytes in use, they get one AADL each."""
ALIKE_MAX = 2
"""So many times the bytes of the smallest AADL of a pack has the largest, outside of channels."""


class PackPlace(NamedTuple):
    """Where a PE is among the channels of outermost regions; (-1, -1) outside of one channel."""

    region: int = -1
    channel: int = -1


OUTSIDE = PackPlace()


class Packed(NamedTuple):
    """The ConfigMap and key of an AADL, and its bytes; a release without packs wrote no key."""

    config_map: str
    key: str
    size: int


@dataclass(frozen=True, slots=True)
class Content:
    """The AADL of one PE: `size` in bytes; `is_new`: the PE was in no plan before."""

    pe: int
    content_id: str
    size: int
    place: PackPlace
    is_new: bool

    @property
    def order(self) -> tuple[bool, PackPlace, int, int]:
        """Rules 2 and 4."""
        is_outside = self.place == OUTSIDE
        return self.is_new, self.place, self.size if is_outside else 0, self.pe


@dataclass(frozen=True, slots=True)
class Packing:
    """Where the AADLs of a plan are, by PE, and the bytes of each pack that holds some."""

    of_pe: Mapping[int, Packed] = field(default_factory=dict)
    packs: Mapping[str, int] = field(default_factory=dict)


def packed(
    job: str,
    contents: Iterable[Content],
    kept: Mapping[int, Packed],
    places: Mapping[int, PackPlace],
    packs: Mapping[str, int],
) -> Packing:
    """The packs of a plan: `contents` are new or changed, `kept` is where the others are.

    `places` are those of the PEs that are kept, `packs` the bytes of the packs of the plan before.
    """
    of_pe = dict(kept)
    sizes = {each.config_map: packs[each.config_map] for each in kept.values() if each.key}
    queue = sorted(contents, key=lambda each: each.order)
    waste = _Waste(queue, kept, places, sizes)
    for members in _divided(queue, waste):
        name = pack_name(job, _digest(members))
        sizes[name] = sum(each.size for each in members)
        for each in members:
            of_pe[each.pe] = Packed(name, pack_key(each.pe), each.size)
    return Packing(of_pe, sizes)


class _Waste:
    """How much more than the bytes in use packs hold, up to each place.

    What would be left if the region shrank to there, that is: of a wide region it says little how
    much is wasted in all. Packs of PEs outside of channels count for these alone: small packs of
    channels would not make up for what they waste.
    """

    def __init__(
        self,
        queue: Iterable[Content],
        kept: Mapping[int, Packed],
        places: Mapping[int, PackPlace],
        sizes: Mapping[str, int],
    ) -> None:
        left = dict(sizes)
        rows = [(each.place, each.size, each.size) for each in queue]
        for pe in sorted(kept, key=lambda pe: (places[pe], pe)):
            if kept[pe].key:
                held = left.pop(kept[pe].config_map, 0)
                rows.append((places[pe], kept[pe].size, held))
        rows.sort(key=lambda row: row[0])
        self._places = [place for place, _, _ in rows]
        self._used = list(accumulate((size for _, size, _ in rows), initial=0))
        self._held = list(accumulate((held for _, _, held in rows), initial=0))

    def pes_max(self, place: PackPlace) -> int:
        """How many PEs a pack takes that begins there."""
        held, used = self._sums(place)
        if place != OUTSIDE:
            held_outside, used_outside = self._sums(OUTSIDE)
            held, used = held - held_outside, used - used_outside
        return 1 if held > KEPT_MAX * used else PACK_PES_MAX

    def _sums(self, place: PackPlace) -> tuple[int, int]:
        """The bytes that packs hold, and those in use, up to a place."""
        count = bisect_right(self._places, place)
        return self._held[count], self._used[count]


def _divided(queue: Sequence[Content], waste: _Waste) -> Iterator[Sequence[Content]]:
    """The members of each pack."""
    pack: list[Content] = []
    for channel in _channels(queue):
        pes_max = waste.pes_max(channel[0].place)
        if pack and not _takes(pack, channel, pes_max):
            yield pack
            pack = []
        for each in channel:  # one channel may be more than a pack
            if pack and not _fits((*pack, each), pes_max):
                yield pack
                pack = []
            pack.append(each)
    if pack:
        yield pack


def _channels(queue: Sequence[Content]) -> Iterator[Sequence[Content]]:
    for _, members in groupby(queue, key=lambda each: (each.is_new, each.place)):
        yield tuple(members)


def _takes(pack: Sequence[Content], channel: Sequence[Content], pes_max: int) -> bool:
    """Whether a pack takes a channel more: one of its own kind, and not too far from its first."""
    first, next_ = pack[0], channel[0]
    if (first.is_new, first.place.region) != (next_.is_new, next_.place.region):
        return False
    is_near = next_.place.channel < 3 * first.place.channel + 2
    return is_near and _fits((*pack, *channel), pes_max)


def _fits(members: Sequence[Content], pes_max: int) -> bool:
    size = sum(each.size for each in members)
    is_alike = members[0].place != OUTSIDE or members[-1].size <= ALIKE_MAX * members[0].size
    return len(members) <= pes_max and size <= PACK_BYTES_MAX and is_alike


def _digest(members: Iterable[Content]) -> str:
    """SHA-256 of what a pack holds: its keys, and the content id of each."""
    lines = (f"{pack_key(each.pe)} {each.content_id}\n" for each in members)
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()
