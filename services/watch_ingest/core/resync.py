"""Lists against what was published: full lists, comparisons, and which resync is complete.

A full list says everything that exists, in a new epoch. A comparison says only what differs from
what was published. Both are read page by page; what no page showed is gone. Several sources (one
for each namespace) may feed one kind: the kind's list is complete when the lists of all its sources
are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from contracts.facts import WATCHED, Epoch, WatchedKind
from services.watch_ingest.core.publishing import (
    Ledger,
    Obj,
    Publication,
    Ref,
    digest_of,
    facts_of_deletion,
    facts_of_object,
)


@dataclass(frozen=True, slots=True)
class Source:
    """One list-watch: a watched resource in one namespace, or in all (None)."""

    watched: WatchedKind
    namespace: str | None

    @property
    def name(self) -> str:
        """The source's name, for logs and metrics."""
        return f"{self.watched.plural}/{self.namespace or '*'}"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of facts that it feeds."""
        return tuple(projection.kind for projection in self.watched.projections)


def sources_in(namespaces: tuple[str, ...]) -> tuple[Source, ...]:
    """Every source where kinds are watched: everywhere, or in the namespaces that are named."""
    return tuple(
        Source(watched, namespace)
        for watched in WATCHED
        for namespace in (namespaces if watched.namespaced and namespaces else (None,))
    )


def facts_of_page(
    ledger: Ledger,
    source: Source,
    items: Sequence[Obj],
    seen: set[Ref],
    *,
    epoch: Epoch,
    full: bool,
    pass_over: Callable[[Obj, Exception], None],
) -> Iterator[Publication]:
    """The facts of one page of a list: everything (full) or differences; notes what it shows.

    An object that has a name is not taken for gone; `pass_over` gets those without a usable name.
    """
    for obj in items:
        if not is_known_by_name(obj):
            pass_over(obj, ValueError("it has no name, no uid or no version"))
            continue
        for projection in source.watched.projections:
            seen.add(_ref(projection.kind, obj))
            try:
                yield from facts_of_object(ledger, projection, obj, epoch, repeat=full)
            except (KeyError, TypeError, ValueError, AttributeError) as problem:
                pass_over(obj, problem)


def facts_of_absence(
    ledger: Ledger, source: Source, seen: set[Ref], *, version: int, epoch: Epoch
) -> Iterator[Publication]:
    """The facts of what was published and no page of a complete list showed: it is gone.

    `version` is that of the list, at which what it does not show does not exist.
    """
    for ref in _missing(ledger, source, seen):
        yield from facts_of_deletion(ledger, ref, version, epoch)


def is_known_by_name(obj: Obj) -> bool:
    """Whether an object has the metadata that every API server gives it."""
    meta = obj.get("metadata")
    if not isinstance(meta, dict):
        return False
    version = meta.get("resourceVersion")
    return bool(meta.get("name") and meta.get("uid")) and str(version).isdecimal()


def contradicts(ledger: Ledger, source: Source, items: Sequence[Obj]) -> bool:
    """Whether a page of a list contradicts what was published: then everything is published again.

    The version of an object fell (the cluster was restored from a backup), or the same version of
    the same object says something else (a fact was lost between watch and ledger).
    """
    for obj in items:
        for projection in source.watched.projections:
            is_known = is_known_by_name(obj)
            published = ledger.published.get(_ref(projection.kind, obj)) if is_known else None
            if published is None:
                continue
            version = int(obj["metadata"]["resourceVersion"])
            if version < published.resource_version:
                return True
            is_same = version == published.resource_version
            if is_same and digest_of(projection.of(obj)) != published.digest:
                return True
    return False


def _ref(kind: str, obj: Obj) -> Ref:
    meta: dict[str, Any] = obj["metadata"]
    return (kind, str(meta.get("namespace", "")), str(meta["name"]))


def _missing(ledger: Ledger, source: Source, seen: set[Ref]) -> list[Ref]:
    kinds = frozenset(source.kinds)
    return [
        ref
        for ref in ledger.published
        if ref[0] in kinds
        and ref not in seen
        and (source.namespace is None or ref[1] == source.namespace)
    ]


@dataclass(slots=True)
class Rounds:
    """Which full resync is under way, and whose lists it still waits for.

    The number of the resync is the epoch's number of the list.
    """

    sources: tuple[Source, ...]
    number: int = 0
    _listed: dict[Source, int] = field(default_factory=dict)
    _completed: int = 0

    def begin(self) -> int:
        """Start the next full resync; one that is under way is overtaken."""
        self.number += 1
        return self.number

    def owes(self, source: Source) -> bool:
        """Whether the next list of a source is a full one."""
        return self._listed.get(source, 0) < self.number

    def number_of(self, source: Source) -> int:
        """The number of the source's newest full list: the epoch of what it sees now."""
        return self._listed.get(source, 0)

    def mark_listed(self, source: Source, number: int) -> tuple[str, ...]:
        """Note a full list; the kinds whose lists are complete by it."""
        self._listed[source] = number
        return tuple(
            kind
            for kind in source.kinds
            if all(
                self._listed.get(each, 0) >= number for each in self.sources if kind in each.kinds
            )
        )

    def take_completion(self) -> bool:
        """Whether the newest full resync is complete; True once for each."""
        if self._completed == self.number:
            return False
        if any(self.owes(source) for source in self.sources):
            return False
        self._completed = self.number
        return True
