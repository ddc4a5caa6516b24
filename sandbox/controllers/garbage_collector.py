"""The garbage collector: deletes what lost its owners and serves the two deletion finalizers.

Listens to every object of every resource, notes which may be concerned, and asks the store what is
true before it writes. The rules are in ownership.py; the finalizers are set by the store.
"""

from __future__ import annotations

from collections.abc import Callable

from sandbox.controllers.events import Recorder
from sandbox.controllers.informers import Informers, Obj, location_of
from sandbox.controllers.ownership import (
    Delete,
    Fate,
    Keep,
    Owner,
    SetOwners,
    blocks,
    decide,
    is_deleting,
    orphans_dependents,
    references_of,
    waits_for_dependents,
    without_finalizer,
    without_owner,
)
from sandbox.controllers.settings import Settings
from sandbox.controllers.work_queue import Pace, WorkQueue
from sandbox.controllers.writes import Writes
from sandbox.store.deleting import FOREGROUND, ORPHAN
from sandbox.store.resources import CUSTOM_RESOURCE_DEFINITION, EVENT, ResourceType

Item = tuple[str, str, str]  # key of the resource, namespace, name
_FOLLOWED = ("ownerReferences", "finalizers", "deletionTimestamp")


class GarbageCollector:
    """One queue of objects whose owners or dependents may have changed."""

    def __init__(
        self, writes: Writes, informers: Informers, now: Callable[[], float], settings: Settings
    ) -> None:
        self._writes = writes
        self._informers = informers
        per_s = settings.gc_requests_per_s
        self._pace = None if per_s is None else Pace(per_s, settings.gc_burst)
        self._events = Recorder(writes, "garbage-collector-controller", now, settings)
        self._unresolvable: dict[Item, None] = {}
        self.work = WorkQueue("garbage collector", self._collect, settings, self._pace)
        informers.listen_to_all(self._notice)

    # Noticing

    def _notice(self, rt: ResourceType, old: Obj | None, new: Obj | None) -> None:
        if rt.key == EVENT.key:
            return
        if rt.key == CUSTOM_RESOURCE_DEFINITION.key:
            self._try_unresolvable_again()
        if old is not None and (new is None or _uid(old) != _uid(new)):
            self._add_dependents(old)
        if new is None:
            if old is not None:
                self._add_waiting_owners(old)
            return
        if old is not None and _same_bonds(old, new):
            return
        if old is not None:
            self._add_waiting_owners(old)
        if references_of(new) or is_deleting(new):
            self.work.add((rt.key, *location_of(new)))

    def _add_dependents(self, owner: Obj) -> None:
        for rt, dependent in self._writes.store.dependents(_uid(owner)):
            self.work.add((rt.key, *location_of(dependent)))

    def _add_waiting_owners(self, dependent: Obj) -> None:
        """Owners in foreground deletion may go when a dependent went or stopped blocking."""
        namespace = dependent["metadata"].get("namespace", "")
        for reference in references_of(dependent):
            rt = self._type_of(reference)
            if rt is not None:
                place = namespace if rt.namespaced else ""
                self.work.add((rt.key, place, str(reference.get("name", ""))))

    def _try_unresolvable_again(self) -> None:
        items, self._unresolvable = self._unresolvable, {}
        for item in items:
            self.work.add(item)

    # Deciding and writing

    def _collect(self, key: Item) -> None:
        rt = next((rt for rt in self._writes.store.registry.all() if rt.key == key[0]), None)
        item = None if rt is None else self._writes.get(rt, key[1:])
        self._unresolvable.pop(key, None)
        if rt is None or item is None:
            return
        if waits_for_dependents(item):
            self._finish_foreground(rt, item)
        elif orphans_dependents(item):
            self._release_dependents(rt, item)
        elif not is_deleting(item) and references_of(item):
            self._judge(rt, item, key)

    def _judge(self, rt: ResourceType, item: Obj, key: Item) -> None:
        owners = [Owner(ref, self._fate(rt, item, ref)) for ref in references_of(item)]
        if any(owner.fate is Fate.UNRESOLVABLE for owner in owners):
            self._unresolvable[key] = None
        dependents = [obj for _, obj in self._writes.store.dependents(_uid(item))]
        match decide(item, owners, dependents):
            case SetOwners(references):
                self._set_owners(rt, item, list(references))
            case Delete(propagation, references):
                if references is not None:
                    item = self._set_owners(rt, item, list(references))
                self._spend()
                self._writes.delete(rt, item, propagation=propagation)
            case Keep():
                pass

    def _finish_foreground(self, rt: ResourceType, owner: Obj) -> None:
        dependents = self._writes.store.dependents(_uid(owner))
        if not any(blocks(dependent, _uid(owner)) for _, dependent in dependents):
            self._drop_finalizer(rt, owner, FOREGROUND)
            return
        for dependent_rt, dependent in dependents:
            if not is_deleting(dependent):
                self.work.add((dependent_rt.key, *location_of(dependent)))

    def _release_dependents(self, rt: ResourceType, owner: Obj) -> None:
        for dependent_rt, dependent in self._writes.store.dependents(_uid(owner)):
            self._set_owners(dependent_rt, dependent, without_owner(dependent, _uid(owner)))
        # Last: while the finalizer is there, a crash in between only repeats the loop above.
        self._drop_finalizer(rt, owner, ORPHAN)

    def _set_owners(self, rt: ResourceType, item: Obj, references: list[Obj]) -> Obj:
        self._spend()
        patch = {"metadata": {**_version(item), "ownerReferences": references or None}}
        return self._writes.merge(rt, item, patch)

    def _drop_finalizer(self, rt: ResourceType, owner: Obj, finalizer: str) -> None:
        self._spend()
        remaining = without_finalizer(owner, finalizer)
        self._writes.merge(
            rt, owner, {"metadata": {**_version(owner), "finalizers": remaining or None}}
        )

    def _spend(self) -> None:
        if self._pace is not None:
            self._pace.spend()

    # What became of an owner

    def _fate(self, rt: ResourceType, item: Obj, reference: Obj) -> Fate:
        owner_rt = self._type_of(reference)
        if owner_rt is None:
            return Fate.UNRESOLVABLE
        if owner_rt.namespaced and not rt.namespaced:
            self._warn_of_namespace(item, reference)
            return Fate.UNRESOLVABLE
        uid = reference.get("uid")
        namespace = item["metadata"].get("namespace", "") if owner_rt.namespaced else ""
        owner = self._writes.get(owner_rt, (namespace, str(reference.get("name", ""))))
        if owner is None or _uid(owner) != uid:
            if owner_rt.namespaced and self._exists_elsewhere(owner_rt, str(uid)):
                self._warn_of_namespace(item, reference)
            return Fate.ABSENT
        return Fate.WAITING if waits_for_dependents(owner) else Fate.SOLID

    def _exists_elsewhere(self, rt: ResourceType, uid: str) -> bool:
        return any(_uid(obj) == uid for obj in self._informers.of(rt).objects.values())

    def _warn_of_namespace(self, item: Obj, reference: Obj) -> None:
        namespace = item["metadata"].get("namespace", "")
        message = (
            f"ownerRef [{reference.get('apiVersion')}/{reference.get('kind')}, namespace: "
            f"{namespace}, name: {reference.get('name')}, uid: {reference.get('uid')}] does not "
            f'exist in namespace "{namespace}"'
        )
        self._events.warning(item, "OwnerRefInvalidNamespace", message)

    def _type_of(self, reference: Obj) -> ResourceType | None:
        api_version, kind = str(reference.get("apiVersion")), str(reference.get("kind"))
        registry = self._writes.store.registry
        return registry.of_kind(api_version, kind)


def _uid(obj: Obj) -> str:
    return str(obj["metadata"]["uid"])


def _version(obj: Obj) -> dict[str, str]:
    return {"resourceVersion": obj["metadata"]["resourceVersion"]}


def _same_bonds(old: Obj, new: Obj) -> bool:
    one, other = old["metadata"], new["metadata"]
    return _uid(old) == _uid(new) and all(one.get(key) == other.get(key) for key in _FOLLOWED)
