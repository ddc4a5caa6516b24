"""The table: what a service knows of the cluster, from facts and from its own writes.

An entry is one object's projection. Entries change by facts (through restore and live reading) and
by observations: the response of a write or a GET is itself an observation and enters at once, so a
service reads its own writes; facts with an older resourceVersion are then ignored. Who is woken by
a change is decided by the stage's `keys`; the table only says which entries changed. Which of two
publications is newer is decided in `epochs.py` (lists and cluster) and here (versions and uids).

What may go wrong, and what holds instead:

1. A late fact about an object that was written since: lower version, only its epoch counts.
2. A late response about an object whose deletion was published: its tombstone (name, uid, version).
3. A late fact about an object for which a GET returned 404: a tombstone without a version, since a
uid that is gone never returns.
4. A deletion that was missed: a full SyncCompleted sweeps what was last published in a lower epoch.
   An own write that no fact has confirmed yet survives until two full resyncs of its kind have
   completed since, as the first may have listed before the write.
5. An absence (swept, or never published) is no proof that an object ended. The DELETION fact of the
   very object that was seen terminating is one: `saw_end`. Facts coalesce, so the last fact of an
   object may never have been looked at: `last_seen` keeps it, and `last_shown` if a fact showed the
   object at all, and not an own write alone. `was_deleted` also counts objects that a DELETION
   alone shows, as after a restart.
6. A fact that lies (a deletion, a later version): a GET that was sent after it was read knows
   better, because a uid that is gone never returns and versions never fall.
7. A fact that lies in the true version: nothing newer comes as long as the object stays the same.
   The answer to any request corrects it, and so does the next list.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from contracts.facts import KINDS, Epoch, Fact, FactType, SyncCompleted
from services.chassis.log.bus import Partition
from services.chassis.table.entries import Change, Entry, Index, TableReading, is_deleting
from services.chassis.table.epochs import Epochs, Order, Verdict
from services.chassis.table.indexing import Bucket, Indexed, Places
from services.chassis.table.tombstones import TOMBSTONES_MAX, Ref, Tombstones

LAST_SEEN_MAX = 20_000
LISTS_OUTLIVED_MAX = 2
T = TypeVar("T")


@dataclass(slots=True)
class _Row:
    """An entry and the order of its last fact; `order` is None until a fact confirms an own write.

    `at` counts what the table had heard when the entry came. An own write counts the lists that
    completed everywhere since (`outlived` of them, the newest being `completed`). `whole` is the
    last entry of the object that could be read, if this one cannot. `buckets` are those of the
    entry in the indexes.
    """

    entry: Entry
    at: int
    buckets: Sequence[Bucket[Entry]]
    whole: Entry | None = None
    order: Order | None = None
    partition: Partition | None = None
    completed: Order | None = None
    outlived: int = 0


class Table(TableReading):
    """The whole table; a stage reads it and observes its own writes in it."""

    def __init__(self, indexes: Mapping[str, Index] | None = None) -> None:
        self._rows: dict[str, dict[tuple[str, str], _Row]] = {}
        self._indexed: Indexed[Entry] = Indexed(indexes or {})
        self._epochs = Epochs()
        self._epoch: Epoch | None = None
        self._order = Order(-1, -1)
        self._kinds = frozenset(KINDS)
        self._unconfirmed: dict[Ref, None] = {}
        self._tombstones = Tombstones()
        self._ended: OrderedDict[Ref, None] = OrderedDict()
        self._deleted: OrderedDict[Ref, None] = OrderedDict()
        self._last_seen: OrderedDict[Ref, tuple[Entry, bool]] = OrderedDict()
        self._heard = 0
        self._changed: dict[Ref, None] = {}
        self._followed: frozenset[str] = frozenset()
        self.on_observation: Callable[[Change], None] = lambda _change: None

    # ------------------------------------------------------------------ reading

    def get(self, kind: str, namespace: str, name: str) -> Entry | None:
        """The entry of one object."""
        row = self._rows.get(kind, {}).get((namespace, name))
        return row.entry if row else None

    def by(self, index: str, value: Hashable) -> list[Entry]:
        """Entries under a value of a secondary index, in order of (kind, namespace, name)."""
        return self._indexed.find(index, value)

    def count(self, index: str, value: Hashable) -> int:
        """How many entries are under a value of a secondary index; costs nothing."""
        return self._indexed.count(index, value)

    def of_kind(self, kind: str) -> Iterable[Entry]:
        """Every entry of a kind, in order of (namespace, name)."""
        rows = self._rows.get(kind, {})
        return [rows[key].entry for key in sorted(rows)]

    def saw_end(self, kind: str, namespace: str, name: str) -> bool:
        """Whether the last object of this name was terminating, and then published as deleted."""
        return (kind, namespace, name) in self._ended

    def was_deleted(self, kind: str, namespace: str, name: str) -> bool:
        """Whether an object of this name does not exist, and a DELETION of one was read."""
        return (kind, namespace, name) in self._deleted

    def last_seen(self, kind: str, namespace: str, name: str) -> Entry | None:
        """The last entry of this name, if its deletion was published or observed (404)."""
        entry, _ = self._last_seen.get((kind, namespace, name), (None, False))
        return entry

    def last_shown(self, kind: str, namespace: str, name: str) -> Entry | None:
        """As `last_seen`, of an object that a fact showed; own requests alone do not count."""
        entry, is_shown = self._last_seen.get((kind, namespace, name), (None, False))
        return entry if is_shown else None

    def whole(self, kind: str, namespace: str, name: str) -> Entry | None:
        """The newest entry of the object that could be read whole."""
        row = self._rows.get(kind, {}).get((namespace, name))
        if row is None:
            return None
        return row.whole if row.entry.unreadable else row.entry

    def unconfirmed(self) -> list[Entry]:
        """Entries from responses that no fact has confirmed yet, oldest first."""
        rows = (self._rows[kind][(namespace, name)] for kind, namespace, name in self._unconfirmed)
        return [row.entry for row in rows if self.reads(row.entry.kind)]

    def __len__(self) -> int:
        return sum(len(rows) for rows in self._rows.values())

    # ------------------------------------------------------------------ facts

    def declare_indexes(self, indexes: Mapping[str, Index]) -> None:
        """Set the secondary indexes; only while the table is empty."""
        assert not len(self), "indexes are declared before the first entry"
        self._indexed = Indexed(indexes)

    def follow(self, kinds: Iterable[str]) -> None:
        """Keep which objects of these kinds changed, for views; only while the table is empty."""
        assert not len(self), "views are declared before the first entry"
        self._followed = frozenset(kinds)

    def take_changed(self) -> Ref:
        """One of the objects that changed since they were taken here; KeyError if none did."""
        return self._changed.popitem()[0]

    @property
    def has_changed(self) -> bool:
        """Whether `take_changed` has one."""
        return bool(self._changed)

    def expect(self, partitions_of: Mapping[str, Iterable[Partition]]) -> None:
        """Set the partitions of each kind: a sweep of own writes waits for all."""
        self._epochs.expect(partitions_of)
        self._kinds = frozenset(partitions_of)

    def leave(self, partitions: Iterable[Partition], is_left: Callable[[Entry], bool]) -> None:
        """Drop what was published in partitions that are not read any more; nobody is woken.

        `is_left` selects unconfirmed own writes that are dropped with them.
        """
        left = frozenset(partitions)
        self._epochs.forget(left)
        rows = [row for rows in self._rows.values() for row in rows.values()]
        for row in rows:
            if row.partition in left or (row.partition is None and is_left(row.entry)):
                self._remove(row.entry)

    def reads(self, kind: str) -> bool:
        """Whether facts of a kind come here: what no fact would ever sweep is not observed."""
        return kind in self._kinds

    @property
    def heard(self) -> int:
        """A counter of changes; read it before a GET and pass it to `observe` as `read_at`."""
        return self._heard

    @property
    def cluster_uid(self) -> str:
        """The cluster that the table is about; empty before the first fact."""
        return self._epochs.cluster_uid

    def is_newest(self, fact: Fact | SyncCompleted, partition: Partition) -> bool:
        """Whether no newer record of the kind was read in the partition (so `apply` took it)."""
        return self._epochs.is_newest(fact.kind, partition, fact.epoch)

    def apply(self, fact: Fact | SyncCompleted, partition: Partition) -> Sequence[Change]:
        """Take in what a record says; the changes of entries that it causes, mostly none or one."""
        verdict = self._epochs.admit(fact.kind, partition, fact.epoch)
        if verdict is Verdict.LATE:
            return ()
        emptied = self._empty() if verdict is Verdict.OTHER_CLUSTER else ()
        if fact.epoch is not self._epoch:
            self._epoch, self._order = fact.epoch, Order.of(fact.epoch)
        order = self._order
        if isinstance(fact, SyncCompleted):
            return (*emptied, *(self._sweep(fact.kind, partition, order) if fact.full else ()))
        if fact.type is FactType.DELETION or fact.data is None:
            change = self._apply_deletion(fact)
        else:
            change = self._apply_presence(fact, order, partition)
        return (*emptied, change) if change else emptied

    def _apply_deletion(self, fact: Fact) -> Change | None:
        self._bury(fact.ref, fact.uid, fact.resource_version)
        row = self._rows.get(fact.kind, {}).get((fact.namespace, fact.name))
        if row is None or row.entry.uid == fact.uid:
            _remember(self._deleted, fact.ref, None, TOMBSTONES_MAX)
        if row is None or row.entry.uid != fact.uid:
            return None
        if is_deleting(row.entry):
            _remember(self._ended, fact.ref, None, TOMBSTONES_MAX)
        self._remember_last(row)
        return self._remove(row.entry)

    def _apply_presence(self, fact: Fact, order: Order, partition: Partition) -> Change | None:
        ref, uid, version = fact.ref, fact.uid, fact.resource_version
        if self._tombstones.holds(ref, uid, version):
            return None
        row = self._row(ref)
        if row is not None and row.entry.uid != uid and row.entry.resource_version >= version:
            return None
        entry = Entry(*ref, uid, version, fact.data or {})
        is_relisted = row is not None and row.order is not None and row.order < order
        row, change = self._place(entry, row, corrects=is_relisted)
        if row.order is None:
            self._unconfirmed.pop(ref, None)
        row.order, row.partition = order, partition
        return change

    def _sweep(self, kind: str, partition: Partition, order: Order) -> list[Change]:
        """Drop what a completed list does not contain."""
        everywhere = self._epochs.complete(kind, partition, order)
        gone: list[Entry] = []
        for row in self._rows.get(kind, {}).values():
            if row.order is not None:
                if row.partition == partition and row.order < order:
                    gone.append(row.entry)
                continue
            if everywhere is None or everywhere == row.completed:
                continue
            row.completed = everywhere
            row.outlived += 1
            if row.outlived >= LISTS_OUTLIVED_MAX:
                gone.append(row.entry)
        return [self._remove(entry) for entry in gone]

    def _empty(self) -> tuple[Change, ...]:
        entries = [row.entry for rows in self._rows.values() for row in rows.values()]
        self._tombstones.clear()
        self._ended.clear()
        self._deleted.clear()
        self._last_seen.clear()
        return tuple(self._remove(entry) for entry in entries)

    # ------------------------------------------------------------------ observations

    def observe(
        self,
        kind: str,
        namespace: str,
        name: str,
        *,
        uid: str,
        resource_version: int,
        data: Mapping[str, Any],
        read_at: int = -1,
    ) -> None:
        """Store the object of a response and report the change. Raises what an index raises for it.

        `read_at` is `heard` before a GET was sent: older facts that contradict it are dropped.
        """
        self._forget_lies((kind, namespace, name), uid, resource_version, read_at)
        if self._tombstones.holds((kind, namespace, name), uid, resource_version):
            return
        row = self._row((kind, namespace, name))
        is_other = row is not None and row.entry.uid != uid
        if row is not None and is_other and row.entry.resource_version > resource_version:
            return
        entry = Entry(kind, namespace, name, uid, resource_version, data)
        _, change = self._place(entry, row, corrects=True)
        if change is not None:
            self.on_observation(change)

    def _forget_lies(self, ref: Ref, uid: str, version: int, read_at: int) -> None:
        """Drop a tombstone of an object that exists, and an entry whose version is too high."""
        kind, namespace, name = ref
        self._tombstones.exhume(ref, uid, read_at=read_at)
        row = self._rows.get(kind, {}).get((namespace, name))
        if row is not None and row.at <= read_at and row.entry.resource_version > version:
            self._remove(row.entry)

    def observe_gone(self, ref: Ref, uid: str) -> None:
        """Take in that the object with this uid does not exist any more."""
        kind, namespace, name = ref
        self._bury(ref, uid, None)
        row = self._rows.get(kind, {}).get((namespace, name))
        if row is not None and row.entry.uid == uid:
            self._remember_last(row)
            self.on_observation(self._remove(row.entry))

    def forget(self, ref: Ref) -> None:
        """Drop an entry of a stage's own kind, or one whose projection is None."""
        kind, namespace, name = ref
        row = self._rows.get(kind, {}).get((namespace, name))
        if row is not None:
            self.on_observation(self._remove(row.entry))

    # ------------------------------------------------------------------ rows

    def _row(self, ref: Ref) -> _Row | None:
        kind, namespace, name = ref
        rows = self._rows.get(kind)
        return rows.get((namespace, name)) if rows else None

    def _place(
        self, entry: Entry, row: _Row | None, *, corrects: bool
    ) -> tuple[_Row, Change | None]:
        """Put an entry where it is newer than its row; a Change only if its data differ.

        `corrects`: in the version of the row it counts, too.
        """
        if row is None:
            row = self._begin_row(entry, self._indexed.places_of(entry))
            return row, Change(None, entry)
        old = row.entry
        same = old.uid == entry.uid
        if same and not _replaces(entry, old, corrects=corrects):
            return row, None
        places = self._indexed.places_of(entry)  # raises where the object is bad: all stays
        if not same:
            self._indexed.drop(old.ref, row.buckets)
            self._bury(old.ref, old.uid, None)
            return self._begin_row(entry, places), Change(old, entry)
        self._heard += 1
        if entry.unreadable:
            row.whole = row.whole if old.unreadable else old
        else:
            row.whole = None
        row.entry, row.at = entry, self._heard
        row.buckets = self._indexed.replace(entry, places, row.buckets)
        self._note_changed(entry)
        return row, None if old.data == entry.data else Change(old, entry)

    def _begin_row(self, entry: Entry, places: Places) -> _Row:
        ref, completed = entry.ref, self._epochs.completed_everywhere(entry.kind)
        self._heard += 1
        row = _Row(entry, self._heard, self._indexed.put(entry, places), completed=completed)
        self._rows.setdefault(entry.kind, {})[(entry.namespace, entry.name)] = row
        self._unconfirmed[ref] = None
        self._ended.pop(ref, None)
        self._deleted.pop(ref, None)
        self._last_seen.pop(ref, None)
        self._note_changed(entry)
        return row

    def _note_changed(self, entry: Entry) -> None:
        if entry.kind in self._followed:
            self._changed[entry.ref] = None

    def _remove(self, entry: Entry) -> Change:
        ref = entry.ref
        row = self._rows[entry.kind].pop((entry.namespace, entry.name))
        self._note_changed(entry)
        self._unconfirmed.pop(ref, None)
        self._indexed.drop(ref, row.buckets)
        return Change(entry, None)

    def _remember_last(self, row: _Row) -> None:
        is_shown = row.order is not None
        _remember(self._last_seen, row.entry.ref, (row.entry, is_shown), LAST_SEEN_MAX)

    def _bury(self, ref: Ref, uid: str, version: int | None) -> None:
        self._heard += 1
        self._tombstones.bury(ref, uid, version, at=self._heard)


def _replaces(entry: Entry, old: Entry, *, corrects: bool) -> bool:
    """Whether an entry of the same object says something else, and counts more."""
    if entry.resource_version != old.resource_version:
        return entry.resource_version > old.resource_version
    return corrects and entry.data != old.data


def _remember(memory: OrderedDict[Ref, T], ref: Ref, value: T, most: int) -> None:
    memory[ref] = value
    if len(memory) > most:
        memory.popitem(last=False)
