"""How tuples are split to the channels of a parallel region, and how keys belong to groups.

Keys are hashed alike in every process and release: CRC-32 of their bytes and Knuth's multiplicative
hashing give a group, and groups are divided among channels in contiguous runs. CRC-32 alone is
linear: keys that differ in their last character alone would come to the same run of groups.

Without a key channels take turns, of each producer apart. Each producer begins at a channel of its
own, or the few tuples of many producers would all go to the first channels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any, Final, Literal
from zlib import crc32

from millrace.graph import Entry, Graph, Operator, SplitterKind

ROUTES_KEPT: Final = 65_536
_GOLDEN: Final = 0x9E37_79B1
"""A prime near 2^32 divided by the golden ratio (Knuth: The Art of Computer Programming, 6.4)."""
_MASK: Final = 0xFFFF_FFFF
Key = Any
"""The value of the key's attribute, or a tuple of the values of several."""


def key_reader(key: tuple[str, ...], access: Literal["attribute", "item"]) -> Callable[[Any], Key]:
    """A function that takes the key of a tuple."""
    return attrgetter(*key) if access == "attribute" else itemgetter(*key)


def key_bytes(key: Key) -> bytes:
    """The bytes of a key; keys that are equal in Python have equal ones."""
    if isinstance(key, str):
        return key.encode("utf-8", "surrogatepass")
    if isinstance(key, int):  # True is 1, as in a dict
        return b"%d" % key
    if isinstance(key, bytes):
        return key
    if isinstance(key, tuple):
        parts = [key_bytes(each) for each in key]
        return b"".join(b"%d:%b" % (len(part), part) for part in parts)
    raise TypeError(f"a key is str, int, bool or bytes, and not {type(key).__name__}")


def group_of(key: Key, groups: int) -> int:
    """The group that a key belongs to, from 0."""
    return (crc32(key_bytes(key)) * _GOLDEN & _MASK) * groups >> 32


def channel_of(group: int, width: int, groups: int) -> int:
    """The channel that has a group at this width, from 0."""
    return group * width // groups


def turn_of(graph: Graph, producer: Operator, channel: tuple[int, int]) -> int:
    """The number of a producer among those that feed the same region, from 0.

    `channel`: which instance of its operator it is, of how many; others are taken to have as many.
    """
    index, count = channel
    for region in graph.regions:
        if region.entry is not None:
            feeding = list(_feeding(region.entry))
            if producer in feeding:
                return feeding.index(producer) * count + index
    return index


def _feeding(entry: Entry) -> Iterator[Operator]:
    for source in entry.sources:
        if isinstance(source, Operator):
            yield source
        else:
            yield from _feeding(source)


def inner_turn(turn: int, kind: SplitterKind, width: int) -> int:
    """The turn of a producer at a region that is right inside of another of this width.

    Producers that begin at one channel of the outer region begin at different inner ones.
    """
    return turn // width if kind == "RoundRobin" else turn


class Splitter:
    """Splits batches of one producer to the channels of one region."""

    def __init__(
        self,
        kind: SplitterKind,
        width: int,
        groups: int,
        key: Callable[[Any], Key] | None = None,
        *,
        turn: int = 0,
    ) -> None:
        """A splitter to `width` channels; `key` and `groups` are for the kind Hash.

        `turn`: the first tuple of the kind RoundRobin goes to this channel, modulo the width.
        """
        self._kind = kind
        self._width = width
        self._key = key
        self._next = turn % width

        @lru_cache(maxsize=ROUTES_KEPT)
        def route(key: Key) -> int:
            return channel_of(group_of(key, groups), width, groups)

        self._route = route

    def split(self, batch: Sequence[Any]) -> list[Sequence[Any]]:
        """The tuples of a batch for each channel; the order within a channel stays."""
        if self._kind == "Broadcast":
            return [batch] * self._width
        if self._kind == "Hash":
            return self._hashed(batch)
        width, first = self._width, self._next
        self._next = (first + len(batch)) % width
        return [batch[(channel - first) % width :: width] for channel in range(width)]

    def _hashed(self, batch: Sequence[Any]) -> list[Sequence[Any]]:
        assert self._key is not None
        parts: list[list[Any]] = [[] for _ in range(self._width)]
        key, route = self._key, self._route
        for item in batch:
            parts[route(key(item))].append(item)
        return list(parts)
