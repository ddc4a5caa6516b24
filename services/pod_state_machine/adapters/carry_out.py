"""Carries out the effects of this service: one `match`, every write through the chassis's Writer.

Checks that need the API server are here: an absence that leads to a new launch or a clean-up is
confirmed by a GET of the deterministic name. Nothing is decided here: the response to a write
enters the table and queues its key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contracts import labels
from services.chassis.kube.resources import resource_of
from services.chassis.kube.writing import Outcome, Writer
from services.chassis.process.errors import Conflict, NotFound, Rejected, Superseded
from services.chassis.table.entries import Entry, is_deleting
from services.chassis.table.table import Table
from services.pod_state_machine.adapters.intake import JOB, NODE, PE, POD
from services.pod_state_machine.adapters.launches import Launches
from services.pod_state_machine.adapters.reading import node_of
from services.pod_state_machine.core.awaiting import place_of
from services.pod_state_machine.core.effects import (
    CreatePod,
    DeletePod,
    DeletePodsOfJob,
    Effect,
    PatchPeStatus,
    SetPodAside,
)
from services.pod_state_machine.core.pod_spec import PodImpossible, RuntimeImage, pod_of_launch
from services.pod_state_machine.core.recording import refused_status
from services.pod_state_machine.core.snapshot import (
    Assignment,
    Job,
    Key,
    Launched,
    Pe,
    PeSnapshot,
    PeStatus,
    Snapshot,
)


class CarryOut:
    """Executes effects; each returns its outcome as one word."""

    def __init__(
        self,
        table: Table,
        writer: Writer,
        runtime: RuntimeImage,
        launches: Launches,
        now: Callable[[], float],
    ) -> None:
        self._table = table
        self._writer = writer
        self._runtime = runtime
        self._launches = launches
        self._now = now

    async def run(self, key: Key, snapshot: Snapshot, effect: Effect) -> str:
        """One effect; raises the chassis's Transient, Rejected or Superseded."""
        match effect:
            case CreatePod():
                assert isinstance(snapshot, PeSnapshot)
                return await self._create_pod(snapshot, effect)
            case DeletePod():
                return await self._delete_pod(key, effect)
            case SetPodAside():
                return await self._set_aside(key, effect)
            case PatchPeStatus():
                assert isinstance(snapshot, PeSnapshot)
                if effect.believed_gone:
                    await self._confirm_over(key.namespace, effect.believed_gone)
                if effect.believed_unbound:
                    await self._confirm_unbound(key.namespace, effect.believed_unbound)
                return await self._patch_status(snapshot, effect.pe_uid, effect.status)
            case DeletePodsOfJob():
                return await self._delete_pods_of_job(key, effect)

    # ------------------------------------------------------------------ pods

    async def _create_pod(self, snapshot: PeSnapshot, effect: CreatePod) -> str:
        pe, job = snapshot.pe, snapshot.job
        assert pe is not None
        assert job is not None
        for name in effect.believed_gone:
            await self._confirm_over(pe.namespace, name)
        try:
            body = _pod_of(pe, job, effect.launch, self._runtime, place_of(snapshot))
            outcome = await self._writer.create(resource_of(POD), pe.namespace, body)
        except (NotFound, Conflict):
            raise  # the namespace or the owner is gone; the next fact will show which
        except Rejected as refusal:
            await self._report_refused(snapshot, pe, refusal)
            raise
        if outcome == Outcome.CREATED:
            # The pod may be gone before a snapshot shows it.
            self._launches.note(pe.uid, Launched(effect.launch, effect.name, effect.content_id))
        return outcome

    async def _confirm_over(self, namespace: str, name: str) -> None:
        """Confirm that an earlier pod does not run any more, or the PE would run twice."""
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

    async def _report_refused(self, snapshot: PeSnapshot, pe: Pe, refusal: Rejected) -> None:
        status = refused_status(pe, refusal.message, now=self._now())
        if status != pe.status:
            await self._patch_status(snapshot, pe.uid, status)

    async def _delete_pod(self, key: Key, effect: DeletePod) -> str:
        if effect.believed_gone_owner:
            await self._confirm_owner_gone(key, effect.believed_gone_owner)
        if effect.lost_node:
            await self._confirm_node_lost(effect.lost_node)
        entry = self._table.get(POD, key.namespace, effect.name)
        if entry is None or entry.uid != effect.uid:
            return Outcome.GONE
        return await self._writer.delete(entry, grace_s=0 if effect.by_force else None)

    async def _confirm_node_lost(self, name: str) -> None:
        """Confirm that nothing runs on a node any more, or the PE would run twice."""
        if await self._writer.confirm_absent(resource_of(NODE), "", name):
            return
        entry = self._table.get(NODE, "", name)
        if entry is None or not node_of(entry).is_lost:
            raise Superseded(f"node {name} may run pods after all")

    async def _set_aside(self, key: Key, effect: SetPodAside) -> str:
        entry = self._table.get(POD, key.namespace, effect.name)
        if entry is None or entry.uid != effect.uid:
            return Outcome.GONE
        body = {"metadata": {"labels": {labels.SERVICE_ROLE: labels.ROLE_ZOMBIE}}}
        return await self._writer.patch(entry, body)

    async def _confirm_owner_gone(self, key: Key, owner_uid: str) -> None:
        if await self._writer.confirm_absent(resource_of(PE), key.namespace, key.name):
            return
        owner = self._table.get(PE, key.namespace, key.name)
        if owner is None or owner.uid == owner_uid:  # None: the table took it for gone
            raise Superseded(f"processing element {key.namespace}/{key.name} exists after all")

    async def _delete_pods_of_job(self, key: Key, effect: DeletePodsOfJob) -> str:
        if not await self._writer.confirm_absent(resource_of(JOB), key.namespace, effect.job):
            job = self._table.get(JOB, key.namespace, effect.job)
            if job is None or _lives(job, effect.job_uid):  # None: the table took it for gone
                raise Superseded(f"job {key.namespace}/{effect.job} exists after all")
        return await self._writer.delete_collection(
            resource_of(POD),
            key.namespace,
            label_selector=f"{labels.selector_of_job(effect.job, effect.job_uid)}"
            f",{labels.APP}={labels.APP_VALUE}",
        )

    # ------------------------------------------------------------------ status

    async def _patch_status(self, snapshot: PeSnapshot, pe_uid: str, status: PeStatus) -> str:
        """Write what differs, under the resourceVersion that was decided on.

        A newer entry may have a newer status: a patch of it could overwrite a launch count that
        another instance just raised.
        """
        pe = snapshot.pe
        entry = self._table.get(PE, snapshot.key.namespace, snapshot.key.name)
        if entry is None or pe is None or entry.uid != pe_uid:
            raise Superseded(f"processing element {snapshot.key.name} is another one now")
        if entry.resource_version != pe.resource_version:
            raise Superseded(
                f"processing element {snapshot.key.name} was decided on at an older one"
            )
        body = {"status": status_patch(pe.status, status)}
        return await self._writer.patch(entry, body, subresource="status")


