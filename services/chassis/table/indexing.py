"""Secondary indexes: entries under values, in order of their refs. Who is newer: `table.py`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from contracts.unreadable import ObjectUnreadable


class HasRef(Protocol):
    """What can be indexed."""

    @property
    def ref(self) -> tuple[str, str, str]:
        """(kind, namespace, name)."""
        ...


T = TypeVar("T", bound=HasRef)

Places = Sequence[tuple[str, Hashable]]
"""Index and value, for each place of an entry."""


def _values(index: Callable[[Any], Iterable[Hashable]], entry: Any) -> list[Hashable]:
    """The values of an entry in an index; none where the index asks for what cannot be read.

    Raises TypeError for one that cannot be hashed, before anything is put anywhere.
    """
    try:
        return list(dict.fromkeys(index(entry)))
    except ObjectUnreadable:
        return []


class _Bucket(Generic[T]):
    """The entries under one value; sorted when somebody looks, not at every change."""

    __slots__ = ("entries", "ordered")

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str, str], T] = {}
        self.ordered: list[T] | None = None


class Indexed(Generic[T]):
    """Entries by the values of several indexes."""

    def __init__(self, indexes: Mapping[str, Callable[[Any], Iterable[Hashable]]]) -> None:
        self._indexes = dict(indexes)
        self._buckets: dict[str, dict[Hashable, _Bucket[T]]] = {name: {} for name in indexes}

    def find(self, index: str, value: Hashable) -> list[T]:
        """Entries under a value, in order of their refs; KeyError for an unknown index."""
        bucket = self._buckets[index].get(value)
        if bucket is None:
            return []
        if bucket.ordered is None:
            bucket.ordered = [bucket.entries[ref] for ref in sorted(bucket.entries)]
        return list(bucket.ordered)

    def count(self, index: str, value: Hashable) -> int:
        """How many entries are under a value; KeyError for an unknown index."""
        bucket = self._buckets[index].get(value)
        return len(bucket.entries) if bucket else 0

    def places_of(self, entry: T) -> Places:
        """Where an entry is to be put; whatever an index raises changes nothing."""
        return [
            (name, value)
            for name, index in self._indexes.items()
            for value in _values(index, entry)
        ]

    def put(self, entry: T, places: Places) -> None:
        """Add an entry under its places."""
        for name, value in places:
            bucket = self._buckets[name].setdefault(value, _Bucket())
            bucket.entries[entry.ref] = entry
            bucket.ordered = None

    def drop(self, entry: T) -> None:
        """Take out an entry as it was put in."""
        for name, index in self._indexes.items():
            buckets = self._buckets[name]
            for value in _values(index, entry):
                bucket = buckets.get(value)
                if bucket is None:
                    continue
                bucket.entries.pop(entry.ref, None)
                bucket.ordered = None
                if not bucket.entries:
                    del buckets[value]
