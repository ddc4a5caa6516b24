"""Makes the table of a service again, as it was at each decision, from records alone.

The facts before a decision's position, and the observations up to it, are applied in their order.
Whatever is missing or does not fit is an error that says where: an observation that was dropped, a
fact that is not in the log any more, an offset that is not where the decisions beside it are.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contracts.decisions import ObjectsRead, Observation, Position
from contracts.envelope import MalformedRecord
from contracts.topics import TopicLayout
from contracts.unreadable import ObjectUnreadable, Unreadable
from services.chassis.log.bus import Partition, Record
from services.chassis.running.decision_log import UNWRITTEN, objects_read
from services.chassis.running.observations import Observed
from services.chassis.running.own_part import OwnPart
from services.chassis.running.recording import key_text
from services.chassis.running.stage import Stage, TakesInObservations, views_of
from services.chassis.table.entries import Entry
from services.chassis.table.noting import NotedReading
from services.chassis.table.reading import decode, kind_of
from services.chassis.table.table import Table
from services.chassis.table.viewing import Views


class ReplayFailed(Exception):
    """A snapshot cannot be made again; the message says what is missing or does not fit."""


@dataclass(frozen=True, slots=True)
class Remade:
    """A snapshot that was made again; `objects` are those that were read for it."""

    key: Hashable
    snapshot: Any
    objects: ObjectsRead


class Replica:
    """The table and the stage of one start of an instance, made again.

    `new_stage` makes the stage around its table. `facts` are the records of each partition that the
    instance read, by `<topic without prefix>/<partition>`, in order of their offsets.
    `observations` are those of the start.
    """

    def __init__(
        self,
        new_stage: Callable[[Table], Stage[Any, Any, Any]],
        topics: TopicLayout,
        facts: Mapping[str, Sequence[Record]],
        observations: Iterable[Observation],
    ) -> None:
        self.table = Table()
        self.stage = new_stage(self.table)
        self._prefix = topics.prefix
        self._facts = facts
        self._observations = sorted(observations, key=lambda each: each.number)
        self._number = 0
        self._read_facts = 0
        self._offsets: dict[str, int] = {}
        self._next: dict[str, int] = {}
        self._keys: dict[str, Hashable] = {}
        self.table.declare_indexes(self.stage.indexes)
        self._own = OwnPart(self.stage, self.table, topics, self._keys_of)
        self._views = Views(self.table, views_of(self.stage), lambda _ref: None)

    def snapshot(self, key: str, position: Position) -> Remade:
        """The snapshot of a key at a position, none of which may be before the last one's.

        Raises ReplayFailed.
        """
        self._observe_up_to(position.observation)
        where = f"observation {position.observation}"
        self._read_up_to(position.offsets, where)
        if self._read_facts != position.facts:
            read = f"{self._read_facts} facts were read and not {position.facts}"
            raise ReplayFailed(f"after {where}, {read}, up to {dict(position.offsets)}")
        known = self._key_of(key)
        table = NotedReading(self.table)
        self._views.fold_all()
        snapshot = self.stage.snapshot(table, known)
        return Remade(known, snapshot, objects_read(table.entries, self._views.digest))

    # ------------------------------------------------------------------ records

    def _observe_up_to(self, number: int) -> None:
        while self._number < number:
            found = self._observations[self._number : self._number + 1]
            if not found or found[0].number != self._number + 1:
                raise ReplayFailed(f"observation {self._number + 1} is missing")
            observation = found[0]
            self._number += 1
            self._read_up_to(observation.offsets, f"observation {self._number}")
            self._take(observation)

    def _read_up_to(self, offsets: Mapping[str, int], where: str) -> None:
        for name, offset in sorted(offsets.items()):
            known = self._offsets.get(name, -1)
            if offset < known:
                raise ReplayFailed(f"after {where}, {name} is at {offset}, and was read to {known}")
            if offset > known:
                self._read(name, offset, where)

    def _read(self, name: str, end: int, where: str) -> None:
        """Apply the facts of a partition up to an offset; the last of them is there."""
        records, at = self._facts.get(name, ()), self._next.get(name, 0)
        last = -1
        while at < len(records) and records[at].offset < end:
            if records[at].offset >= self._offsets.get(name, 0):
                last = records[at].offset
                self._apply(records[at])
            at += 1
        self._next[name], self._offsets[name] = at, end
        if last != end - 1:
            raise ReplayFailed(f"after {where}, there is no record {end - 1} of {name}")

    def _apply(self, record: Record) -> None:
        if kind_of(record) not in self.stage.kinds:
            return
        try:
            found = decode(record)
        except MalformedRecord:
            return  # the service skipped it, too
        self._read_facts += 1
        try:
            changes = self.table.apply(found.fact, found.partition)
        except Exception:  # noqa: BLE001 - the service counted a crash, and went on
            return
        for change in changes:
            self._note_keys(change.old)
            self._note_keys(change.new)

    def _take(self, observation: Observation) -> None:
        content = observation.content
        if UNWRITTEN in content:
            why = content[UNWRITTEN]
            raise ReplayFailed(f"observation {self._number} was not written whole: {why}")
        match observation.what:
            case Observed.READING:
                self._begin(content["offsets"])
            case Observed.ASSIGNED:
                self._assign(content["partitions"])
            case Observed.OBJECT:
                self._take_object(content)
            case Observed.GONE:
                self.table.observe_gone(_ref(content), content["uid"])
            case Observed.FORGOTTEN:
                self.table.forget(_ref(content))
            case Observed.STARTED | Observed.SLEPT | Observed.LEADS | Observed.LEADS_NO_MORE:
                pass  # what makes the stage, and when something is decided, not what
            case what:
                self._take_in(what, content)

    def _take_in(self, what: str, content: Mapping[str, Any]) -> None:
        if not isinstance(self.stage, TakesInObservations):
            raise ReplayFailed(f"observation {self._number} is {what}, which nobody takes in")
        try:
            self.stage.take_in(what, content)
        except (KeyError, TypeError, ValueError) as problem:
            raise ReplayFailed(
                f"observation {self._number}, {what}, has another form than this release"
                f" writes: {problem!r}"
            ) from problem

    def _begin(self, offsets: Mapping[str, int]) -> None:
        for name, offset in offsets.items():
            self._offsets[name], self._next[name] = offset, 0

    def _assign(self, names: Iterable[str]) -> None:
        partitions = frozenset(map(self._partition, names))
        self._own.assign(self._own.sharing.subscription(partitions))
        self._offsets = {name: at for name, at in self._offsets.items() if name in set(names)}

    def _take_object(self, content: Mapping[str, Any]) -> None:
        kind, namespace, name = _ref(content)
        data = content["data"]
        if "unreadable" in data:
            data = Unreadable(data["unreadable"], data["parts"])
        self.table.observe(
            kind,
            namespace,
            name,
            uid=content["uid"],
            resource_version=content["resourceVersion"],
            data=data,
            read_at=content["readAt"],
        )
        self._note_keys(self.table.get(kind, namespace, name))

    def _partition(self, name: str) -> Partition:
        suffix, _, number = name.rpartition("/")
        return Partition(f"{self._prefix}.{suffix}", int(number))

    # ------------------------------------------------------------------ keys

    def _key_of(self, text: str) -> Hashable:
        if text not in self._keys:
            for key in self.stage.all_keys(self.table):
                self._keys[key_text(key)] = key
        if text not in self._keys:
            raise ReplayFailed(f"no object that was seen has the key {text}")
        return self._keys[text]

    def _note_keys(self, entry: Entry | None) -> None:
        """Keys of objects that are gone are decided on, too."""
        if entry is not None:
            for key in self._keys_of(entry):
                self._keys[key_text(key)] = key

    def _keys_of(self, entry: Entry) -> Sequence[Hashable]:
        try:
            return list(self.stage.keys(entry, self.table))
        except ObjectUnreadable:
            return ()
        except Exception:  # noqa: BLE001 - the service counted a crash, and went on
            return ()


def _ref(content: Mapping[str, Any]) -> tuple[str, str, str]:
    kind, namespace, name = content["ref"]
    return kind, namespace, name
