"""Lets requests of PEs wait until something of what they are about changes.

1. A request waits on topics: the hand-over of its job, its own PE, and the address of each peer.
2. What a topic says is looked up when somebody begins to wait on it, and once for each change of an
   object that belongs to it, however many wait. Only if it says something else, all of them wake.
3. An object of no topic on which somebody waits costs one look into a dictionary.

A PE waits once: its next request ends the wait of the one before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterable
from enum import Enum
from typing import Final, NamedTuple

from contracts import labels
from services.chassis.table.entries import Entry, TableReading
from services.pe_gateway.adapters.intake import JOB, PE, POD, pods_of
from services.pe_gateway.adapters.reading import job_of, pe_of, pod_of
from services.pe_gateway.core.runtime_views import address_in


class About(Enum):
    """What a topic is about."""

    JOB = "uid, id and hand-over of a job"
    PE = "launch and trace levels of a PE"
    ADDRESS = "where a PE is reached"


class Topic(NamedTuple):
    """Something of a job that changes; `pe` is -1 where it is of no PE."""

    about: About
    namespace: str
    job: str
    pe: int = -1


UNKNOWN: Final = object()
"""What a topic says whose objects cannot be read; it equals nothing else."""


class _Watched:
    """A topic on which somebody waits: what it says, and who waits."""

    __slots__ = ("says", "waiting")

    def __init__(self, says: Hashable) -> None:
        self.says = says
        self.waiting: dict[Hashable, asyncio.Event] = {}


class Watching:
    """Who waits on which topics of a table."""

    def __init__(self, table: TableReading) -> None:
        self._table = table
        self._watched: dict[Topic, _Watched] = {}
        self._of: dict[Hashable, tuple[asyncio.Event, tuple[Topic, ...]]] = {}
        self.looked_up = 0
        """How often a topic was looked up, for those who measure."""

    def note(self, entry: Entry) -> None:
        """An object changed; `entry` is it before or after, and the table has it as it is now."""
        for topic in topics_of(entry):
            watched = self._watched.get(topic)
            if watched is None:
                continue
            says = self._look_up(topic)
            if says != watched.says:
                watched.says = says
                for event in watched.waiting.values():
                    event.set()

    async def changed(self, waiter: Hashable, topics: Iterable[Topic], wait_s: float) -> bool:
        """Wait until one of the topics says something else; whether it does.

        What has changed before this was called counts no more, so nothing may be awaited between
        looking at the table and this. False as well where the waiter begins to wait again.
        """
        self._leave(waiter)
        event = asyncio.Event()
        self._of[waiter] = event, tuple(topics)
        for topic in self._of[waiter][1]:
            watched = self._watched.get(topic)
            if watched is None:
                watched = self._watched[topic] = _Watched(self._look_up(topic))
            watched.waiting[waiter] = event
        try:
            async with asyncio.timeout(wait_s):
                await event.wait()
        except TimeoutError:
            return False
        finally:
            is_own = self._of.get(waiter, (None, ()))[0] is event
            if is_own:
                self._leave(waiter)
        return is_own

    @property
    def count(self) -> int:
        """How many wait."""
        return len(self._of)

    def _leave(self, waiter: Hashable) -> None:
        event, topics = self._of.pop(waiter, (None, ()))
        for topic in topics:
            watched = self._watched[topic]
            del watched.waiting[waiter]
            if not watched.waiting:
                del self._watched[topic]
        if event is not None:
            event.set()

    def _look_up(self, topic: Topic) -> Hashable:
        self.looked_up += 1
        try:
            return state_of(self._table, topic)
        except Exception:  # noqa: BLE001 - a bad object is for those who are answered from it
            return UNKNOWN


def topics_of(entry: Entry) -> Iterable[Topic]:
    """The topics that an object belongs to."""
    namespace = entry.namespace
    if entry.kind == JOB:
        return (Topic(About.JOB, namespace, entry.name),)
    if entry.kind not in (PE, POD):
        return ()
    marks = entry.data["metadata"]["labels"]
    job, pe = str(marks.get(labels.JOB, "")), str(marks.get(labels.PE, ""))
    if not (pe.isascii() and pe.isdecimal()):
        return ()
    address = Topic(About.ADDRESS, namespace, job, int(pe))
    return (address,) if entry.kind == POD else (Topic(About.PE, namespace, job, int(pe)), address)


def state_of(table: TableReading, topic: Topic) -> Hashable:
    """What a topic says now."""
    if topic.about is About.JOB:
        entry = table.get(JOB, topic.namespace, topic.job)
        job = job_of(entry) if entry is not None else None
        if job is None:
            return None
        return job.uid, job.id, job.has_ended, _Same(job.hand_over)
    entry = table.get(PE, topic.namespace, labels.pe_name(topic.job, topic.pe))
    pe = pe_of(entry) if entry is not None else None
    if topic.about is About.PE:
        return None if pe is None else (pe.uid, pe.launch, pe.trace)
    pods = map(pod_of, pods_of(table, topic.namespace, topic.job, topic.pe))
    return address_in(pods, pe)


class _Same:
    """Equal to what has the same contents; objects of facts are never changed."""

    __slots__ = ("of",)

    def __init__(self, of: object) -> None:
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and (self.of is other.of or self.of == other.of)

    def __hash__(self) -> int:
        return 0
