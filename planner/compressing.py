"""Texts that are much alike, compressed: the AADLs of a plan are hundreds of megabytes at worst.

Each is compressed against one that came before, which leaves a fraction of it: the newest text that
was unlike all that came before it. PEs with many ports are unlike those with one.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

Key = TypeVar("Key")
Name = TypeVar("Name")
MODEL_BYTES_MAX = 32 * 1024
"""More than that zlib does not look back."""
MODELS_MAX = 16
ALIKE = 8
"""A text that leaves less than so small a part of itself is like its model."""
_LEVEL = 3
"""Of zlib; levels below it take as long for these texts, and leave more."""


class CompressedTexts(Mapping[Key, str]):
    """A mapping that compresses what it is given, and restores single values."""

    def __init__(self) -> None:
        """Empty."""
        self._bytes_max = 0
        self._models: list[bytes] = []
        self._compressed: dict[Key, bytes] = {}

    @staticmethod
    def of(
        models: Sequence[bytes], compressed: Mapping[Key, bytes], *, bytes_max: int = 0
    ) -> CompressedTexts[Key]:
        """What another one holds; no text of more than `bytes_max`, if any, is ever restored.

        Raises ValueError where models are not as it has them.
        """
        if len(models) > MODELS_MAX or any(len(each) > MODEL_BYTES_MAX for each in models):
            raise ValueError("these are not the models of compressed texts")
        found: CompressedTexts[Key] = CompressedTexts()
        found._models, found._compressed = list(models), dict(compressed)
        found._bytes_max = bytes_max
        return found

    @property
    def models(self) -> Sequence[bytes]:
        """What the texts are compressed against."""
        return self._models

    @property
    def compressed(self) -> Mapping[Key, bytes]:
        """Each text: the number of its model in a byte, then what zlib left of it."""
        return self._compressed

    def put(self, key: Key, data: bytes) -> None:
        """Keeps a text, given in UTF-8."""
        if not self._models:
            self._models.append(data[:MODEL_BYTES_MAX])
        model = len(self._models) - 1
        packing = zlib.compressobj(_LEVEL, zdict=self._models[model])
        left = b"".join((bytes((model,)), packing.compress(data), packing.flush()))
        self._compressed[key] = left
        if len(left) > len(data) // ALIKE and len(self._models) < MODELS_MAX:
            self._models.append(data[:MODEL_BYTES_MAX])

    @property
    def compressed_bytes(self) -> int:
        """What the texts take."""
        return sum(map(len, self._models)) + sum(map(len, self._compressed.values()))

    def found_by(self, keys: Mapping[Name, Key]) -> CompressedTexts[Name]:
        """Those of them that these names stand for."""
        held = self._compressed
        named = {name: held[key] for name, key in keys.items() if key in held}
        return CompressedTexts.of(self._models, named, bytes_max=self._bytes_max)

    def __getitem__(self, key: Key) -> str:
        left = self._compressed[key]
        restoring = zlib.decompressobj(zdict=self._models[left[0]])
        data = restoring.decompress(left[1:], self._bytes_max)
        if not restoring.eof:
            raise ValueError(f"a text of {key!r} has more than {self._bytes_max} bytes")
        return data.decode()

    def __contains__(self, key: object) -> bool:
        return key in self._compressed

    def __iter__(self) -> Iterator[Key]:
        return iter(self._compressed)

    def __len__(self) -> int:
        return len(self._compressed)
