"""Which objects are gone, so that late records of them are ignored.

A tombstone stands for a name and a uid: what happened to a uid under another name says nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

TOMBSTONES_MAX = 50_000

Ref = tuple[str, str, str]
"""(kind, namespace, name)."""


@dataclass(slots=True)
class _Tombstone:
    """Versions up to `version` are late (None: every version); `at` is when it was heard."""

    version: int | None
    at: int


class Tombstones:
    """A bounded memory of what is gone."""

    def __init__(self) -> None:
        self._stones: OrderedDict[tuple[Ref, str], _Tombstone] = OrderedDict()

    def bury(self, ref: Ref, uid: str, version: int | None, *, at: int) -> None:
        """Note that an object is gone, in a version or for good."""
        known = self._stones.get((ref, uid))
        if known is None or known.version is not None:
            self._stones[ref, uid] = _Tombstone(version, at)
        self._stones.move_to_end((ref, uid))
        if len(self._stones) > TOMBSTONES_MAX:
            self._stones.popitem(last=False)

    def exhume(self, ref: Ref, uid: str, *, read_at: int) -> None:
        """Forget the end of an object that was read before a GET found it alive."""
        known = self._stones.get((ref, uid))
        if known is not None and known.at <= read_at:
            del self._stones[ref, uid]

    def holds(self, ref: Ref, uid: str, version: int) -> bool:
        """Whether an object of this version is known to be gone."""
        known = self._stones.get((ref, uid))
        return known is not None and (known.version is None or version <= known.version)

    def clear(self) -> None:
        """Forget them all."""
        self._stones.clear()
