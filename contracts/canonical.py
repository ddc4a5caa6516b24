"""One JSON for each frozen value, so that two processes agree on its digest.

Dataclasses and structs of msgspec become objects of their fields, keys are sorted, sets are lists
in the order of their JSON. What is computed from the fields (a cached property) is not part of it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Set
from hashlib import blake2b
from typing import Any, Final

import orjson

from contracts.unreadable import Unreadable

_OPTIONS: Final = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS


def canonical_bytes(value: object) -> bytes:
    """The JSON of a value made of dataclasses, structs, enums, containers and JSON's own types.

    Raises TypeError for anything else.
    """
    return orjson.dumps(value, default=plain, option=_OPTIONS)


class Fingerprint:
    """Stands for a set of values, each under its key, in 64 bits; whatever the order they came in.

    A change costs one hash, whatever the number of values. A value must contain its key: equal
    values cancel each other out.
    """

    def __init__(self) -> None:
        self.value = 0
        self._digests: dict[Hashable, int] = {}

    def put(self, key: Hashable, value: bytes | None) -> None:
        """Let a value stand under a key instead of the one before; None: none does."""
        self.value ^= self._digests.pop(key, 0)
        if value is not None:
            digest = int.from_bytes(blake2b(value, digest_size=8).digest())
            self._digests[key] = digest
            self.value ^= digest


def plain(value: object) -> dict[Any, Any] | list[Any]:
    """What a JSON writer does not know, one level of it; raises TypeError for what has no JSON."""
    for fields in ("__dataclass_fields__", "__struct_fields__"):
        if (names := getattr(value, fields, None)) is not None:
            return {name: getattr(value, name) for name in names}
    match value:
        case Unreadable():
            return {"unreadable": value.why, "parts": value.parts}
        case Mapping():
            return dict(value)
        case tuple():  # a named one
            return list(value)
        case Set():
            return sorted(value, key=canonical_bytes)
    raise TypeError(f"{type(value).__name__} has no canonical JSON")
