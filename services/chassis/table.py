"""The table: what a service knows of the cluster, from facts and from its own writes.

An entry is one object's projection. Entries change by facts (through restore and live reading) and
by observations: the response of a write or a GET is itself an observation and enters at once, so a
service reads its own writes; facts with an older resourceVersion are then ignored. Who is woken by
a change is decided by the stage's `keys`; the table only says which entries changed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Ref = tuple[str, str, str]
"""(kind, namespace, name)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One object as last seen; `data` is its projection and must not be changed."""

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

    def of_kind(self, kind: str) -> Iterable[Entry]:
        """Every entry of a kind."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Change:
    """One object's entry before and after; None where there was or is none."""

    old: Entry | None
    new: Entry | None


class Table(TableReading):
    """The whole table; a stage reads it and observes its own writes in it."""

    def observe(
        self,
        kind: str,
        namespace: str,
        name: str,
        *,
        uid: str,
        resource_version: int,
        data: Mapping[str, Any],
    ) -> None:
        """Take in what a response said; wakes the keys it concerns."""
        raise NotImplementedError

    def observe_gone(self, ref: Ref, uid: str) -> None:
        """Take in that the object with this uid does not exist any more."""
        raise NotImplementedError

    def forget(self, ref: Ref) -> None:
        """Drop an entry of a stage's own kind."""
        raise NotImplementedError
