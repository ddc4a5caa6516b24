"""The store: every request that an API server answers about objects, as a method.

Order of a write: what was sent is made readable (metadata.py), the strategy of the resource admits
it (strategies.py), it is validated, stored under the next resourceVersion (state.py), and watches
are notified. Objects are never changed after they were stored, and what the methods return is
shared with everybody: treat it as frozen. What is passed in belongs to the store from then on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sandbox.store import definitions, deleting, errors, managed_fields, metadata, pods, scaling
from sandbox.store.deleting import DeleteOptions
from sandbox.store.naming import metadata_causes
from sandbox.store.patching import patched
from sandbox.store.resources import CUSTOM_RESOURCE_DEFINITION, NAMESPACE, NODE, POD, ResourceType
from sandbox.store.selecting import selector_of
from sandbox.store.state import State
from sandbox.store.strategies import Body
from sandbox.store.timestamps import rfc3339
from sandbox.store.validation import IGNORE, STRICT, FieldValidation
from sandbox.store.watching import StoredObject, Watch

GENERATE_NAME_TRIES_MAX = 8
Paths = list[str]
Objects = list[StoredObject]  # an alias because Store.list hides the builtin in annotations
Dependents = list[tuple[ResourceType, StoredObject]]
_BINDING = replace(POD, plural="pods/binding")  # as whom kube-apiserver refuses one
FIRST_NAMESPACES = ("default", "kube-system")
OLD_VERSION = "The resourceVersion for the provided list is too old."


@dataclass(frozen=True)
class Listing:
    """The objects that matched, and the version of that state."""

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
        self._state = State(now=now, history_max=history_max)
        self.registry = self._state.registry
        self._now = now
        self._new_uid = new_uid
        for name in FIRST_NAMESPACES:
            self.create(NAMESPACE, None, {"metadata": {"name": name}})
        self.cluster_uid: str = self.get(NAMESPACE, None, "kube-system")["metadata"]["uid"]

    @property
    def version(self) -> int:
        """The newest resourceVersion."""
        return self._state.version

    # Reading

    def get(
        self, rt: ResourceType, namespace: str | None, name: str, *, subresource: str = ""
    ) -> StoredObject:
        """The object, or its Scale with `subresource="scale"`. 404 if it does not exist."""
        obj = self._state.existing(rt, namespace, name)
        return self._scale(rt, obj) if subresource == "scale" else obj

    def list(
        self,
        rt: ResourceType,
        namespace: str | None,
        *,
        labels: str = "",
        fields: str = "",
        as_of: int | None = None,
    ) -> Listing:
        """What matches in one namespace, or in all (None), ordered by namespace and name.

        With `as_of`: what matched at that version; 410 if the changes since are forgotten.
        """
        selector = selector_of(rt, labels, fields)
        table = self._state.table(rt)
        if as_of is None:
            return Listing(table.select(namespace, selector), self.version)
        if as_of > self.version:
            raise errors.future_version(as_of)
        found = table.select_as_of(as_of, namespace, selector)
        if found is None:
            raise errors.expired(OLD_VERSION)
        return Listing(found, as_of)

    def dependents(self, uid: str) -> Dependents:
        """Everything that names `uid` among its owners."""
        return [
            (table.rt, obj)
            for table in self._state.tables.values()
            for obj in table.dependents(uid)
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
        initial_events: bool | None = None,
    ) -> Watch:
        """Follow a resource.

        With `since`: changes after that version; an ERROR event 410 if they are forgotten.
        Without it (or with 0), or with `initial_events`: ADDED for what exists, then changes. Who
        takes bookmarks gets the end of what existed by an annotated one (a streaming list).
        """
        table = self._state.table(rt)
        selector = selector_of(rt, labels, fields)
        watch = Watch(
            rt,
            namespace,
            selector,
            bookmarks=bookmarks,
            since=since or 0,
            on_close=lambda closed: table.watches.pop(closed, None),
            current_version=lambda: self.version,
        )
        if initial_events or not since:
            watch.begin_with(table.select(namespace, selector))
        else:
            missed = table.history.since(since)
            if missed is None:
                watch.expire(since, table.history.forgotten)
                return watch
            for change in missed:
                watch.receive(change)
        table.watches[watch] = None
        return watch

    def forget_history(self) -> None:
        """Compact: watches can no longer start before the current version."""
        for table in self._state.tables.values():
            table.history.forget_all(self.version)

    # Writing

    def create(
        self,
        rt: ResourceType,
        namespace: str | None,
        body: Any,
        *,
        validation: FieldValidation | None = None,
        dry_run: bool = False,
    ) -> StoredObject:
        """POST. 404 without the namespace, 409 if the name is taken, 422 if it is invalid."""
        validation = validation or FieldValidation()
        obj = self._read(rt, body, validation)
        metadata.place(rt, namespace, obj)
        self._require_namespace(rt, namespace, obj["metadata"].get("name", ""))
        strategy = self._state.strategy(rt)
        self._name(rt, obj)
        managed_fields.settle(rt, obj["metadata"], None)
        obj = self._in_topology(rt, strategy.admit_new(obj))
        meta = obj["metadata"]
        causes = metadata_causes(rt, meta) + strategy.causes_against_new(obj)
        if causes:
            raise errors.invalid(rt, meta["name"], causes)
        obj = strategy.as_stored(obj)
        metadata.refuse_version_on_create(obj)
        there = self._state.table(rt).get(meta.get("namespace", ""), meta["name"])
        if there is not None:
            ending = "deletionTimestamp" in there["metadata"]
            raise errors.already_exists(rt, meta["name"], ending=ending)
        if dry_run:
            return StoredObject(obj, 0)
        made = self._state.commit(rt, obj, None)
        if rt.key == CUSTOM_RESOURCE_DEFINITION.key:
            now = rfc3339(self._now())
            self._state.commit(rt, definitions.established(made, now), made)
        return made

    def replace(
        self,
        rt: ResourceType,
        namespace: str | None,
        name: str,
        body: Any,
        *,
        subresource: str = "",
        validation: FieldValidation | None = None,
        dry_run: bool = False,
    ) -> StoredObject:
        """PUT. A uid in the body has to be that of the object (409)."""
        old = self._state.existing(rt, namespace, name)
        metadata.require_object(rt, body)
        metadata.require_name(body)
        if subresource == "scale":
            scaled = scaling.scaled(old, body, self._state.scale_paths(rt))
            changed = self.replace(rt, namespace, name, scaled, dry_run=dry_run)
            return self._scale(rt, changed)
        validation = validation or FieldValidation()
        obj = self._read(rt, body, validation)
        metadata.place(rt, namespace, obj)
        metadata.check_uid(rt, obj, old)
        return self._change(rt, old, obj, validation, subresource=subresource, dry_run=dry_run)

    def patch(
        self,
        rt: ResourceType,
        namespace: str | None,
        name: str,
        patch: Any,
        content_type: str,
        *,
        subresource: str = "",
        validation: FieldValidation | None = None,
        dry_run: bool = False,
    ) -> StoredObject:
        """PATCH with an already decoded `patch`; see patching.py for the types."""
        old = self._state.existing(rt, namespace, name)
        if subresource == "scale":
            scale = patched(rt, self._scale(rt, old), patch, content_type)
            return self.replace(rt, namespace, name, scale, subresource="scale", dry_run=dry_run)
        body = patched(rt, old, patch, content_type)
        metadata.require_name(body)
        validation, unknown = validation or FieldValidation(), Paths()
        obj = metadata.typed_by_patch(rt, body, unknown)
        metadata.place(rt, namespace, obj)
        if validation.how != IGNORE:
            unknown += self._state.strategy(rt).unknown_fields(obj)
            complaints = validation.of_map(unknown)
            if complaints and validation.how == STRICT:
                raise errors.patch_leads_astray(", ".join(complaints))
            validation.warn(*complaints)
        return self._change(rt, old, obj, validation, subresource=subresource, dry_run=dry_run)

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
        obj = self._state.existing(rt, namespace, name)
        return self._remove(rt, obj, options or DeleteOptions())

    def bind(self, namespace: str, name: str, node: str) -> StoredObject:
        """POST pods/binding: give a Pod its node; 409 if it has one or is being deleted."""
        pod = self._state.existing(POD, namespace, name)
        if why := pods.why_not_bound(pod):
            raise errors.conflict(_BINDING, name, why)
        bound = self._in_topology(POD, pods.bound(pod, node, rfc3339(self._now())))
        return self._state.commit(POD, bound, pod)

    def evict(self, namespace: str, name: str, options: DeleteOptions | None = None) -> Removal:
        """POST pods/eviction: there are no budgets; a pod that runs is first called disrupted."""
        pod = self._state.existing(POD, namespace, name)
        if pods.is_disrupted_by_eviction(pod) and not (options and options.dry_run):
            self._state.commit(POD, pods.evicted(pod, rfc3339(self._now())), pod)
        return self.remove(POD, namespace, name, options)

    def _in_topology(self, rt: ResourceType, obj: Body) -> Body:
        """A Pod that has a node, with the labels of that node that it gets."""
        name = str(obj["spec"].get("nodeName", "")) if rt.key == POD.key else ""
        return pods.in_topology_of(obj, self._state.table(NODE).get("", name))

    def _require_namespace(self, rt: ResourceType, namespace: str | None, name: str) -> None:
        if not rt.namespaced:
            return
        found = self._state.existing(NAMESPACE, None, namespace or "")
        if not found["metadata"].get("deletionTimestamp"):
            return
        raise errors.in_ending_namespace(rt, name, namespace or "")

    def _read(self, rt: ResourceType, body: Any, validation: FieldValidation) -> Body:
        """What was sent as an object of its kind; fields that nobody knows are refused or named."""
        unknown: Paths = []
        obj = metadata.typed(rt, body, unknown)
        if validation.how != IGNORE:
            unknown += self._state.strategy(rt).unknown_fields(obj)
            found = validation.of_map(unknown) if rt.custom else validation.of_kind(unknown)
            if found and validation.how == STRICT:
                raise errors.unknown_fields(rt, found)
            validation.warn(*found)
        return obj

    def _name(self, rt: ResourceType, obj: Body) -> None:
        """Give a new object its identity; a generated name is tried again while it is taken."""
        meta = obj["metadata"]
        generated = not meta.get("name")
        table = self._state.table(rt)
        for _ in range(GENERATE_NAME_TRIES_MAX if generated else 1):
            if generated:
                meta.pop("name", None)
            metadata.begin(rt, obj, uid=self._new_uid(), now=self._now())
            if table.get(meta.get("namespace", ""), meta["name"]) is None:
                return

    def _change(
        self,
        rt: ResourceType,
        old: StoredObject,
        obj: Body,
        validation: FieldValidation,
        *,
        subresource: str,
        dry_run: bool,
    ) -> StoredObject:
        metadata.check_same_object(obj, old)
        metadata.check_version(rt, obj, old)
        strategy = self._state.strategy(rt)
        managed_fields.settle(rt, obj["metadata"], old["metadata"], subresource=subresource)
        obj = strategy.admit_change(obj, old, subresource=subresource)
        metadata.keep_identity(obj, old)
        metadata.count_generation(rt, obj, old)
        unchanged = metadata.same(obj, old)
        if not unchanged:
            causes = metadata.change_causes(rt, obj, old)
            causes += strategy.causes_against_change(obj, old, subresource=subresource)
            if causes:
                raise errors.invalid(rt, obj["metadata"]["name"], causes)
            obj, sent = strategy.as_stored(obj), obj
            unchanged = obj is not sent and metadata.same(obj, old)
        if unchanged:
            return old
        if dry_run:
            return StoredObject(obj, old.version)
        if deleting.leaves_with(obj, old):
            self._state.forget(rt, old)
            return StoredObject(obj, old.version)
        return self._state.commit(rt, obj, old)

    def _remove(self, rt: ResourceType, obj: StoredObject, options: DeleteOptions) -> Removal:
        decision = deleting.decide(rt, obj, options, self._now())
        if options.dry_run:
            return Removal(obj, decision.gone)
        if decision.marked is not None and not metadata.same(decision.marked, obj):
            obj = self._state.commit(rt, decision.marked, obj)
        if decision.gone:
            obj = self._state.forget(rt, obj)
        elif rt.key == CUSTOM_RESOURCE_DEFINITION.key:
            return Removal(obj, self._clear_definition(obj))
        return Removal(obj, decision.gone)

    def _clear_definition(self, definition: StoredObject) -> bool:
        """Delete every object of a definition; whether the definition itself is gone."""
        table = self._state.tables[definition["metadata"]["name"]]
        for obj in self.list(table.rt, None).items:
            self._remove(table.rt, obj, DeleteOptions())
        return self._state.complete_definition(definition)

    def _scale(self, rt: ResourceType, obj: StoredObject) -> StoredObject:
        return StoredObject(scaling.scale_of(obj, self._state.scale_paths(rt)), obj.version)
