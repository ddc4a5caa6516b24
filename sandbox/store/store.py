"""The store: every request that an API server answers about objects, as a method.

Order of a write: what was sent is made readable (metadata.py), the strategy of the resource admits
it (strategies.py), it is validated, stored under the next resourceVersion (tables.py), and watches
are told. Objects are never changed after they were stored, and what the methods return is shared
with everybody: treat it as frozen. What is passed in belongs to the store from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.store import deleting, metadata, pods, services
from sandbox.store.builtin import BuiltinStrategy
from sandbox.store.deleting import DeleteOptions
from sandbox.store.errors import (
    Cause,
    already_exists,
    conflict,
    forbidden,
    invalid,
    not_found,
)
from sandbox.store.naming import metadata_causes
from sandbox.store.patching import patched
from sandbox.store.resources import BUILTIN, NAMESPACE, POD, Registry, ResourceType
from sandbox.store.selecting import selector_of
from sandbox.store.strategies import Body, Strategy
from sandbox.store.tables import Table
from sandbox.store.timestamps import rfc3339
from sandbox.store.watching import StoredObject, Watch

GENERATE_NAME_TRIES_MAX = 8
FIRST_NAMESPACES = ("default", "kube-system")


@dataclass(frozen=True)
class Listing:
    """The objects that matched, and the version as of which that is so."""

    items: list[StoredObject]
    resource_version: int


@dataclass(frozen=True)
class Removal:
    """What a DELETE led to: the object as it is now, or as it was last if it is `gone`."""

    object: StoredObject
    gone: bool


class Store:
    """A cluster's objects. All methods raise errors.ApiError for what is refused.

    `now` gives unix seconds, `new_uid` a fresh UUID; `history_max` is how many changes of a
    resource a watch can go back to.
    """

    def __init__(
        self,
        *,
        now: Callable[[], float],
        new_uid: Callable[[], str],
        history_max: int = 20_000,
    ) -> None:
        self.registry = Registry()
        self.version = 0
        self._now = now
        self._new_uid = new_uid
        self._history_max = history_max
        self._addresses = services.Addresses()
        self._tables: dict[str, Table] = {}
        self._strategies: dict[str, Strategy] = {}
        for rt in BUILTIN:
            self._tables[rt.key] = Table(rt, history_max)
            self._strategies[rt.key] = BuiltinStrategy(rt, self._addresses)
        for name in FIRST_NAMESPACES:
            self.create(NAMESPACE, None, {"metadata": {"name": name}})
        self.cluster_uid: str = self.get(NAMESPACE, None, "kube-system")["metadata"]["uid"]

    # Reading

    def get(
        self, rt: ResourceType, namespace: str | None, name: str, *, subresource: str = ""
    ) -> StoredObject:
        """The object, or its Scale with `subresource="scale"`. 404 if there is none."""
        return self._existing(rt, namespace, name)

    def list(
        self, rt: ResourceType, namespace: str | None, *, labels: str = "", fields: str = ""
    ) -> Listing:
        """What matches in one namespace, or in all (None), ordered by namespace and name."""
        selector = selector_of(rt, labels, fields)
        return Listing(self._table(rt).select(namespace, selector), self.version)

    def dependents(self, uid: str) -> list[tuple[ResourceType, StoredObject]]:
        """Everything that names `uid` among its owners."""
        return [
            (table.rt, obj) for table in self._tables.values() for obj in table.dependents(uid)
        ]

    def watch(
        self,
        rt: ResourceType,
        namespace: str | None,
        *,
        labels: str = "",
        fields: str = "",
        since: int | None = None,
        bookmarks: bool = False,
        initial_events: bool = False,
    ) -> Watch:
        """Follow a resource.

        With `since`: changes after that version; an ERROR event 410 if they are forgotten.
        Without it (or with 0): ADDED for what exists, then changes. `initial_events` does the
        same and marks the end of what existed with an annotated bookmark (a streaming list).
        """
        table = self._table(rt)
        selector = selector_of(rt, labels, fields)
        watch = Watch(
            rt,
            namespace,
            selector,
            bookmarks=bookmarks or initial_events,
            on_close=lambda closed: table.watches.pop(closed, None),
            current_version=lambda: self.version,
        )
        if initial_events or not since:
            watch.begin_with(table.select(namespace, selector), announce_end=initial_events)
        elif (missed := table.history.since(since)) is None:
            watch.expire(since, table.history.forgotten)
            return watch
        else:
            for change in missed:
                watch.receive(change)
        table.watches[watch] = None
        return watch

    def forget_history(self) -> None:
        """Compact: watches can no longer start before the current version."""
        for table in self._tables.values():
            table.history.forget_all(self.version)

    # Writing

    def create(
        self,
        rt: ResourceType,
        namespace: str | None,
        body: Any,
        *,
        field_validation: str = "",
        dry_run: bool = False,
    ) -> StoredObject:
        """POST. 404 without the namespace, 409 if the name is taken, 422 if it is invalid."""
        obj = metadata.typed(rt, body)
        metadata.place(rt, namespace, obj)
        self._require_namespace(rt, namespace, obj["metadata"].get("name", ""))
        strategy = self._strategies[rt.key]
        self._name(rt, obj)
        obj = strategy.admit_new(obj, field_validation=field_validation)
        causes = metadata_causes(rt, obj["metadata"]) + strategy.causes_against_new(obj)
        self._refuse(rt, obj, causes)
        metadata.refuse_version_on_create(obj)
        meta = obj["metadata"]
        if self._table(rt).get(meta.get("namespace", ""), meta["name"]) is not None:
            raise already_exists(rt, meta["name"])
        if dry_run:
            return StoredObject(obj, 0)
        return self._commit(rt, obj, None)

    def replace(
        self,
        rt: ResourceType,
        namespace: str | None,
        name: str,
        body: Any,
        *,
        subresource: str = "",
        field_validation: str = "",
        dry_run: bool = False,
    ) -> StoredObject:
        """PUT. A uid in the body has to be that of the object (409)."""
        old = self._existing(rt, namespace, name)
        obj = metadata.typed(rt, body)
        sent_uid = obj["metadata"].get("uid")
        if sent_uid and sent_uid != old["metadata"]["uid"]:
            why = (
                f"Precondition failed: UID in precondition: {sent_uid}, UID in object meta: "
                f"{old['metadata']['uid']}"
            )
            raise conflict(rt, name, why)
        return self._change(rt, namespace, old, obj, subresource, field_validation, dry_run)

    def patch(
        self,
        rt: ResourceType,
        namespace: str | None,
        name: str,
        patch: Any,
        content_type: str,
        *,
        subresource: str = "",
        field_validation: str = "",
        dry_run: bool = False,
    ) -> StoredObject:
        """PATCH with an already decoded `patch`; see patching.py for the types."""
        old = self._existing(rt, namespace, name)
        obj = metadata.typed(rt, patched(rt, old, patch, content_type))
        return self._change(rt, namespace, old, obj, subresource, field_validation, dry_run)

    def delete(
        self,
        rt: ResourceType,
        namespace: str | None,
        name: str,
        options: DeleteOptions | None = None,
    ) -> StoredObject | None:
        """DELETE. The object if it still exists afterwards, None if it is gone."""
        removal = self.remove(rt, namespace, name, options)
        return None if removal.gone else removal.object

    def remove(
        self,
        rt: ResourceType,
        namespace: str | None,
        name: str,
        options: DeleteOptions | None = None,
    ) -> Removal:
        """As `delete`, with the last state of what is gone."""
        return self._remove(rt, self._existing(rt, namespace, name), options or DeleteOptions())

    def delete_collection(
        self,
        rt: ResourceType,
        namespace: str | None,
        options: DeleteOptions | None = None,
        *,
        labels: str = "",
        fields: str = "",
    ) -> list[StoredObject]:
        """DELETE of everything that matches; the result is what was found."""
        found = self.list(rt, namespace, labels=labels, fields=fields).items
        for obj in found:
            self._remove(rt, obj, options or DeleteOptions())
        return found

    def bind(self, namespace: str, name: str, node: str) -> StoredObject:
        """POST pods/binding: give a Pod its node; 409 if it has one or is being deleted."""
        pod = self._existing(POD, namespace, name)
        if pod["metadata"].get("deletionTimestamp"):
            raise conflict(
                POD, name, f"pod {name} is being deleted, cannot be assigned to a host"
            )
        if assigned := pod["spec"].get("nodeName"):
            raise conflict(POD, name, f'pod {name} is already assigned to node "{assigned}"')
        obj = pods.bound(pod, node, rfc3339(self._now()))
        obj["metadata"] = dict(pod["metadata"])
        return self._commit(POD, obj, pod)

    # Below: how the above is done

    def _table(self, rt: ResourceType) -> Table:
        return self._tables[rt.key]

    def _existing(self, rt: ResourceType, namespace: str | None, name: str) -> StoredObject:
        table = self._tables.get(rt.key)
        found = table.get(namespace or "", name) if table else None
        if found is None:
            raise not_found(rt, name)
        return found

    def _require_namespace(self, rt: ResourceType, namespace: str | None, name: str) -> None:
        if not rt.namespaced:
            return
        found = self._tables[NAMESPACE.key].get("", namespace or "")
        if found is None:
            raise not_found(NAMESPACE, namespace or "")
        if found["metadata"].get("deletionTimestamp"):
            cause = Cause(
                "metadata.namespace",
                f"namespace {namespace} is being terminated",
                "NamespaceTerminating",
            )
            why = (
                f"unable to create new content in namespace {namespace} because it is being "
                "terminated"
            )
            raise forbidden(rt, name, why, [cause])

    def _name(self, rt: ResourceType, obj: Body) -> None:
        generated = not obj["metadata"].get("name")
        for _ in range(GENERATE_NAME_TRIES_MAX):
            metadata.begin(rt, obj, uid=self._new_uid(), now=self._now())
            meta = obj["metadata"]
            taken = self._table(rt).get(meta.get("namespace", ""), meta["name"])
            if not generated or taken is None:
                return
            meta.pop("name")
        metadata.begin(rt, obj, uid=self._new_uid(), now=self._now())

    def _change(
        self,
        rt: ResourceType,
        namespace: str | None,
        old: StoredObject,
        obj: Body,
        subresource: str,
        field_validation: str,
        dry_run: bool,
    ) -> StoredObject:
        metadata.check_same_object(obj, old)
        metadata.place(rt, namespace, obj)
        metadata.check_version(rt, obj, old)
        strategy = self._strategies[rt.key]
        obj = strategy.admit_change(
            obj, old, subresource=subresource, field_validation=field_validation
        )
        obj["metadata"] = dict(obj["metadata"])
        metadata.keep_identity(obj, old)
        metadata.count_generation(rt, obj, old)
        if metadata.same(obj, old):
            return old
        causes = metadata.change_causes(rt, obj, old)
        causes += strategy.causes_against_change(obj, old, subresource=subresource)
        self._refuse(rt, obj, causes)
        if dry_run:
            return StoredObject(obj, old.version)
        if deleting.leaves_with(obj, old):
            self._forget(rt, old)
            return StoredObject(obj, old.version)
        return self._commit(rt, obj, old)

    def _remove(self, rt: ResourceType, obj: StoredObject, options: DeleteOptions) -> Removal:
        decision = deleting.decide(rt, obj, options, self._now())
        if options.dry_run:
            return Removal(obj, decision.gone)
        if decision.marked is not None and not metadata.same(decision.marked, obj):
            obj = self._commit(rt, decision.marked, obj)
        if decision.gone:
            obj = self._forget(rt, obj)
        return Removal(obj, decision.gone)

    def _refuse(self, rt: ResourceType, obj: Mapping[str, Any], causes: list[Cause]) -> None:
        if causes:
            raise invalid(rt, obj["metadata"]["name"], causes)

    def _commit(self, rt: ResourceType, obj: Body, old: StoredObject | None) -> StoredObject:
        self.version += 1
        obj["metadata"] = {**obj["metadata"], "resourceVersion": str(self.version)}
        stored = StoredObject(obj, self.version)
        self._table(rt).put(stored, old)
        return stored

    def _forget(self, rt: ResourceType, obj: StoredObject) -> StoredObject:
        self.version += 1
        if rt.key == "services":
            self._addresses.release(obj)
        return self._table(rt).remove(obj, self.version)
