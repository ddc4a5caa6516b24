"""Views: state folded from a table, which costs what changes and not what exists.

A view is a function of the table's contents, whatever the order of changes; only where code of ours
crashes on an object, the view keeps what it had of it. The table keeps which objects changed; they
are folded before a snapshot is made, some in each turn of the event loop. An object that cannot be
read is no evidence that it is gone or changed: as it was last read whole, it goes on counting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from enum import Enum

from contracts.canonical import Fingerprint
from contracts.unreadable import ObjectUnreadable
from services.chassis.table.entries import Entry
from services.chassis.table.table import Table
from services.chassis.table.tombstones import Ref

FOLDED_AT_ONCE = 100
"""Objects of 10 to 60 µs each, folded without a pause."""
SETTLED_AT_ONCE = 200
"""A snapshot does the rest: where much changes all the time there is always more to settle."""


class _Read(Enum):
    """What came of folding an entry."""

    WHOLE = "what the view needs of it"
    NOT = "a part that the view needs cannot be read"
    CRASHED = "code of ours raised"


class View:
    """State folded from the objects of some kinds; `kinds` are these."""

    kinds: frozenset[str] = frozenset()
    large: frozenset[str] = frozenset()
    """Kinds whose objects may take milliseconds each: the event loop turns after each."""

    def fold(self, ref: Ref, entry: Entry | None) -> None:
        """Let the newest entry of an object count instead of the one before; None: it is gone.

        Raises ObjectUnreadable where it needs a part that cannot be read. What raises has changed
        nothing.
        """
        raise NotImplementedError

    def fold_unreadable(self, ref: Ref) -> None:
        """Let an object count that exists; nothing else is known of it."""
        raise NotImplementedError

    def settle_some(self) -> bool:
        """Do some of what a snapshot would have to do at once; whether there was any."""
        return False

    def note_unreadable(self, count: int) -> None:
        """Take in how many objects count as they were last read, or as unknown."""


class Views:
    """The views of a stage, and the digest of the entries that they are folded from.

    `note_kept` gets how many objects were folded, after each turn.
    """

    def __init__(
        self,
        table: Table,
        views: Sequence[View],
        note_crash: Callable[[Ref], None],
        note_kept: Callable[[int], None] = lambda _count: None,
    ) -> None:
        self._table = table
        self._views = views
        self._note_crash, self._note_kept = note_crash, note_kept
        self._of_kind = {kind: view for view in views for kind in view.kinds}
        self._large = frozenset[str]().union(*(view.large for view in views))
        self._uids: dict[Ref, str] = {}
        self._entries = Fingerprint()
        self._unreadable: dict[View, set[Ref]] = {view: set() for view in views}
        self._folding = asyncio.Lock()
        table.follow(self._of_kind)

    @property
    def digest(self) -> str:
        """Stands for ref, uid and version of every entry that was folded; empty without views."""
        return f"{self._entries.value:016x}" if self._views else ""

    async def catch_up(self) -> None:
        """Fold what changed, a little at a time; those who ask at the same time wait for one."""
        if not self._views:
            return
        async with self._folding:
            settled = 0
            while True:
                if not self._fold_some():
                    if settled == SETTLED_AT_ONCE or not self._settle_some():
                        return
                    settled += 1
                await asyncio.sleep(0)

    def fold_all(self) -> None:
        """Fold what changed."""
        while self._fold_some():
            pass

    def _settle_some(self) -> bool:
        return any(view.settle_some() for view in self._views)

    def _fold_some(self) -> bool:
        """Fold some of what changed; whether there was any."""
        if not self._table.has_changed:
            return False
        folded, is_large = 0, False
        while folded < FOLDED_AT_ONCE and not is_large and self._table.has_changed:
            ref = self._table.take_changed()
            self._fold(ref)
            folded, is_large = folded + 1, ref[0] in self._large
        self._note_kept(folded)
        return True

    def _fold(self, ref: Ref) -> None:
        entry, view = self._table.get(*ref), self._of_kind[ref[0]]
        self._put_digest(ref, entry)
        if entry is None:
            view.fold(ref, None)
            self._uids.pop(ref, None)
            self._mark(view, ref, is_unreadable=False)
            return
        read = known = self._read(view, ref, entry)
        whole = self._table.whole(*ref)
        if read is not _Read.WHOLE and whole is not None and whole is not entry:
            known = self._read(view, ref, whole)
        # Code of ours that crashes must not end what an object held until then.
        is_kept = _Read.CRASHED in (read, known) and self._uids.get(ref) == entry.uid
        if known is not _Read.WHOLE and not is_kept:
            view.fold_unreadable(ref)
        self._uids[ref] = entry.uid
        self._mark(view, ref, is_unreadable=read is not _Read.WHOLE)

    def _read(self, view: View, ref: Ref, entry: Entry) -> _Read:
        try:
            view.fold(ref, entry)
        except ObjectUnreadable:
            return _Read.NOT
        except Exception:  # noqa: BLE001 - a bad object must not stop the others
            self._note_crash(ref)
            return _Read.CRASHED
        return _Read.WHOLE

    def _put_digest(self, ref: Ref, entry: Entry | None) -> None:
        if entry is None:
            self._entries.put(ref, None)
        else:
            text = f"{'/'.join(ref)} {entry.uid}@{entry.resource_version}"
            self._entries.put(ref, text.encode())

    def _mark(self, view: View, ref: Ref, *, is_unreadable: bool) -> None:
        unreadable = self._unreadable[view]
        if is_unreadable == (ref in unreadable):
            return
        (unreadable.add if is_unreadable else unreadable.discard)(ref)
        view.note_unreadable(len(unreadable))
