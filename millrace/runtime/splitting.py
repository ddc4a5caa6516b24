"""How tuples are split to the channels of a parallel region, and how keys belong to groups.

Keys are hashed alike in every process and release: CRC-32 of their bytes and Knuth's multiplicative
hashing give a group, and groups are divided among channels in contiguous runs. CRC-32 alone is
linear: keys that differ in their last character alone would come to the same run of groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any, Final, Literal
from zlib import crc32

from millrace.graph import SplitterKind

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


class Splitter:
    """Splits batches of one producer to the channels of one region."""

    def __init__(
        self,
        kind: SplitterKind,
        width: int,
        groups: int,
        key: Callable[[Any], Key] | None = None,
    ) -> None:
        """A splitter to `width` channels; `key` and `groups` are for the kind Hash."""
        self._kind = kind
        self._width = width
        self._key = key
        self._next = 0

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
