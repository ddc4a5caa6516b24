"""The namespace controller: empties a namespace that is being deleted, then lets it go.

It also gives every namespace the ServiceAccount `default`, which pods name.
"""

from __future__ import annotations

from sandbox.controllers.informers import Informers, Obj
from sandbox.controllers.ownership import is_deleting
from sandbox.controllers.settings import Settings
from sandbox.controllers.work_queue import WorkQueue
from sandbox.controllers.writes import Writes
from sandbox.store.resources import NAMESPACE, SERVICE_ACCOUNT, ResourceType

DEFAULT_ACCOUNT = "default"


class Namespaces:
    """Works on one namespace at a time."""

    def __init__(self, writes: Writes, informers: Informers, settings: Settings) -> None:
        self._writes = writes
        self._terminating: set[str] = set()
        self.work = WorkQueue("namespaces", self._reconcile, settings)
        informers.of(NAMESPACE).listeners.append(self._notice)
        informers.listen_to_all(self._notice_content)

    def _notice(self, old: Obj | None, new: Obj | None) -> None:
        if new is None:
            if old is not None:
                self._terminating.discard(old["metadata"]["name"])
            return
        if is_deleting(new):
            self._terminating.add(new["metadata"]["name"])
        self.work.add(new["metadata"]["name"])

    def _notice_content(self, rt: ResourceType, old: Obj | None, new: Obj | None) -> None:
        if not rt.namespaced or old is None:
            return
        namespace = old["metadata"]["namespace"]
        if new is None and (namespace in self._terminating or rt.key == SERVICE_ACCOUNT.key):
            self.work.add(namespace)

    def _reconcile(self, name: str) -> None:
        namespace = self._writes.get(NAMESPACE, ("", name))
        if namespace is None:
            return
        if is_deleting(namespace):
            self._empty(namespace)
        elif self._writes.get(SERVICE_ACCOUNT, (name, DEFAULT_ACCOUNT)) is None:
            body = {"metadata": {"name": DEFAULT_ACCOUNT}}
            self._writes.create(SERVICE_ACCOUNT, name, body)

    def _empty(self, namespace: Obj) -> None:
        name = namespace["metadata"]["name"]
        store = self._writes.store
        resources = {rt.key: rt for rt in store.registry.all() if rt.namespaced}
        for rt in resources.values():
            for obj in store.list(rt, name).items:
                if not is_deleting(obj):
                    self._writes.delete(rt, obj, propagation="Background")
        # What has finalizers or a grace left comes back here when it is gone.
        if not any(store.list(rt, name).items for rt in resources.values()):
            self._finalize(namespace)

    def _finalize(self, namespace: Obj) -> None:
        spec = namespace.get("spec") or {}
        kept = [item for item in spec.get("finalizers") or () if item != "kubernetes"]
        if kept != (spec.get("finalizers") or []):
            body = {**namespace, "spec": {**spec, "finalizers": kept}}
            name = namespace["metadata"]["name"]
            self._writes.store.replace(NAMESPACE, None, name, body, subresource="finalize")
