"""Everything that happens to the objects that matter: who was created and deleted, how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from contracts import labels
from sandbox.store.store import Store
from tests.sandboxed import kind_of
from tests.simulation.mains import MAINS

PLURALS = (
    *("streamsjobs", "streamspes", "streamsprs", "streamshostpools", "streamsplacements"),
    *("pods", "configmaps", "secrets", "services", "events"),
)
Obj = Mapping[str, Any]


class AllChanges:
    """Follows every kind from the moment on at which it is made."""

    def __init__(self, store: Store) -> None:
        self._watches = {
            plural: store.watch(kind_of(store, plural), None, since=store.version)
            for plural in PLURALS
        }
        self.created: Counter[str] = Counter()
        self.deleted: Counter[str] = Counter()
        self.modified: Counter[str] = Counter()
        self.log: list[tuple[str, str]] = []
        self.names: dict[str, str] = {}
        for plural in PLURALS:
            for item in store.list(kind_of(store, plural), None).items:
                self._name(plural, item)

    def take(self) -> bool:
        """Take in what was written since the last call; whether there was anything."""
        found = False
        for plural, watch in self._watches.items():
            if not watch.ready:
                continue
            for event in watch.take():
                found = True
                self._note(plural, event.type, event.object)
        return found

    def _note(self, plural: str, what: str, obj: Obj) -> None:
        if plural == "events" and (obj.get("source") or {}).get("component") not in MAINS:
            return
        name = self._name(plural, obj)
        self.log.append((what, name))
        if what == "ADDED":
            self.created[name] += 1
        elif what == "DELETED":
            self.deleted[name] += 1
        else:
            self.modified[name] += 1

    def _name(self, plural: str, obj: Obj) -> str:
        """What the object is called in every run, whatever its uid."""
        meta = obj["metadata"]
        name = stable_name(plural, obj)
        self.names[meta["uid"]] = name
        self.names[meta["name"]] = name.partition("/")[2]
        return name


def stable_name(plural: str, obj: Obj) -> str:
    """Kind and name, where the name does not depend on a uid."""
    meta = obj["metadata"]
    launch = (meta.get("labels") or {}).get(labels.LAUNCH_COUNT)
    if plural == "pods" and launch is not None:
        owner = next(iter(meta.get("ownerReferences") or ()), {"name": "nobody"})
        return f"pods/{owner['name']}#{launch}"
    if plural == "events":
        about = obj["involvedObject"]
        return f"events/{about['kind']} {about['name']} {obj['reason']}"
    return f"{plural}/{meta['name']}"
