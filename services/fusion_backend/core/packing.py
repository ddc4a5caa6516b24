"""Texts that are much alike, kept small: the AADLs of a plan are hundreds of megabytes at worst.

Each is packed against the first one, which leaves a tenth or less of it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import TypeVar

Key = TypeVar("Key")
LIKE_BYTES_MAX = 32 * 1024
"""More than that zlib does not look back."""


class PackedTexts(Mapping[Key, str]):
    """A mapping that packs what it is given, and unpacks what it is asked for."""

    def __init__(self) -> None:
        """Empty."""
        self._like = b""
        self._packed: dict[Key, bytes] = {}

    def put(self, key: Key, text: bytes) -> None:
        """Keeps a text, which is given as UTF-8."""
        self._like = self._like or text[:LIKE_BYTES_MAX]
        packing = zlib.compressobj(1, zdict=self._like)
        self._packed[key] = packing.compress(text) + packing.flush()

    def __getitem__(self, key: Key) -> str:
        unpacking = zlib.decompressobj(zdict=self._like)
        return (unpacking.decompress(self._packed[key]) + unpacking.flush()).decode()

    def __iter__(self) -> Iterator[Key]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)
