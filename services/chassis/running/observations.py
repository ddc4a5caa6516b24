"""The door for what a decision uses and what is no fact: answers to own requests, assignments.

What enters is numbered, counted from 1 in each start of an instance, and published behind the
decisions (`decision_log.py`). With its position it stands between the same facts in a replay
(`replaying.py`). Nothing waits for it, and no correctness rests on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from contracts.decisions import Observation, Position
from services.chassis.log.bus import Partition
from services.chassis.running.decision_log import DecisionLog
from services.chassis.running.wiring import Runtime
from services.chassis.table.sharing import Subscription
from services.chassis.table.table import Table
from services.chassis.table.tombstones import Ref


class Observed(StrEnum):
    """The kinds of observations that the chassis makes."""

    STARTED = "started"
    """The release and the settings of this start: its first observation."""
    READING = "reading"
    """Partitions are read from these offsets on."""
    ASSIGNED = "assigned"
    """This instance has these partitions now, and no others."""
    OBJECT = "object"
    """A response carried an object."""
    GONE = "gone"
    """An object with this uid does not exist."""
    FORGOTTEN = "forgotten"
    """An object is none of the service's any more."""
    SLEPT = "slept"
    """The process did not run for a while."""
    LEADS = "leads"
    """This instance holds the Lease and begins to decide."""
    LEADS_NO_MORE = "leads-no-more"


class Observations:
    """Numbers what enters, and knows the position."""

    def __init__(self, runtime: Runtime, log: DecisionLog, start: str) -> None:
        self._prefix = f"{runtime.topics.prefix}."
        self._instance = runtime.instance
        self._start = start
        self._publish = log.publish_observation
        self._number = 0
        self._facts = 0
        self._offsets: dict[str, int] = {}
        self._shown: Mapping[str, int] = {}
        self._names: dict[Partition, str] = {}

    @property
    def position(self) -> Position:
        """What this instance knows now."""
        return Position(self._instance, self._start, self._offsets_now(), self._facts, self._number)

    def note_read(self, partition: Partition, offset: int) -> None:
        """The record at this offset was taken in; one that comes again changes nothing."""
        name = self._name_of(partition)
        if offset < self._offsets.get(name, 0):
            return
        self._facts += 1
        self._offsets[name] = offset + 1
        self._shown = {}

    def enter(self, what: str, content: Mapping[str, Any]) -> None:
        """Number what was observed and publish it; to be called before it has an effect."""
        self._number += 1
        self._publish(Observation(self._number, what, content, self._offsets_now()))

    def begin_reading(self, offsets: Mapping[Partition, int]) -> None:
        """Partitions are read from these offsets on."""
        named = {self._name_of(each): offset for each, offset in offsets.items()}
        self.enter(Observed.READING, {"offsets": named})

    def assign(self, subscription: Subscription) -> None:
        """This instance has these partitions now, and no others."""
        partitions = {each for of_kind in subscription.values() for each in of_kind}
        names = sorted(map(self._name_of, partitions))
        self.enter(Observed.ASSIGNED, {"partitions": names})
        self._offsets = {name: at for name, at in self._offsets.items() if name in names}
        self._shown = {}

    def _name_of(self, partition: Partition) -> str:
        name = self._names.get(partition)
        if name is None:
            name = f"{partition.topic.removeprefix(self._prefix)}/{partition.number}"
            self._names[partition] = name
        return name

    def _offsets_now(self) -> Mapping[str, int]:
        """The offsets, copied once after each change."""
        if not self._shown:
            self._shown = dict(self._offsets)
        return self._shown


class ObservingTable(Table):
    """A table that passes what enters it beside facts through the door."""

    def __init__(self, enter: Callable[[str, Mapping[str, Any]], None]) -> None:
        super().__init__()
        self._enter = enter

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
        """Store the object of a response."""
        content = {
            "ref": (kind, namespace, name),
            "uid": uid,
            "resourceVersion": resource_version,
            "data": data,
            "readAt": read_at,
        }
        self._enter(Observed.OBJECT, content)
        super().observe(
            kind,
            namespace,
            name,
            uid=uid,
            resource_version=resource_version,
            data=data,
            read_at=read_at,
        )

    def observe_gone(self, ref: Ref, uid: str) -> None:
        """Take in that the object with this uid does not exist any more."""
        self._enter(Observed.GONE, {"ref": ref, "uid": uid})
        super().observe_gone(ref, uid)

    def forget(self, ref: Ref) -> None:
        """Drop an entry of a stage's own kind, or one whose projection is None."""
        self._enter(Observed.FORGOTTEN, {"ref": ref})
        super().forget(ref)
