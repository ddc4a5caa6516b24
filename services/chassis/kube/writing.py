"""Fenced effects: creates with deterministic names, patches under a version, deletes under a uid.

Every response is projected and enters the table at once, so a service reads its own writes. What
is written, and when, is the stage's business; how facts come back is the table's. An outcome that
is unknown (time-out, reset) is re-read, never assumed. Before each write `require_awake` may say by
Superseded that what was decided is too old to be carried out (`waking.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final

from contracts import facts
from contracts.projections import has_large_managed_fields
from services.chassis.kube.events import emit_event
from services.chassis.kube.port import Json, Kube, Resource
from services.chassis.kube.resources import resource_of
from services.chassis.process.errors import (
    AlreadyExists,
    Conflict,
    NameTaken,
    NotFound,
    Superseded,
    Transient,
)
from services.chassis.table.entries import Entry
from services.chassis.table.table import Table

CONFLICTS_MAX = 5
NO_MANAGED_FIELDS: Final[Mapping[str, Any]] = {"metadata": {"managedFields": [{}]}}
"""The patch that empties them: a patch beside 1.2 MB of them keeps an API server busy for 12 s.

https://kubernetes.io/docs/reference/using-api/server-side-apply/#clearing-managedfields
"""

Project = Callable[[str, Mapping[str, Any]], Mapping[str, Any] | None]


class Outcome(StrEnum):
    """How a write ended; a stage's `carry_out` may return it as it is."""

    CREATED = "created"
    EXISTED = "existed"
    RESTAMPED = "restamped"
    PATCHED = "patched"
    UNCHANGED = "unchanged"
    DELETING = "deleting"
    GONE = "gone"


