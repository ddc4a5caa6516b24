"""Watches: what happened to the objects of one resource, from a version on.

Lives here: events, the bounded history of a resource, and a watch with its selector. A watch
never waits: it holds what has not been taken yet and calls `on_ready` when something arrives, so
that HTTP and controllers can bring their own kind of waiting. Tables (tables.py) feed it.
"""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Literal

from sandbox.store.errors import ApiError, expired
from sandbox.store.folding import written
from sandbox.store.resources import ResourceType
from sandbox.store.selecting import Selector

EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
WATCH_BACKLOG_MAX = 50_000  # events not taken; a watcher that is slower than that is closed
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class StoredObject(dict[str, Any]):
    """One version of an object. Never changed after it was stored; `json` is made once."""

    __slots__ = ("_json", "version")

    def __init__(self, body: dict[str, Any], version: int) -> None:
        super().__init__(body)
        self.version = version
        self._json: bytes | None = None

    @property
    def json(self) -> bytes:
        if self._json is None:
            self._json = written(self)
        return self._json


class WatchEvent:
    """One line of a watch. `frame` is that line as JSON, made once for all watchers."""

    __slots__ = ("_frame", "object", "resource_version", "type")

    def __init__(self, type_: EventType, obj: dict[str, Any], resource_version: int) -> None:
        self.type: EventType = type_
        self.object = obj
        self.resource_version = resource_version
        self._frame: bytes | None = None

    @property
    def frame(self) -> bytes:
        if self._frame is None:
            obj = self.object
            body = obj.json if isinstance(obj, StoredObject) else written(obj)
            self._frame = b'{"type":"%s","object":%s}\n' % (self.type.encode(), body)
        return self._frame

    def __repr__(self) -> str:
        meta = self.object.get("metadata", {})
        return f"WatchEvent({self.type} {meta.get('name')} @{self.resource_version})"


class Change:
    """A write that was stored: the event everybody sees, and what was there before."""

    __slots__ = ("event", "namespace", "previous", "version")

    def __init__(self, event: WatchEvent, namespace: str, previous: StoredObject | None) -> None:
        self.event = event
        self.namespace = namespace
        self.previous = previous
        self.version = event.resource_version


class History:
    """The latest changes of one resource, oldest first; at most `changes_max` of them."""

    def __init__(self, changes_max: int) -> None:
        self._changes: list[Change] = []
        self._changes_max = changes_max
        self.forgotten = 0  # version of the newest change that is no longer known

    def append(self, change: Change) -> None:
        self._changes.append(change)
        if len(self._changes) >= 2 * self._changes_max:  # in bulk: a pop(0) each would be slow
            self._forget(len(self._changes) - self._changes_max)

    def since(self, version: int) -> list[Change] | None:
        """Changes after `version`, or None when some of them are forgotten."""
        if version < self.forgotten:
            return None
        start = bisect.bisect_right(self._changes, version, key=lambda change: change.version)
        return self._changes[start:]

    def forget_all(self, version: int) -> None:
        """Forget every change up to `version`, as a compaction does."""
        self._changes.clear()
        self.forgotten = max(self.forgotten, version)

    def _forget(self, count: int) -> None:
        self.forgotten = self._changes[count - 1].version
        del self._changes[:count]


class Watch:
    """A subscription to one resource, in one namespace or in all (None).

    `on_ready` is called in the middle of a write: it may wake somebody, but not call the store.
    """

    def __init__(
        self,
        rt: ResourceType,
        namespace: str | None,
        selector: Selector,
        *,
        bookmarks: bool,
        since: int,
        on_close: Callable[[Watch], None],
        current_version: Callable[[], int],
    ) -> None:
        self.rt = rt
        self.on_ready: Callable[[], None] | None = None
        self.closed = False
        self._namespace = namespace
        self._selector = selector
        self._bookmarks = bookmarks
        self._since = since
        self._on_close = on_close
        self._current_version = current_version
        self._events: deque[WatchEvent] = deque()

    def take(self) -> list[WatchEvent]:
        """Everything that happened since the last call; empty when nothing did."""
        events = list(self._events)
        self._events.clear()
        return events

    @property
    def ready(self) -> bool:
        return bool(self._events) or self.closed

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._on_close(self)
            self._wake()

    def offer_bookmark(self) -> None:
        """Send how far the watch has come, if bookmarks were requested and nothing waits."""
        if self._bookmarks and not self._events and not self.closed:
            self._push(self._bookmark({}))

    def begin_with(self, objects: Iterable[StoredObject]) -> None:
        """Say ADDED for what exists and, to who takes bookmarks, that this was all."""
        version = self._current_version()
        for obj in objects:
            self._events.append(WatchEvent("ADDED", obj, obj.version))
        if self._bookmarks:
            self._events.append(self._bookmark({INITIAL_EVENTS_END: "true"}, version))
        if self._events:
            self._wake()

    def expire(self, since: int, oldest: int) -> None:
        """End the watch with the ERROR event of a history that is gone."""
        self.fail(expired(f"too old resource version: {since} ({oldest})"))

    def fail(self, error: ApiError) -> None:
        """End the watch with an ERROR event instead of what waits."""
        self._events.clear()
        self._events.append(WatchEvent("ERROR", error.status(), 0))
        self.close()

    def receive(self, change: Change) -> None:
        """Take a change of the resource, if this watch sees it."""
        if change.version <= self._since:
            return
        if self._namespace is not None and change.namespace != self._namespace:
            return
        event = change.event if self._selector.everything else self._selected(change)
        if event is not None:
            self._push(event)

    def _selected(self, change: Change) -> WatchEvent | None:
        event = change.event
        was_seen = change.previous is not None and self._selector.matches(change.previous)
        if event.type == "DELETED":
            return event if was_seen else None
        is_seen = self._selector.matches(event.object)
        if is_seen:
            seen_as: EventType = "MODIFIED" if was_seen else "ADDED"
            if seen_as == event.type:
                return event
            return WatchEvent(seen_as, event.object, change.version)
        if was_seen and change.previous is not None:
            return WatchEvent(
                "DELETED", at_version(change.previous, change.version), change.version
            )
        return None

    def _push(self, event: WatchEvent) -> None:
        if len(self._events) >= WATCH_BACKLOG_MAX:
            self.close()
            return
        self._events.append(event)
        self._wake()

    def _wake(self) -> None:
        if self.on_ready is not None:
            self.on_ready()

    def _bookmark(self, annotations: dict[str, str], version: int | None = None) -> WatchEvent:
        version = self._current_version() if version is None else version
        meta: dict[str, Any] = {"resourceVersion": str(version)}
        if annotations:
            meta["annotations"] = annotations
        body = {"kind": self.rt.kind, "apiVersion": self.rt.api_version, "metadata": meta}
        return WatchEvent("BOOKMARK", body, version)


def at_version(obj: StoredObject, version: int) -> StoredObject:
    """The same content under another resourceVersion: what DELETED events carry."""
    body = dict(obj)
    body["metadata"] = {**obj["metadata"], "resourceVersion": str(version)}
    return StoredObject(body, version)
