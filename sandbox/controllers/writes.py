"""What the controllers write, each as one call of the store.

The store answers at once and nothing else runs in between, so an object that was just read cannot
have changed: there are no conflicts to retry here.
"""

from __future__ import annotations

from typing import Any

from sandbox.controllers.informers import Location, Obj
from sandbox.store.deleting import DeleteOptions
from sandbox.store.errors import ApiError
from sandbox.store.resources import ResourceType
from sandbox.store.store import Store

MERGE_PATCH = "application/merge-patch+json"


class Writes:
    """The store as the controllers use it."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def get(self, rt: ResourceType, location: Location) -> Obj | None:
        """The object as it is now, or None."""
        try:
            return self.store.get(rt, _namespace(rt, location[0]), location[1])
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    def create(self, rt: ResourceType, namespace: str | None, body: dict[str, Any]) -> Obj:
        return self.store.create(rt, namespace, body)

    def set_status(self, rt: ResourceType, obj: Obj, status: Obj) -> Obj:
        """Replace the status of `obj`, which has to be the newest version."""
        meta = obj["metadata"]
        body = {**obj, "status": dict(status)}
        namespace = _namespace(rt, meta.get("namespace", ""))
        return self.store.replace(rt, namespace, meta["name"], body, subresource="status")

    def merge(self, rt: ResourceType, obj: Obj, patch: dict[str, Any]) -> Obj:
        """Merge `patch` into the main resource."""
        meta = obj["metadata"]
        namespace = _namespace(rt, meta.get("namespace", ""))
        return self.store.patch(rt, namespace, meta["name"], patch, MERGE_PATCH)

    def delete(
        self,
        rt: ResourceType,
        obj: Obj,
        *,
        grace_s: int | None = None,
        propagation: str | None = None,
    ) -> None:
        """Delete exactly this object: another of the same name is left alone (409)."""
        meta = obj["metadata"]
        options = DeleteOptions(grace_period_s=grace_s, propagation=propagation, uid=meta["uid"])
        self.store.delete(rt, _namespace(rt, meta.get("namespace", "")), meta["name"], options)


def _namespace(rt: ResourceType, namespace: str) -> str | None:
    return namespace if rt.namespaced else None
