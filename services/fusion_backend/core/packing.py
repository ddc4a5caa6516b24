"""Texts that are much alike, kept small: the AADLs of a plan are hundreds of megabytes at worst.

Each is packed against the first one, which leaves a fraction of it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import TypeVar

Key = TypeVar("Key")
Name = TypeVar("Name")
LIKE_BYTES_MAX = 32 * 1024
"""More than that zlib does not look back."""


class PackedTexts(Mapping[Key, str]):
    """A mapping that packs what it is given, and unpacks what it is asked for."""

    def __init__(self) -> None:
        """Empty."""
        self._like = b""
        self._packed: dict[Key, bytes] = {}

    def put(self, key: Key, text: str) -> None:
        """Keeps a text."""
        data = text.encode()
        self._like = self._like or data[:LIKE_BYTES_MAX]
        packing = zlib.compressobj(1, zdict=self._like)
        self._packed[key] = packing.compress(data) + packing.flush()

    @property
    def packed_bytes(self) -> int:
        """What the texts take."""
        return len(self._like) + sum(map(len, self._packed.values()))

    def found_by(self, keys: Mapping[Name, Key]) -> PackedTexts[Name]:
        """Those of them that these names stand for."""
        found: PackedTexts[Name] = PackedTexts()
        found._like = self._like
        found._packed = {
            name: self._packed[key] for name, key in keys.items() if key in self._packed
        }
        return found

    def __getitem__(self, key: Key) -> str:
        unpacking = zlib.decompressobj(zdict=self._like)
        return (unpacking.decompress(self._packed[key]) + unpacking.flush()).decode()

    def __iter__(self) -> Iterator[Key]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)
