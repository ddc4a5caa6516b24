"""Secondary indexes: entries under values, in order of their refs. Who is newer: `table.py`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from contracts.unreadable import ObjectUnreadable


class HasRef(Protocol):
    """What can be indexed."""

    @property
    def ref(self) -> tuple[str, str, str]:
        """(kind, namespace, name)."""
        ...


T = TypeVar("T", bound=HasRef)

Values = Callable[[Any], Iterable[Hashable]]

Places = Sequence[tuple[str, Hashable]]
"""Index and value, for each place of an entry."""


@dataclass(frozen=True, slots=True)
class KindIndex:
    """An index of entries of one kind, which does not see the others."""

    kind: str
    values: Values

    def __call__(self, entry: HasRef) -> Iterable[Hashable]:
        """The values of an entry of the kind."""
        return self.values(entry)


def _values(index: Values, entry: Any) -> Iterable[Hashable]:
    """The values of an entry in an index; none where the index asks for what cannot be read.

    Raises TypeError for one that cannot be hashed, before anything is put anywhere.
    """
    try:
        return dict.fromkeys(index(entry))
    except ObjectUnreadable:
        return ()


class Bucket(Generic[T]):
    """The entries under one value; sorted when somebody looks, not at every change."""

    __slots__ = ("entries", "ordered", "place")

    def __init__(self, place: tuple[str, Hashable]) -> None:
        self.place = place
        self.entries: dict[tuple[str, str, str], T] = {}
        self.ordered: list[T] | None = None


class Indexed(Generic[T]):
    """Entries by the values of several indexes.

    Who puts an entry keeps its buckets, to take it out again: values are computed once.
    """

    def __init__(self, indexes: Mapping[str, Values]) -> None:
        self._indexes = dict(indexes)
        self._of_kind: dict[str, Sequence[tuple[str, Values]]] = {}
        self._buckets: dict[str, dict[Hashable, Bucket[T]]] = {name: {} for name in indexes}

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
        kind = entry.ref[0]
        indexes = self._of_kind.get(kind)
        if indexes is None:
            indexes = self._of_kind[kind] = [
                (name, index)
                for name, index in self._indexes.items()
                if not isinstance(index, KindIndex) or index.kind == kind
            ]
        return [(name, value) for name, index in indexes for value in _values(index, entry)]

    def put(self, entry: T, places: Places) -> Sequence[Bucket[T]]:
        """Add an entry under its places; returns the buckets that it is in now."""
        ref, found = entry.ref, []
        for place in places:
            name, value = place
            buckets = self._buckets[name]
            bucket = buckets.get(value)
            if bucket is None:
                bucket = buckets[value] = Bucket(place)
            bucket.entries[ref] = entry
            bucket.ordered = None
            found.append(bucket)
        return tuple(found)

    def replace(
        self, entry: T, places: Places, buckets: Sequence[Bucket[T]]
    ) -> Sequence[Bucket[T]]:
        """Put an entry in the place of the one with the same ref, which is in these buckets."""
        if [bucket.place for bucket in buckets] != places:
            self.drop(entry.ref, buckets)
            return self.put(entry, places)
        ref = entry.ref
        for bucket in buckets:
            bucket.entries[ref] = entry
            bucket.ordered = None
        return buckets

    def drop(self, ref: tuple[str, str, str], buckets: Iterable[Bucket[T]]) -> None:
        """Take the entry of a ref out of the buckets that it is in."""
        for bucket in buckets:
            bucket.entries.pop(ref, None)
            bucket.ordered = None
            if not bucket.entries:
                name, value = bucket.place
                del self._buckets[name][value]