def _pod_of(
    pe: Pe, job: Job, launch: int, runtime: RuntimeImage, place: Assignment | None
) -> dict[str, Any]:
    """The manifest of a pod; raises Rejected, as for a refusal by the API server."""
    try:
        return pod_of_launch(pe, job, launch, runtime, place)
    except PodImpossible as problem:
        raise Rejected(422, "Invalid", str(problem), {}) from problem


def _lives(job: Entry, uid: str) -> bool:
    return job.uid == uid and not is_deleting(job)


_FIELDS = {
    "phase": "phase",
    "launchCount": "launch_count",
    "pod": "pod",
    "node": "node",
    "contentId": "content_id",
    "generation": "generation",
    "observedGeneration": "observed_generation",
    "restarts": "restarts",
    "reason": "reason",
    "message": "message",
    "nextRestartTime": "next_restart",
    "observedRestart": "observed_restart",
    "connectivity": "connectivity",
}


def status_patch(before: PeStatus, after: PeStatus) -> dict[str, Any]:
    """The merge patch between two statuses; an empty text removes its field.

    It always has the phase: a status that was never written has none and is read as Waiting.
    """
    changed = {
        name: getattr(after, attribute)
        for name, attribute in _FIELDS.items()
        if name == "phase" or getattr(before, attribute) != getattr(after, attribute)
    }
    patch: dict[str, Any] = {name: None if v == "" else v for name, v in changed.items()}
    if before.conditions != after.conditions:
        patch["conditions"] = [each.to_json() for each in after.conditions]
    return patch
