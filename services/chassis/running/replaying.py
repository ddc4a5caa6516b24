"""Makes the table of a service again, as it was at each decision, from records alone.

The facts before a decision's position, and the observations up to it, are applied in their order.
Whatever is missing or does not fit is an error that says where: an observation that was dropped, a
fact that is not in the log any more, an offset that is not where the decisions beside it are.

Both are read as they are needed, and facts after the last position never. Records of a part
lack the partitions and the facts that no snapshot of that part needs; what is decided about others
cannot be made again from them.
"""

from __future__ import annotations

from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Hashable,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from typing import Any, Protocol

from contracts.decisions import ObjectsRead, Observation, Position
from contracts.facts import Fact, SyncCompleted
from contracts.topics import Topic, TopicLayout
from contracts.unreadable import Unreadable
from services.chassis.log.bus import Partition
from services.chassis.running.decision_log import UNWRITTEN, objects_read
from services.chassis.running.observations import Observed
from services.chassis.running.own_part import OwnPart
from services.chassis.running.recording import key_text
from services.chassis.running.stage import Stage, TakesInObservations, views_of
from services.chassis.table.entries import Change, Entry
from services.chassis.table.noting import NotedReading
from services.chassis.table.table import Table
from services.chassis.table.viewing import Views


class ReplayFailed(Exception):
    """A snapshot cannot be made again; the message says what is missing or does not fit."""


class KeptFact(Protocol):
    """A record of facts, which is decoded once and only where somebody reads its kind."""

    @property
    def offset(self) -> int:
        """Its offset."""
        ...

    @property
    def kind(self) -> str:
        """The kind of object that its key names."""
        ...

    @property
    def partition(self) -> Partition:
        """Where it is."""
        ...

    def decoded(self) -> Fact | SyncCompleted | None:
        """Its fact; None if it cannot be read, so that every service skipped it."""
        ...


class Facts(Protocol):
    """The facts of a log, by `<topic without prefix>/<partition>`."""

    @property
    def partitions(self) -> Mapping[str, bool]:
        """The partitions that there are, and whether a recording left nothing of them out."""
        ...

    def read(self, partition: str, first: int, end: int) -> AsyncIterator[Sequence[KeptFact]]:
        """Batches of records, from offset `first` on, below `end`, in order of their offsets."""
        ...


@dataclass(frozen=True, slots=True)
class Remade:
    """A snapshot that was made again; `entries` are the objects that were read for it.

    `views` is the digest of what its views were folded from.
    """

    key: Hashable
    snapshot: Any
    entries: Sequence[Entry]
    views: str = ""

    @property
    def objects(self) -> ObjectsRead:
        """The objects as a decision record has them."""
        return objects_read(self.entries, self.views)


