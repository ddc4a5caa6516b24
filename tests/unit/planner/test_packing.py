"""Packs of AADLs: what kubelets read, what is kept, and what a resize writes."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import pytest

from planner.numbering.packing import (
    PACK_BYTES_MAX,
    PACK_PES_MAX,
    Content,
    Packed,
    Packing,
    PackPlace,
    packed,
)

KIB = 1024
READS_MAX = 10
KEPT_MAX = 3
OUTSIDE = 4
"""PEs in no channel; the first two are changed by each resize."""

Widths = tuple[int, ...]


def shrinking_slowly(top: int) -> Widths:
    """Up, and down by one channel more each time: the worst for what is kept."""
    return tuple(width for left in range(1, 26) for width in (top, left))


def at_random(seed: int) -> Widths:
    draw = random.Random(seed)
    return tuple(draw.choice((1, 2, 3, 5, 9, 10, 17, 40, 99)) for _ in range(50))


class Life:
    """A job of one region, resized again and again; AADLs have about `size` bytes."""

    def __init__(self, *, size: int, per_channel: int = 1, all_change: bool = False) -> None:
        self.size = size
        self.per_channel = per_channel
        self.all_change = all_change
        self.packing = Packing()
        self.contents: dict[int, str] = {}
        self.places: dict[int, PackPlace] = {}
        self.generation = -1
        self._next = OUTSIDE
        self._of_channel: dict[int, list[int]] = {}

    def resize(self, width: int) -> set[int]:
        """The PEs whose AADL is new or changed."""
        self.generation += 1
        before = dict(self.contents)
        self._give_channels(width)
        pes = [*range(OUTSIDE), *(pe for each in self._of_channel.values() for pe in each)]
        written = {pe for pe in pes if pe not in before or self._is_changed(pe)}
        self.contents = {
            pe: f"{pe} of {self.generation}" if pe in written else before[pe] for pe in pes
        }
        kept = {pe: self.packing.of_pe[pe] for pe in pes if pe not in written}
        contents = [self._content(pe, is_new=pe not in before) for pe in written]
        random.Random(width).shuffle(contents)
        self.packing = packed("job", contents, kept, self._places(kept), self.packing.packs)
        return written

    def _is_changed(self, pe: int) -> bool:
        return self.all_change or pe < 2

    def _give_channels(self, width: int) -> None:
        for channel in [each for each in self._of_channel if each >= width]:
            del self._of_channel[channel]
        for channel in range(len(self._of_channel), width):
            new = list(range(self._next, self._next + self.per_channel))
            self._next += self.per_channel
            self._of_channel[channel] = new
            self.places |= dict.fromkeys(new, PackPlace(0, channel))

    def _places(self, pes: Iterable[int]) -> dict[int, PackPlace]:
        return {pe: self.places.get(pe, PackPlace()) for pe in pes}

    def _content(self, pe: int, *, is_new: bool) -> Content:
        size = self.size + pe % 7 * (self.size // 20)
        place = self.places.get(pe, PackPlace())
        return Content(pe, self.contents[pe], size, place, is_new)


def used(packing: Packing) -> int:
    """Bytes of the AADLs that PEs name: what kubelets read with a ConfigMap for each PE."""
    return sum(each.size for each in packing.of_pe.values())


def read(packing: Packing) -> int:
    """Bytes that kubelets read: for each pod the whole pack."""
    return sum(packing.packs[each.config_map] for each in packing.of_pe.values())


def names(packing: Packing) -> Mapping[int, str]:
    return {pe: each.config_map for pe, each in packing.of_pe.items()}


def lives(all_change: bool) -> Iterator[Life]:
    for size in (700, 2 * KIB, 6 * KIB, 30 * KIB, 200 * KIB):
        for per_channel in (1, 3):
            yield Life(size=size, per_channel=per_channel, all_change=all_change)


@pytest.mark.parametrize("all_change", [False, True])
@pytest.mark.parametrize(
    "widths", [shrinking_slowly(26), shrinking_slowly(100), at_random(1), at_random(2)]
)
def test_after_fifty_resizes_little_is_kept_and_little_is_read(
    widths: Widths, all_change: bool
) -> None:
    for life in lives(all_change):
        for width in widths:
            life.resize(width)
            assert sum(life.packing.packs.values()) <= KEPT_MAX * used(life.packing)
            assert read(life.packing) <= READS_MAX * used(life.packing)


@pytest.mark.parametrize("width", [1, 2, 10, 96, 500, 3000])
def test_packs_are_at_most_so_large_and_nearly_as_few_as_can_be(width: int) -> None:
    life = Life(size=2 * KIB)
    life.resize(width)
    packs = life.packing.packs
    assert max(packs.values()) <= PACK_BYTES_MAX
    assert set(packs) == set(names(life.packing).values())
    assert read(life.packing) <= READS_MAX * used(life.packing)
    assert len(packs) <= (width + OUTSIDE) / PACK_PES_MAX + 5


def test_a_resize_by_one_moves_nobody_and_writes_what_changed_only() -> None:
    life = Life(size=2 * KIB, per_channel=2)
    life.resize(50)
    before, packs = life.packing, set(life.packing.packs)
    written = life.resize(51)
    assert len(written) == 4
    after = life.packing
    assert all(after.of_pe[pe] == before.of_pe[pe] for pe in after.of_pe if pe not in written)
    new = set(after.packs) - packs
    assert {after.of_pe[pe].config_map for pe in written} == new
    assert len(new) == 2, "what changed, and the new channel"


def test_the_pes_of_one_channel_are_in_one_pack() -> None:
    life = Life(size=1 * KIB, per_channel=3)
    life.resize(30)
    by_channel: dict[int, set[str]] = {}
    for pe, place in life.places.items():
        by_channel.setdefault(place.channel, set()).add(names(life.packing)[pe])
    assert all(len(packs) == 1 for packs in by_channel.values())


def test_an_aadl_that_is_larger_than_a_pack_has_one_of_its_own() -> None:
    small, large = 1 * KIB, PACK_BYTES_MAX + 1
    contents = [
        Content(pe, f"c{pe}", large if pe == 1 else small, PackPlace(), is_new=True)
        for pe in range(3)
    ]
    found = packed("job", contents, {}, {}, {})
    of_large = found.of_pe[1].config_map
    assert [pe for pe, name in names(found).items() if name == of_large] == [1]
    assert found.packs[of_large] == large


def test_a_small_aadl_outside_of_channels_shares_no_pack_with_a_large_one() -> None:
    """The large ones change with each resize: what stays would keep their bytes."""
    sizes = (3 * KIB, 60 * KIB, 4 * KIB, 16 * KIB, 3 * KIB)
    outside = [
        Content(pe, f"c{pe}", size, PackPlace(), is_new=True) for pe, size in enumerate(sizes)
    ]
    channels = [
        Content(pe, f"c{pe}", 4 * KIB, PackPlace(0, pe), is_new=True) for pe in range(5, 90)
    ]
    first = packed("job", [*outside, *channels], {}, {}, {})
    by_pack: dict[str, set[int]] = {}
    for pe in range(len(sizes)):
        by_pack.setdefault(names(first)[pe], set()).add(pe)
    assert sorted(map(sorted, by_pack.values())) == [[0, 2, 4], [1], [3]]

    kept = {pe: first.of_pe[pe] for pe in (0, 4)}
    changed = [
        replace(each, content_id=f"{each.content_id} again", is_new=False)
        for each in (*outside, *channels)
        if each.pe not in kept
    ]
    resized = packed("job", changed, kept, dict.fromkeys(kept, PackPlace()), first.packs)
    assert len(set(resized.packs) - set(first.packs)) <= len(first.packs)


@pytest.mark.parametrize("kept", range(1, 10))
def test_what_stays_outside_of_channels_makes_no_small_packs_of_channels(kept: int) -> None:
    outside = [Content(pe, f"c{pe}", KIB, PackPlace(), is_new=True) for pe in range(10)]
    channels = [Content(pe, f"c{pe}", KIB, PackPlace(0, pe), is_new=True) for pe in range(10, 110)]
    first = packed("job", [*outside, *channels], {}, {}, {})
    stays = {pe: first.of_pe[pe] for pe in range(kept)}
    changed = [
        replace(each, content_id=f"{each.content_id} again", is_new=False)
        for each in (*outside, *channels)
        if each.pe not in stays
    ]
    resized = packed("job", changed, stays, dict.fromkeys(stays, PackPlace()), first.packs)
    of_channels = {resized.of_pe[each.pe].config_map for each in channels}
    assert len(of_channels) == len({first.of_pe[each.pe].config_map for each in channels})


def test_equal_contents_give_equal_packs_in_whatever_order_they_come() -> None:
    contents = [Content(pe, f"c{pe}", KIB, PackPlace(), is_new=True) for pe in range(9)]
    shuffled = random.Random(1).sample(contents, k=len(contents))
    assert packed("job", contents, {}, {}, {}) == packed("job", shuffled, {}, {}, {})
    other = [*contents[:-1], Content(8, "other", KIB, PackPlace(), is_new=True)]
    assert not set(packed("job", contents, {}, {}, {}).packs) & set(
        packed("job", other, {}, {}, {}).packs
    )


def test_what_a_release_without_packs_made_stays_as_it_is_and_counts_for_nothing() -> None:
    own = {pe: Packed(f"job-{pe}-0123456789", "", 0) for pe in range(20)}
    new = Content(20, "c20", KIB, PackPlace(), is_new=True)
    found = packed("job", [new], own, dict.fromkeys(own, PackPlace()), {})
    assert {pe: found.of_pe[pe] for pe in own} == own
    assert list(found.packs.values()) == [KIB]
