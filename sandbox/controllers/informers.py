"""What the controllers know of the cluster: one watch per resource, one cache, many listeners.

`Informers` takes what the watches bring and tells listeners (old, new) in the order in which the
store was written, across resources. Listeners only note what is dirty; deciding and writing is the
business of the controllers (see work_queue.py), which read the store again before they destroy.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from sandbox.store.resources import ResourceType
from sandbox.store.store import Store
from sandbox.store.watching import Watch, WatchEvent

Obj = Mapping[str, Any]
Location = tuple[str, str]  # namespace ("" for objects of the cluster), name
Listener = Callable[[Obj | None, Obj | None], None]
ListenerOfAll = Callable[[ResourceType, Obj | None, Obj | None], None]

logger = logging.getLogger(__name__)


def location_of(obj: Obj) -> Location:
    meta = obj["metadata"]
    return meta.get("namespace", ""), meta["name"]


class Informer:
    """The objects of one resource as of the last event that was taken."""

    def __init__(self, rt: ResourceType) -> None:
        self.rt = rt
        self.objects: dict[Location, Obj] = {}
        self.listeners: list[Listener] = []
        self._watch: Watch | None = None

    def open(self, store: Store, on_ready: Callable[[], None]) -> None:
        """List, tell the difference to what was known, and watch from there."""
        self.close()
        listing = store.list(self.rt, None)
        present = {location_of(obj): obj for obj in listing.items}
        for location in [known for known in self.objects if known not in present]:
            self._learn(location, None)
        for location, obj in present.items():
            self._learn(location, obj)
        self._watch = store.watch(self.rt, None, since=int(listing.resource_version))
        self._watch.on_ready = on_ready

    def close(self) -> None:
        if self._watch is not None:
            self._watch.on_ready = None
            self._watch.close()
            self._watch = None

    def leave(self) -> None:
        """Close for good: the resource is no longer served, so its objects are gone."""
        self.close()
        for location in list(self.objects):
            self._learn(location, None)

    def take(self) -> list[WatchEvent]:
        return self._watch.take() if self._watch is not None else []

    @property
    def ended(self) -> bool:
        """Whether the watch is over, so that only a new list can tell what happened."""
        return self._watch is None or self._watch.closed

    def apply(self, event: WatchEvent) -> None:
        if event.type in {"ADDED", "MODIFIED"}:
            self._learn(location_of(event.object), event.object)
        elif event.type == "DELETED":
            self._learn(location_of(event.object), None)

    def _learn(self, location: Location, new: Obj | None) -> None:
        old = self.objects.get(location)
        if new is None:
            self.objects.pop(location, None)
        else:
            self.objects[location] = new
        if old is new or (old is not None and new is not None and _same_version(old, new)):
            return
        for listener in self.listeners:
            try:
                listener(old, new)
            except Exception:
                # An object that one controller cannot read must not blind the others.
                logger.exception("cannot take in %s %s", self.rt.kind, location)


class Informers:
    """All informers of the process, and the task that feeds them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._informers: dict[str, Informer] = {}
        self._listeners_of_all: list[ListenerOfAll] = []
        self._ready: dict[str, None] = {}
        self._revision = -1
        self._wake = asyncio.Event()

    def of(self, rt: ResourceType) -> Informer:
        """The informer of a resource; made at the first call."""
        if rt.key not in self._informers:
            informer = self._informers[rt.key] = Informer(rt)
            for listener in self._listeners_of_all:
                informer.listeners.append(_bound(listener, rt))
        return self._informers[rt.key]

    def listen_to_all(self, listener: ListenerOfAll) -> None:
        """Tell `listener` of every object of every resource, of later CRDs as well."""
        self._listeners_of_all.append(listener)
        for informer in self._informers.values():
            informer.listeners.append(_bound(listener, informer.rt))

    def open(self) -> None:
        """List everything; listeners hear of every object before this returns."""
        self._follow_registry()
        for informer in list(self._informers.values()):
            if informer.ended:
                informer.open(self._store, self._waker(informer))

    async def run(self) -> None:
        """Feed the informers until cancelled."""
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                self._drain()
        finally:
            for informer in self._informers.values():
                informer.close()

    def _drain(self) -> None:
        ready, self._ready = [self._informers[key] for key in self._ready], {}
        taken = [(event, informer) for informer in ready for event in informer.take()]
        # Versions are counted for the whole store: causes are delivered before their consequences.
        taken.sort(key=lambda pair: pair[0].resource_version)
        for event, informer in taken:
            informer.apply(event)
        for informer in ready:
            if informer.ended and self._store.registry.revision == self._revision:
                logger.warning("the watch of %s ended; listing again", informer.rt.key)
                informer.open(self._store, self._waker(informer))
        if self._store.registry.revision != self._revision:
            self._follow_registry()

    def _follow_registry(self) -> None:
        """Open what a CRD added, leave what is no longer served."""
        self._revision = self._store.registry.revision
        served = {rt.key: rt for rt in reversed(self._store.registry.all())}
        for key in [known for known in self._informers if known not in served]:
            self._informers.pop(key).leave()
        for rt in served.values():
            informer = self.of(rt)
            if informer.ended:
                informer.open(self._store, self._waker(informer))

    def _waker(self, informer: Informer) -> Callable[[], None]:
        key = informer.rt.key

        def wake() -> None:
            if key in self._informers:
                self._ready[key] = None
                self._wake.set()

        return wake


def _bound(listener: ListenerOfAll, rt: ResourceType) -> Listener:
    return lambda old, new: listener(rt, old, new)


def _same_version(one: Obj, other: Obj) -> bool:
    version = one["metadata"].get("resourceVersion")
    return bool(version == other["metadata"].get("resourceVersion"))
