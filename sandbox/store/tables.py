"""The objects of one resource, with the indexes, history and watches that belong to them.

What a write means is decided elsewhere (store.py, updating.py, deleting.py); a table only stores
what it is given and tells its watches.
"""

from __future__ import annotations

from collections.abc import Iterable

from sandbox.store.resources import ResourceType
from sandbox.store.selecting import Selector
from sandbox.store.watching import Change, History, StoredObject, Watch, WatchEvent, at_version

Location = tuple[str, str]  # namespace ("" for objects of the cluster), name


class Table:
    """Everything that is known about one resource (all of its versions)."""

    def __init__(self, rt: ResourceType, changes_max: int) -> None:
        self.rt = rt
        self.history = History(changes_max)
        self.version = 0  # of the newest change
        self.watches: dict[Watch, None] = {}  # in order of arrival, so that runs are repeatable
        self._namespaces: dict[str, dict[str, StoredObject]] = {}
        self._dependents: dict[str, dict[Location, None]] = {}

    def get(self, namespace: str, name: str) -> StoredObject | None:
        objects = self._namespaces.get(namespace)
        return objects.get(name) if objects else None

    @property
    def empty(self) -> bool:
        return not self._namespaces

    def select(self, namespace: str | None, selector: Selector) -> list[StoredObject]:
        """What matches, ordered by `namespace/name` as etcd orders its keys."""
        if namespace is None:
            ordered = self._everything()
            return [obj for obj in ordered if selector.everything or selector.matches(obj)]
        objects = self._namespaces.get(namespace, {})
        if selector.name is not None:
            found = objects.get(selector.name)
            return [found] if found is not None and selector.matches(found) else []
        if selector.everything:
            return [objects[name] for name in sorted(objects)]
        return [obj for _, obj in sorted(objects.items()) if selector.matches(obj)]

    def select_as_of(
        self, version: int, namespace: str | None, selector: Selector
    ) -> list[StoredObject] | None:
        """What matched at an older version, or None when the changes since are forgotten."""
        changes = self.history.since(version)
        if changes is None:
            return None
        objects = {
            (space, name): obj
            for space, held in self._namespaces.items()
            if namespace is None or space == namespace
            for name, obj in held.items()
        }
        for change in reversed(changes):
            meta = change.event.object["metadata"]
            if namespace is not None and change.namespace != namespace:
                continue
            if change.previous is None:
                objects.pop((change.namespace, meta["name"]), None)
            else:
                objects[change.namespace, meta["name"]] = change.previous
        keys = sorted(objects, key="/".join)
        return [objects[key] for key in keys if selector.matches(objects[key])]

    def dependents(self, uid: str) -> list[StoredObject]:
        """The objects that name `uid` as an owner."""
        found = (self.get(*location) for location in self._dependents.get(uid, ()))
        return [obj for obj in found if obj is not None]

    def put(self, obj: StoredObject, previous: StoredObject | None) -> None:
        """Store a new version and tell the watches."""
        meta = obj["metadata"]
        location = (meta.get("namespace", ""), meta["name"])
        self._namespaces.setdefault(location[0], {})[location[1]] = obj
        self._index_owners(location, obj, previous)
        event = WatchEvent("ADDED" if previous is None else "MODIFIED", obj, obj.version)
        self._tell(Change(event, location[0], previous))

    def remove(self, obj: StoredObject, version: int) -> StoredObject:
        """Forget an object; the result is what its DELETED event shows."""
        meta = obj["metadata"]
        location = (meta.get("namespace", ""), meta["name"])
        objects = self._namespaces[location[0]]
        del objects[location[1]]
        if not objects:
            del self._namespaces[location[0]]
        self._index_owners(location, None, obj)
        last = at_version(obj, version)
        self._tell(Change(WatchEvent("DELETED", last, version), location[0], obj))
        return last

    def _everything(self) -> list[StoredObject]:
        keyed = {
            f"{space}/{name}": obj
            for space, objects in self._namespaces.items()
            for name, obj in objects.items()
        }
        return [keyed[key] for key in sorted(keyed)]

    def _tell(self, change: Change) -> None:
        self.version = change.version
        self.history.append(change)
        for watch in tuple(self.watches):
            watch.receive(change)

    def _index_owners(
        self, location: Location, obj: StoredObject | None, previous: StoredObject | None
    ) -> None:
        before, after = set(owner_uids(previous)), set(owner_uids(obj))
        for uid in before - after:
            held = self._dependents[uid]
            del held[location]
            if not held:
                del self._dependents[uid]
        for uid in sorted(after - before):
            self._dependents.setdefault(uid, {})[location] = None


def owner_uids(obj: StoredObject | None) -> Iterable[str]:
    if obj is None:
        return ()
    owners = obj["metadata"].get("ownerReferences")
    return [owner.get("uid", "") for owner in owners] if owners else ()
