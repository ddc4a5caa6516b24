"""A reading of the table that notes which objects were read: those that a snapshot is made of."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from services.chassis.table.entries import Entry, TableReading


class NotedReading(TableReading):
    """Reads a table, and keeps what was read."""

    def __init__(self, table: TableReading) -> None:
        self._table = table
        self.entries: list[Entry] = []

    def get(self, kind: str, namespace: str, name: str) -> Entry | None:
        """The entry of one object."""
        found = self._table.get(kind, namespace, name)
        return self._noted_one(found)

    def by(self, index: str, value: Hashable) -> list[Entry]:
        """Entries under a value of a secondary index, in order of (kind, namespace, name)."""
        found = self._table.by(index, value)
        self.entries += found
        return found

    def count(self, index: str, value: Hashable) -> int:
        """How many entries are under a value of a secondary index; costs nothing."""
        return self._table.count(index, value)

    def of_kind(self, kind: str) -> Iterable[Entry]:
        """Every entry of a kind."""
        found = list(self._table.of_kind(kind))
        self.entries += found
        return found

    def saw_end(self, kind: str, namespace: str, name: str) -> bool:
        """Whether the last object of this name was terminating, and then published as deleted."""
        return self._table.saw_end(kind, namespace, name)

    def was_deleted(self, kind: str, namespace: str, name: str) -> bool:
        """Whether an object of this name does not exist, and a DELETION of one was read."""
        return self._table.was_deleted(kind, namespace, name)

    def last_seen(self, kind: str, namespace: str, name: str) -> Entry | None:
        """The last entry of this name, if its deletion was published or observed (404)."""
        return self._noted_one(self._table.last_seen(kind, namespace, name))

    def last_shown(self, kind: str, namespace: str, name: str) -> Entry | None:
        """As `last_seen`, of an object that a fact showed; own requests alone do not count."""
        return self._noted_one(self._table.last_shown(kind, namespace, name))

    def whole(self, kind: str, namespace: str, name: str) -> Entry | None:
        """The newest entry of the object that could be read whole."""
        return self._noted_one(self._table.whole(kind, namespace, name))

    def _noted_one(self, entry: Entry | None) -> Entry | None:
        if entry is not None:
            self.entries.append(entry)
        return entry