class Writer:
    """The only way of a stage to write objects that its table knows."""

    def __init__(
        self,
        kube: Kube,
        table: Table,
        project: Project = facts.project,
        *,
        component: str = "millrace",
        now: Callable[[], float],
        require_awake: Callable[[], None] = lambda: None,
    ) -> None:
        self._require_awake = require_awake
        self._kube = kube
        self._table = table
        self._project = project
        self._component = component
        self._now = now

    # ------------------------------------------------------------------ create

    async def create(
        self, resource: Resource, namespace: str, body: Mapping[str, Any], *, stamp: str = ""
    ) -> Outcome:
        """POST; `stamp` is the label key whose number says which generation wrote the object.

        AlreadyExists is resolved by a GET: same controller uid and stamp → EXISTED; older stamp →
        labels and annotations are patched (RESTAMPED), or Superseded for an object with a spec,
        which its stage patches itself; newer stamp → Superseded; being deleted or its owner gone
        → Transient; somebody else's → NameTaken.
        """
        name = str(body["metadata"]["name"])
        self._require_awake()
        try:
            created = await self._kube.create(resource, namespace, body)
        except AlreadyExists:
            pass
        except Transient as problem:
            if not problem.outcome_unknown or await self.confirm_absent(resource, namespace, name):
                raise
        else:
            self.observe(resource.kind, created)
            return Outcome.CREATED
        read_at = self._table.heard
        try:
            existing = await self._kube.get(resource, namespace, name)
        except NotFound as problem:
            raise Transient(f"{name} existed and is gone", outcome_unknown=False) from problem
        self.observe(resource.kind, existing, read_at=read_at)
        await self._require_ours(resource, existing, body)
        return await self._settle_stamp(resource, existing, body, stamp)

    async def _require_ours(
        self, resource: Resource, existing: Json, body: Mapping[str, Any]
    ) -> None:
        """Return if the object is the one we wanted to create, else raise Superseded or
        NameTaken."""
        meta = existing["metadata"]
        name = f"{resource.kind} {meta['name']}"
        if meta.get("deletionTimestamp"):
            raise Transient(f"{name} is being deleted", outcome_unknown=False)
        owner, wanted = _controller_of(existing), _controller_of(body)
        if (owner or {}).get("uid") == (wanted or {}).get("uid"):
            return
        # Only an owner of the kind that ours have can be a former one of ours; nobody gave us the
        # right to look at others.
        is_like_ours = bool(owner and wanted and owner["kind"] == wanted["kind"])
        if owner and is_like_ours and await self._is_gone(owner, meta.get("namespace", "")):
            raise Transient(f"{name} waits for the garbage collector", outcome_unknown=False)
        holder = f"{owner['kind']} {owner['name']}" if owner else "nobody we know"
        raise NameTaken(409, "NameTaken", f"{name} belongs to {holder}", {})

    async def _is_gone(self, owner: Mapping[str, Any], namespace: str) -> bool:
        if owner["kind"] not in facts.KINDS:
            return False
        try:
            found = await self._kube.get(resource_of(owner["kind"]), namespace, owner["name"])
        except NotFound:
            return True
        return bool(found["metadata"]["uid"] != owner["uid"])

    async def _settle_stamp(
        self, resource: Resource, existing: Json, body: Mapping[str, Any], stamp: str
    ) -> Outcome:
        written, wanted = _stamp_of(existing, stamp), _stamp_of(body, stamp)
        if written == wanted:
            return Outcome.EXISTED
        meta = existing["metadata"]
        if written > wanted or "spec" in body:
            raise Superseded(f"{resource.kind} {meta['name']} is of generation {written}")
        self._require_awake()
        wanted_meta = body["metadata"]
        change = {key: wanted_meta[key] for key in ("labels", "annotations") if key in wanted_meta}
        try:
            patched = await self._kube.patch(
                resource,
                meta.get("namespace", ""),
                meta["name"],
                {"metadata": change},
                resource_version=int(meta["resourceVersion"]),
            )
        except (Conflict, NotFound) as problem:
            raise Superseded(f"{meta['name']} changed while it was stamped") from problem
        self.observe(resource.kind, patched)
        return Outcome.RESTAMPED

    # ------------------------------------------------------------------ patch

    async def patch(
        self,
        entry: Entry,
        body: Mapping[str, Any],
        *,
        subresource: str = "",
        merges_lists: bool = False,
    ) -> Outcome:
        """Merge patch of an entry's object under the version that was decided on.

        409 with an unchanged projection is tried again under the new version, a bounded number of
        times; with a changed one, or on 404, the table learns it and Superseded is raised.

        An object whose `managedFields` are too large loses these instead, and Superseded is raised.
        """
        is_clearing = has_large_managed_fields(entry.data)
        if is_clearing:
            body, subresource, merges_lists = NO_MANAGED_FIELDS, "", False
        version = self._newest_version(entry)
        for _ in range(CONFLICTS_MAX):
            self._require_awake()
            try:
                patched = await self._kube.patch(
                    resource_of(entry.kind),
                    entry.namespace,
                    entry.name,
                    body,
                    resource_version=version,
                    subresource=subresource,
                    merges_lists=merges_lists,
                )
            except NotFound as problem:
                if subresource not in ("", "status") and await self.reread(entry) is not None:
                    raise  # it is the subresource that the API server does not serve
                self._table.observe_gone(entry.ref, entry.uid)
                raise Superseded(f"{entry.kind} {entry.name} is gone") from problem
            except Conflict:
                version = await self._version_if_unchanged(entry)
                continue
            except Transient as problem:
                if problem.outcome_unknown:
                    await self.reread(entry)
                raise
            self.observe(entry.kind, patched)
            if is_clearing:
                raise Superseded(f"{entry.kind} {entry.name} had too large managedFields")
            same = int(patched["metadata"]["resourceVersion"]) == version
            return Outcome.UNCHANGED if same else Outcome.PATCHED
        raise Transient(f"{entry.kind} {entry.name} changes all the time", outcome_unknown=False)

    def _newest_version(self, entry: Entry) -> int:
        """The version we know of the very same projection: it spares a conflict."""
        known = self._table.get(*entry.ref)
        if known is not None and known.uid == entry.uid and known.data == entry.data:
            return max(known.resource_version, entry.resource_version)
        return entry.resource_version

    async def _version_if_unchanged(self, entry: Entry) -> int:
        """The object's version, if it still looks as it did when the decision was taken."""
        there = await self.reread(entry)
        if there is None:
            raise Superseded(f"{entry.kind} {entry.name} is gone")
        if self._project(entry.kind, there) != entry.data:
            raise Superseded(f"{entry.kind} {entry.name} changed")
        return int(there["metadata"]["resourceVersion"])

    # ------------------------------------------------------------------ delete

    async def delete(
        self,
        entry: Entry,
        *,
        with_version: bool = False,
        propagation: str = "Background",
        grace_s: int | None = None,
    ) -> Outcome:
        """DELETE under the entry's uid, and under its version where a re-stamping competes."""
        version = self._newest_version(entry) if with_version else None
        for _ in range(CONFLICTS_MAX):
            self._require_awake()
            try:
                left = await self._kube.delete(
                    resource_of(entry.kind),
                    entry.namespace,
                    entry.name,
                    uid=entry.uid,
                    resource_version=version,
                    propagation=propagation,
                    grace_s=grace_s,
                )
            except NotFound:
                left = None
            except Conflict:
                if await self.reread(entry) is None:
                    return Outcome.GONE
                version = await self._version_if_unchanged(entry) if with_version else None
                continue
            except Transient as problem:
                if problem.outcome_unknown and await self.reread(entry) is None:
                    return Outcome.GONE
                raise
            if left is not None:
                self.observe(entry.kind, left)
                return Outcome.DELETING
            self._table.observe_gone(entry.ref, entry.uid)
            return Outcome.GONE
        raise Transient(f"{entry.kind} {entry.name} changes all the time", outcome_unknown=False)

    async def delete_collection(
        self, resource: Resource, namespace: str, *, label_selector: str
    ) -> Outcome:
        """DELETE by collection; what is gone comes back as facts."""
        self._require_awake()
        await self._kube.delete_collection(resource, namespace, label_selector=label_selector)
        return Outcome.DELETING

    # ------------------------------------------------------------------ looking

    async def confirm_absent(self, resource: Resource, namespace: str, name: str) -> bool:
        """GET a deterministic name: True if the object does not exist; else it enters the table."""
        read_at = self._table.heard
        # Before the GET: an object that is created, and published, while we wait is not gone.
        known = self._table.get(resource.kind, namespace, name)
        try:
            there = await self._kube.get(resource, namespace, name)
        except NotFound:
            if known is not None:
                self._table.observe_gone(known.ref, known.uid)
            return True
        self.observe(resource.kind, there, read_at=read_at)
        return False

    def observe(self, kind: str, obj: Mapping[str, Any], *, read_at: int = -1) -> None:
        """Put an object that a response carried into the table, as `Table.observe` says."""
        if not self._table.reads(kind):
            return
        meta = obj["metadata"]
        namespace, name = meta.get("namespace", ""), meta["name"]
        projection = self._project(kind, obj)
        if projection is None:
            self._table.forget((kind, namespace, name))
            return
        self._table.observe(
            kind,
            namespace,
            name,
            uid=meta["uid"],
            resource_version=int(meta["resourceVersion"]),
            data=projection,
            read_at=read_at,
        )

    async def reread(self, entry: Entry) -> Json | None:
        """GET and observe the entry's object; None if no object has its uid; the table then knows
        it as gone."""
        read_at = self._table.heard
        try:
            there = await self._kube.get(resource_of(entry.kind), entry.namespace, entry.name)
        except NotFound:
            self._table.observe_gone(entry.ref, entry.uid)
            return None
        if there["metadata"]["uid"] != entry.uid:
            self._table.observe_gone(entry.ref, entry.uid)
            self.observe(entry.kind, there, read_at=read_at)
            return None
        self.observe(entry.kind, there, read_at=read_at)
        return there

    # ------------------------------------------------------------------ events

    async def emit_event(
        self,
        regarding: Entry | Mapping[str, Any],
        *,
        reason: str,
        message: str,
        generation: int,
        warning: bool = False,
    ) -> Outcome:
        """A core/v1 Event whose name is made of object, reason and generation: once, ever."""
        created = await emit_event(
            self._kube,
            _reference_to(regarding),
            component=self._component,
            reason=reason,
            message=message,
            generation=generation,
            warning=warning,
            now=self._now(),
        )
        return Outcome.CREATED if created else Outcome.EXISTED


def _controller_of(obj: Mapping[str, Any]) -> Mapping[str, Any] | None:
    owners = obj["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def _stamp_of(obj: Mapping[str, Any], stamp: str) -> int:
    """The generation that wrote an object; one that says none was written before all others."""
    text = str((obj["metadata"].get("labels") or {}).get(stamp, ""))
    return int(text) if text.isdigit() else 0


def _reference_to(regarding: Entry | Mapping[str, Any]) -> dict[str, str]:
    if isinstance(regarding, Entry):
        resource = resource_of(regarding.kind)
        return {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "namespace": regarding.namespace,
            "name": regarding.name,
            "uid": regarding.uid,
            "resourceVersion": str(regarding.resource_version),
        }
    meta = regarding["metadata"]
    return {
        "apiVersion": str(regarding.get("apiVersion", "")),
        "kind": str(regarding.get("kind", "")),
        "namespace": str(meta.get("namespace", "")),
        "name": str(meta["name"]),
        "uid": str(meta["uid"]),
        "resourceVersion": str(meta.get("resourceVersion", "")),
    }
