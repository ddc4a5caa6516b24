"""Carries out effects on pods and their owner's status, through the chassis's Writer.

Checks that need the API server are here: an absence that leads to a new launch is confirmed by a
GET of the deterministic name. Nothing is decided here: the response to a write
enters the table and queues its key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from contracts import labels
from contracts.scheduling.nodes import node_of
from services.chassis.kube.resources import resource_of
from services.chassis.kube.writing import Outcome, Writer
from services.chassis.process.errors import Conflict, NotFound, Rejected, Superseded
from services.chassis.table.table import Table
from services.launching.adapters.launches import Launches
from services.launching.core.effects import (
    Announcement,
    CreatePod,
    DeletePod,
    DeleteSilentPod,
    Effect,
    PatchStatus,
    SetPodAside,
)
from services.launching.core.events import event_of_refusal
from services.launching.core.nodes import NodeOfPod
from services.launching.core.owners import LaunchStatus, Owner, status_patch
from services.launching.core.recording import refused_status
from services.launching.core.snapshot import Launched, LaunchSnapshot

POD: Final = "Pod"
NODE: Final = "Node"

SnapshotT = TypeVar("SnapshotT", bound=LaunchSnapshot)


class LaunchEffects(Generic[SnapshotT]):
    """Carries out the effects of owners of one kind; each returns its outcome as one word.

    `manifest_of` makes the pod of a launch from the owner's snapshot; it raises Rejected where no
    pod can be made.
    """

    def __init__(
        self,
        table: Table,
        writer: Writer,
        launches: Launches,
        now: Callable[[], float],
        *,
        owner_kind: str,
        manifest_of: Callable[[SnapshotT, int], dict[str, Any]],
    ) -> None:
        self._table = table
        self._writer = writer
        self._launches = launches
        self._now = now
        self._owner_kind = owner_kind
        self._manifest_of = manifest_of

    async def run(self, namespace: str, name: str, snapshot: SnapshotT, effect: Effect) -> str:
        """One effect on an owner, by its name.

        Raises the chassis's Transient, Rejected or Superseded.
        """
        match effect:
            case CreatePod():
                return await self._create_pod(snapshot, effect)
            case DeleteSilentPod():
                return await self._delete_pod(namespace, name, effect)
            case DeletePod():
                return await self._delete_pod(namespace, name, effect)
            case SetPodAside():
                return await self._set_aside(namespace, effect)
            case PatchStatus():
                if effect.believed_gone:
                    await self._confirm_over(namespace, effect.believed_gone)
                if effect.believed_unbound:
                    await self._confirm_unbound(namespace, effect.believed_unbound)
                owner = _owner_of(snapshot)
                return await self.patch_status(owner, effect.owner_uid, effect.status, effect.event)

    # ------------------------------------------------------------------ pods

    async def _create_pod(self, snapshot: SnapshotT, effect: CreatePod) -> str:
        owner = _owner_of(snapshot)
        for name in effect.believed_gone:
            await self._confirm_over(owner.namespace, name)
        try:
            body = self._manifest_of(snapshot, effect.launch)
            outcome = await self._writer.create(resource_of(POD), owner.namespace, body)
        except (NotFound, Conflict):
            raise  # the namespace or the owner is gone; the next fact will show which
        except Rejected as refusal:
            await self._report_refused(owner, refusal)
            raise
        if outcome == Outcome.CREATED:
            # The pod may be gone before a snapshot shows it.
            launched = Launched(effect.launch, effect.name, effect.content_id)
            self._launches.note(owner.uid, launched)
        return outcome

    async def _confirm_over(self, namespace: str, name: str) -> None:
        """Confirm that an earlier pod does not run any more, or the owner would run twice."""
        if await self._writer.confirm_absent(resource_of(POD), namespace, name):
            return
        entry = self._table.get(POD, namespace, name)
        if entry is not None and entry.data["phase"] not in ("Succeeded", "Failed"):
            raise Superseded(f"pod {namespace}/{name} of an earlier launch still exists")

    async def _confirm_unbound(self, namespace: str, name: str) -> None:
        """Confirm that a pod is on no node: the scheduler may be ahead of the facts."""
        await self._writer.confirm_absent(resource_of(POD), namespace, name)
        entry = self._table.get(POD, namespace, name)
        if entry is None or entry.data["node"]:
            raise Superseded(f"pod {namespace}/{name} is on a node, or gone, after all")

    async def _delete_pod(self, namespace: str, name: str, effect: DeletePod) -> str:
        if effect.believed_gone_owner:
            await self._confirm_owner_gone(namespace, name, effect.believed_gone_owner)
        if effect.lost_node:
            await self._confirm_node_lost(effect.lost_node)
        entry = self._table.get(POD, namespace, effect.name)
        if entry is None or entry.uid != effect.uid:
            return Outcome.GONE
        return await self._writer.delete(entry, grace_s=effect.grace_s)

    async def _confirm_node_lost(self, name: str) -> None:
        """Confirm that nothing runs on a node any more, or the owner would run twice."""
        if await self._writer.confirm_absent(resource_of(NODE), "", name):
            return
        entry = self._table.get(NODE, "", name)
        if entry is None or not NodeOfPod(name, node_of(name, entry.data)).is_lost:
            raise Superseded(f"node {name} may run pods after all")

    async def _set_aside(self, namespace: str, effect: SetPodAside) -> str:
        entry = self._table.get(POD, namespace, effect.name)
        if entry is None or entry.uid != effect.uid:
            return Outcome.GONE
        body = {"metadata": {"labels": {labels.SERVICE_ROLE: labels.ROLE_ZOMBIE}}}
        return await self._writer.patch(entry, body)

    async def _confirm_owner_gone(self, namespace: str, name: str, uid: str) -> None:
        if await self._writer.confirm_absent(resource_of(self._owner_kind), namespace, name):
            return
        owner = self._table.get(self._owner_kind, namespace, name)
        if owner is None or owner.uid == uid:  # None: the table took it for gone
            raise Superseded(f"{self._owner_kind} {namespace}/{name} exists after all")

    # ------------------------------------------------------------------ the owner's status

    async def _report_refused(self, owner: Owner, refusal: Rejected) -> None:
        status = refused_status(owner, refusal.message, now=self._now())
        if status != owner.status:
            await self.patch_status(owner, owner.uid, status, event_of_refusal(owner, status))

    async def patch_status(
        self, owner: Owner, uid: str, status: LaunchStatus, event: Announcement | None
    ) -> str:
        """Write what differs, under the resourceVersion that was decided on.

        A newer entry may have a newer status: a patch of it could overwrite a launch count that
        another instance just raised.
        """
        entry = self._table.get(self._owner_kind, owner.namespace, owner.name)
        if entry is None or entry.uid != uid:
            raise Superseded(f"{self._owner_kind} {owner.name} is another one now")
        if entry.resource_version != owner.resource_version:
            raise Superseded(f"{self._owner_kind} {owner.name} was decided on at an older one")
        if event is not None:
            await self._writer.emit_event(
                entry,
                reason=event.reason.value,
                message=event.message,
                generation=event.launch,
                warning=event.warning,
            )
        body = {"status": status_patch(owner.status, status)}
        return await self._writer.patch(entry, body, subresource="status")


def _owner_of(snapshot: LaunchSnapshot) -> Owner:
    assert snapshot.owner is not None, "no owner, and an effect on it"
    return snapshot.owner
