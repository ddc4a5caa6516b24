"""What is stored: all tables under one version counter, and the types that are served.

State carries out; it decides nothing. Requests are understood in store.py, and whether a request
is right is decided by strategies, metadata.py and deleting.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sandbox.store import definitions
from sandbox.store.builtin import BuiltinStrategy
from sandbox.store.errors import method_not_allowed, not_found, object_too_large
from sandbox.store.resources import (
    BUILTIN,
    CUSTOM_RESOURCE_DEFINITION,
    SERVICE,
    Registry,
    ResourceType,
)
from sandbox.store.scaling import ScalePaths
from sandbox.store.services import Addresses
from sandbox.store.strategies import Body, Strategy
from sandbox.store.tables import Table
from sandbox.store.watching import StoredObject

OBJECT_BYTES_MAX = 1536 * 1024
"""etcd's limit of a request; core kinds, which it stores in less, do not get there."""


class State:
    """Every object of the cluster. `version` is the newest resourceVersion."""

    def __init__(self, *, now: Callable[[], float], history_max: int) -> None:
        self.registry = Registry()
        self.version = 0
        self.tables: dict[str, Table] = {}
        self._history_max = history_max
        self._addresses = Addresses()
        self._strategies: dict[str, Strategy] = {}
        self._scales: dict[str, ScalePaths] = {}
        for rt in BUILTIN:
            self.tables[rt.key] = Table(rt, history_max)
            self._strategies[rt.key] = BuiltinStrategy(rt, self._addresses)
        self._strategies[CUSTOM_RESOURCE_DEFINITION.key] = definitions.DefinitionStrategy(now)

    def table(self, rt: ResourceType) -> Table:
        """404 if the type is no longer served."""
        found = self.tables.get(rt.key)
        if found is None:
            raise not_found(rt, "")
        return found

    def strategy(self, rt: ResourceType) -> Strategy:
        self.table(rt)
        return self._strategies[rt.key]

    def scale_paths(self, rt: ResourceType) -> ScalePaths:
        found = self._scales.get(rt.key)
        if found is None:
            raise method_not_allowed(rt, "scale")
        return found

    def existing(self, rt: ResourceType, namespace: str | None, name: str) -> StoredObject:
        found = self.table(rt).get((namespace or "") if rt.namespaced else "", name)
        if found is None:
            raise not_found(rt, name)
        return found

    def commit(self, rt: ResourceType, obj: Body, old: StoredObject | None) -> StoredObject:
        """Store `obj` as the next version of `old`, or as a new object; 500 if it is too large."""
        version = self.version + 1
        body = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(version)}}
        stored = StoredObject(body, version)
        if rt.custom and len(stored.json) > OBJECT_BYTES_MAX:
            raise object_too_large()
        self.version = version
        self.table(rt).put(stored, old)
        if rt.key == CUSTOM_RESOURCE_DEFINITION.key:
            self._serve(stored)
        return stored

    def forget(self, rt: ResourceType, obj: StoredObject) -> StoredObject:
        """Remove an object; the result carries the version of its removal."""
        self.version += 1
        last = self.table(rt).remove(obj, self.version)
        if rt.key == SERVICE.key:
            self._addresses.release(obj)
        if rt.key == CUSTOM_RESOURCE_DEFINITION.key:
            self._withdraw(obj)
        if rt.custom:
            self._complete_definition(rt.key)
        return last

    def complete_definition(self, definition: Mapping[str, Any]) -> bool:
        """Let a definition that is being deleted go if no object is left; whether it is gone."""
        self._complete_definition(definition["metadata"]["name"])
        table = self.tables[CUSTOM_RESOURCE_DEFINITION.key]
        return table.get("", definition["metadata"]["name"]) is None

    def _complete_definition(self, key: str) -> None:
        definition = self.tables[CUSTOM_RESOURCE_DEFINITION.key].get("", key)
        if definition is None or not definition["metadata"].get("deletionTimestamp"):
            return
        table = self.tables.get(key)
        if table is not None and not table.empty:
            return
        left = definitions.without_cleanup(definition)
        if not left["metadata"]["finalizers"]:
            self.forget(CUSTOM_RESOURCE_DEFINITION, definition)
        elif left["metadata"]["finalizers"] != definition["metadata"]["finalizers"]:
            self.commit(CUSTOM_RESOURCE_DEFINITION, left, definition)

    def _serve(self, definition: StoredObject) -> None:
        found = definitions.served(definition)
        key = found.rt.key
        if self.registry.find(found.rt.group, found.rt.version, found.rt.plural) != found.rt:
            self.registry.withdraw(found.rt.group, found.rt.plural)
            self.registry.publish(found.rt)
        self._strategies[key] = found.strategy
        if key in self.tables:
            self.tables[key].rt = found.rt
        else:
            self.tables[key] = Table(found.rt, self._history_max)
            self.tables[key].history.forget_all(self.version)
        self._scales.pop(key, None)
        if found.scale is not None:
            self._scales[key] = found.scale

    def _withdraw(self, definition: StoredObject) -> None:
        spec = definition["spec"]
        self.registry.withdraw(spec["group"], spec["names"]["plural"])
        key = definition["metadata"]["name"]
        for watch in tuple(self.tables[key].watches):
            watch.close()
        del self.tables[key], self._strategies[key]
        self._scales.pop(key, None)
