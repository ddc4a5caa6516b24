"""What a table holds and how stages read it: an entry is one object as it was last seen.

Who changes it, and which of two publications is newer: `table.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contracts.unreadable import Unreadable
from services.chassis.table.tombstones import Ref


@dataclass(frozen=True, slots=True)
class Entry:
    """One object as last seen; `data` is its projection, or an `Unreadable`; never change it."""

    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: int
    data: Mapping[str, Any]

    @property
    def ref(self) -> Ref:
        """(kind, namespace, name)."""
        return (self.kind, self.namespace, self.name)

    @property
    def unreadable(self) -> str:
        """Why the object cannot be read whole; empty for every other."""
        # No isinstance: that of an abstract class costs as much as a small comparison.
        return self.data.why if type(self.data) is Unreadable else ""


def is_deleting(entry: Entry) -> bool:
    """Whether the object has a deletion timestamp; not every projection carries metadata."""
    return (entry.data.get("metadata") or {}).get("deletionTimestamp") is not None


def label(entry: Entry, key: str) -> str:
    """A label of the object, or nothing."""
    return str(entry.data["metadata"]["labels"].get(key, ""))


def annotation(entry: Entry, key: str) -> str:
    """An annotation of the object, or nothing."""
    return str(entry.data["metadata"]["annotations"].get(key, ""))


Index = Callable[[Entry], Iterable[Hashable]]
"""The values under which an entry is found in one secondary index."""


class TableReading:
    """The read side of the table that stages see (implemented by `Table`)."""

    def get(self, kind: str, namespace: str, name: str) -> Entry | None:
        """The entry of one object."""
        raise NotImplementedError

    def by(self, index: str, value: Hashable) -> list[Entry]:
        """Entries under a value of a secondary index, in order of (kind, namespace, name)."""
        raise NotImplementedError

    def count(self, index: str, value: Hashable) -> int:
        """How many entries are under a value of a secondary index; costs nothing."""
        raise NotImplementedError

    def of_kind(self, kind: str) -> Iterable[Entry]:
        """Every entry of a kind."""
        raise NotImplementedError

    def saw_end(self, kind: str, namespace: str, name: str) -> bool:
        """Whether the last object of this name was terminating, and then published as deleted."""
        raise NotImplementedError

    def was_deleted(self, kind: str, namespace: str, name: str) -> bool:
        """Whether an object of this name does not exist, and a DELETION of one was read."""
        raise NotImplementedError

    def last_seen(self, kind: str, namespace: str, name: str) -> Entry | None:
        """The last entry of this name, if its deletion was published or observed (404)."""
        raise NotImplementedError

    def last_shown(self, kind: str, namespace: str, name: str) -> Entry | None:
        """As `last_seen`, of an object that a fact showed; own requests alone do not count."""
        raise NotImplementedError

    def whole(self, kind: str, namespace: str, name: str) -> Entry | None:
        """The newest entry of the object that could be read whole."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Change:
    """One object's entry before and after; None if it did or does not exist."""

    old: Entry | None
    new: Entry | None

    @property
    def entries(self) -> Sequence[Entry]:
        """What there is of both, the older one first."""
        return [each for each in (self.old, self.new) if each is not None]

    @property
    def kind(self) -> str:
        """The kind of the object."""
        return self.entries[0].kind

    def shows(self, projection: Callable[[Entry], object]) -> bool:
        """Whether a projection of the object differs, as that of another object always does.

        Raises what the projection raises.
        """
        old, new = self.old, self.new
        if old is None or new is None or old.uid != new.uid:
            return True
        return bool(projection(old) != projection(new))