class Replica:
    """The table and the stage of one start of an instance, made again.

    `new_stage` makes the stage around its table. `observations` are those of the start, in order.
    `keys` are the keys, as text, whose snapshots are going to be made.
    """

    def __init__(
        self,
        new_stage: Callable[[Table], Stage[Any, Any, Any]],
        topics: TopicLayout,
        shares: Collection[Topic],
        facts: Facts,
        observations: AsyncIterator[Observation],
        keys: Iterable[str],
    ) -> None:
        self.table = Table()
        self.stage = new_stage(self.table)
        self._prefix = topics.prefix
        self._facts = facts
        self._observations = observations
        self._ahead: Observation | None = None
        self._number = 0
        self._read_facts = 0
        self._offsets: dict[str, int] = {}
        self._is_whole = True
        self._keys: dict[str, Hashable] = {}
        self._sought = set(keys)
        self.table.declare_indexes(self.stage.indexes)
        self._own = OwnPart(self.stage, self.table, topics, shares, lambda _entry: None)
        self._views = Views(self.table, views_of(self.stage), lambda _ref: None)

    async def snapshot(self, key: str, position: Position) -> Remade:
        """The snapshot of a key at a position, none of which may be before the last one's.

        Raises ReplayFailed.
        """
        return self.remake(await self.ready(key, position))

    async def ready(self, key: str, position: Position) -> Hashable:
        """Make the table that of a position; returns the key of the text. Raises ReplayFailed."""
        await self._observe_up_to(position.observation)
        where = f"observation {position.observation}"
        await self._read_up_to(position.offsets, where)
        if self._is_whole and self._read_facts != position.facts:
            read = f"{self._read_facts} facts were read and not {position.facts}"
            raise ReplayFailed(f"after {where}, {read}, up to {dict(position.offsets)}")
        known = self._key_of(key)
        self._require_own_partition(known)
        return known

    def remake(self, key: Hashable) -> Remade:
        """The snapshot of a key of the table as it is; raises what its stage raises."""
        table = NotedReading(self.table)
        self._views.fold_all()
        snapshot = self.stage.snapshot(table, key)
        return Remade(key, snapshot, table.entries, self._views.digest)

    def close(self) -> None:
        """Let go of the table at once: it is in cycles, which a collector may not look at."""
        vars(self).clear()

    # ------------------------------------------------------------------ records

    async def _observe_up_to(self, number: int) -> None:
        while self._number < number:
            observation = await self._next_observation()
            if observation is None or observation.number != self._number + 1:
                raise ReplayFailed(f"observation {self._number + 1} is missing")
            self._number, self._ahead = observation.number, None
            await self._read_up_to(observation.offsets, f"observation {self._number}")
            self._take(observation)

    async def _next_observation(self) -> Observation | None:
        """The first that was not taken; one that is in the log twice is passed over."""
        while self._ahead is None or self._ahead.number <= self._number:
            self._ahead = await anext(self._observations, None)
            if self._ahead is None:
                return None
        return self._ahead

    async def _read_up_to(self, offsets: Mapping[str, int], where: str) -> None:
        for name, offset in sorted(offsets.items()):
            known = self._offsets.get(name, -1)
            if offset < known:
                raise ReplayFailed(f"after {where}, {name} is at {offset}, and was read to {known}")
            if offset > known:
                await self._read(name, offset, where)

    async def _read(self, name: str, end: int, where: str) -> None:
        """Apply the facts of a partition up to an offset; the last of them is there."""
        is_whole = self._facts.partitions.get(name, False)
        self._is_whole = self._is_whole and is_whole
        last = -1
        kinds = self.stage.kinds
        async for batch in self._facts.read(name, self._offsets.get(name, 0), end):
            for fact in batch:
                if fact.kind in kinds:
                    self._apply(fact)
            last = batch[-1].offset
        self._offsets[name] = end
        if is_whole and last != end - 1:
            raise ReplayFailed(f"after {where}, there is no record {end - 1} of {name}")

    def _apply(self, fact: KeptFact) -> None:
        found = fact.decoded()
        if found is None:
            return  # the service skipped it, too
        self._read_facts += 1
        try:
            changes = self.table.apply(found, fact.partition)
        except Exception:  # noqa: BLE001 - the service counted a crash, and went on
            return
        if not self._sought:
            return
        for change in changes:
            self._note_keys(change.old)
            self._note_keys(change.new)

    def _take(self, observation: Observation) -> None:
        content = observation.content
        try:
            if UNWRITTEN not in content:
                self._take_content(observation.what, content)
                return
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            raise ReplayFailed(
                f"observation {self._number}, {observation.what}, has another form than this"
                f" release writes: {problem!r}"
            ) from problem
        why = content[UNWRITTEN]
        raise ReplayFailed(f"observation {self._number} was not written whole: {why}")

    def _take_content(self, what: str, content: Mapping[str, Any]) -> None:
        match what:
            case Observed.READING:
                self._offsets |= {str(name): int(at) for name, at in content["offsets"].items()}
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
            case _ if isinstance(self.stage, TakesInObservations):
                self.stage.take_in(what, content)
            case _:
                raise ReplayFailed(f"observation {self._number} is {what}, which nobody takes in")

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
                self._note_key(key)
        if text not in self._keys:
            raise ReplayFailed(f"no object that was seen has the key {text}")
        return self._keys[text]

    def _require_own_partition(self, key: Hashable) -> None:
        """What a key is about is in one partition; without it, its snapshot would lack objects."""
        number = self._own.part_of(key)
        for topic in self._own.sharing.topics if number is not None else ():
            name = f"{topic.removeprefix(f'{self._prefix}.')}/{number}"
            if name not in self._facts.partitions:
                raise ReplayFailed(f"the records do not have partition {name}, where its facts are")

    def _note_keys(self, entry: Entry | None) -> None:
        """Keys of objects that are gone are decided on, too."""
        if entry is not None:
            for key in self._own.keys_of(Change(None, entry)):
                self._note_key(key)

    def _note_key(self, key: Hashable) -> None:
        text = key_text(key)
        if text in self._sought:
            self._sought.discard(text)
            self._keys[text] = key


def _ref(content: Mapping[str, Any]) -> tuple[str, str, str]:
    kind, namespace, name = content["ref"]
    return kind, namespace, name
