"""Carries out the effects of this service: one `match`, every write through the chassis's Writer.

Guards that need a look at the API server are here: an absence that leads to a re-creation or to a
clean-up is confirmed by a GET first. What follows from an effect is not decided here; the answer of
a write enters the table and wakes its job.
"""

from __future__ import annotations

from typing import Any

from contracts import labels
from contracts.belonging import Root
from contracts.reasons import Reason
from contracts.resources import JobPhase
from services.chassis.kube.resources import resource_of
from services.chassis.kube.writing import Outcome
from services.chassis.process.errors import NameTaken, NotFound, Rejected, Superseded, Transient
from services.chassis.running.wiring import Wiring
from services.chassis.table.entries import Entry, is_deleting
from services.fusion_backend.adapters.answers import Answers
from services.fusion_backend.adapters.child_statuses import ChildStatuses
from services.fusion_backend.adapters.intake import JobKey
from services.fusion_backend.adapters.job_ids import JobIds, JobIdsUsedUp
from services.fusion_backend.adapters.plans import Plans
from services.fusion_backend.adapters.provisioner import Provisioner
from services.fusion_backend.core.clearing import is_member, is_owned
from services.fusion_backend.core.conditions import job_status_patch
from services.fusion_backend.core.effects import (
    AdoptChild,
    ConfirmJobGone,
    CreateChild,
    DeleteCertificate,
    DeleteChild,
    DeleteChildren,
    Effect,
    FindResizing,
    FindServers,
    JobStatusChange,
    KeepCertificate,
    KeepRefusal,
    LookForBundle,
    NoteReference,
    PatchChild,
    Plan,
    ReadPlan,
    RecordPlan,
    ReportReference,
    TakeJobId,
    WriteJobStatus,
    WriteRegionStatus,
)
from services.fusion_backend.core.rendering import adoption_of, body_of, patch_of
from services.fusion_backend.core.situation import JOB_ID
from services.fusion_backend.core.snapshot import JobSeen, Snapshot, job_uid_of
from services.fusion_backend.core.spec.provisions import CERTIFICATE, REDIS_SERVERS

JOB = "Job"


class CarryOut:
    """Executes effects; each returns its outcome in a word."""

    def __init__(
        self, wiring: Wiring, answers: Answers, plans: Plans, provisioner: Provisioner
    ) -> None:
        self._wiring = wiring
        self._table = wiring.table
        self._writer = wiring.writer
        self._answers = answers
        self._plans = plans
        self._provisioner = provisioner
        self._statuses = ChildStatuses(wiring, answers)
        self._job_ids = JobIds(wiring.runtime.kube)

    async def run(self, key: JobKey, snapshot: Snapshot, effect: Effect) -> str:
        """One effect; raises the chassis's Transient, Rejected or Superseded.

        What fails is remembered for as long as it does, so that the Job can say it.
        """
        subject = _subject_of(effect)
        is_of_other = isinstance(effect, DeleteCertificate) and effect.job_uid != _uid(snapshot)
        if subject is None or snapshot.job is None or is_of_other:
            return await self._carried_out(key, snapshot, effect)
        known = self._answers.of(snapshot.job.uid)
        try:
            outcome = await self._carried_out(key, snapshot, effect)
        except (Transient, Rejected) as problem:
            now = self._wiring.runtime.clock.now()
            known.note_trouble(subject, _reason_of(problem), f"{subject}: {problem}", now)
            self._wiring.wake(key)
            raise
        if known.note_done(subject):
            self._wiring.wake(key)  # no fact says that it does not fail any more
        return outcome

    async def _carried_out(self, key: JobKey, snapshot: Snapshot, effect: Effect) -> str:
        match effect:
            case TakeJobId():
                job_id = await self._job_ids.take(key.namespace, effect.job_uid)
                return await self._write_status(key, snapshot, effect.change, job_id=job_id)
            case WriteJobStatus():
                return await self._write_status(key, snapshot, effect.change)
            case Plan() | ReadPlan() | LookForBundle():
                return await self._plans.run(key, snapshot, effect)
            case RecordPlan():
                if effect.generation in snapshot.plans:  # it vanished; so may the Job have
                    await self._confirm_job(key, _job(snapshot).uid)
                return await self._plans.record(snapshot, effect)
            case KeepRefusal():
                return self._keep_refusal(key, effect)
            case CreateChild():
                return await self._create_child(key, snapshot, effect)
            case PatchChild():
                return await self._patch_child(snapshot, effect)
            case AdoptChild():
                return await self._adopt_child(key, snapshot, effect)
            case DeleteChild():
                return await self._delete_child(key, snapshot, effect)
            case DeleteChildren():
                return await self._delete_children(key, snapshot, effect)
            case WriteRegionStatus() | NoteReference() | ReportReference():
                return await self._statuses.run(key, snapshot, effect)
            case ConfirmJobGone():
                return await self._confirm_job_gone(key, effect.job_uid)
            case FindServers() | FindResizing():
                return await self._find(key, snapshot, effect)
            case KeepCertificate():
                return await self._provisioner.keep_certificate(
                    key, snapshot, effect, lambda: self._confirm_job(key, effect.job_uid)
                )
            case DeleteCertificate():
                await self._confirm_unwanted(key, effect.job_uid)
                return await self._provisioner.delete_certificate(key, effect.job_uid)

    async def _find(
        self, key: JobKey, snapshot: Snapshot, effect: FindServers | FindResizing
    ) -> str:
        if isinstance(effect, FindServers):
            return await self._provisioner.find_servers(key, snapshot, effect)
        is_possible = await self._wiring.runtime.kube.serves(resource_of("Pod"), "resize")
        self._answers.of(effect.job_uid).find_resizing(effect.generation, is_possible)
        self._wiring.wake(key)
        return "in place" if is_possible else "not in place"

    def _keep_refusal(self, key: JobKey, effect: KeepRefusal) -> str:
        self._answers.observe(effect.unplaced)
        self._wiring.wake(key)
        return "kept"

    # ------------------------------------------------------------------ statuses

    async def _write_status(
        self,
        key: JobKey,
        snapshot: Snapshot,
        change: JobStatusChange,
        *,
        job_id: int | None = None,
    ) -> str:
        job = _job(snapshot)
        entry = self._table.get(JOB, key.namespace, key.name)
        if entry is None or entry.uid != job.uid or JobSeen.of(entry) != job:
            raise Superseded(f"Job {key.name} changed")
        for name in change.missing:
            await self._confirm_missing(key, name)
        now = self._wiring.runtime.clock.now()
        patch = job_status_patch(job.status, change, generation=job.generation, now=now)
        if job_id is not None:
            patch["status"]["id"] = job_id
        for event in change.announcements:
            # Before the status: a crash between the two says it again, under the same name.
            await self._writer.emit_event(
                entry,
                reason=event.reason.value,
                # That of a failure says when the next attempt follows.
                message=event.message if change.failure is None else patch["status"]["message"],
                generation=event.generation,
                warning=event.warning,
            )
        if change.phase == JobPhase.SUBMITTING and job.status.get("phase") == JobPhase.FAILED:
            # Before the write, whose answer may be lost: the new attempt is not refused for the
            # reasons of the last one.
            self._answers.forget(job.uid)
        outcome = await self._writer.patch(entry, patch, subresource="status")
        self._forget_answers(job.uid, change)
        return outcome

    async def _confirm_missing(self, key: JobKey, pe: str) -> None:
        """Raise Superseded if the PE exists: its fact may be on its way."""
        kind = "ProcessingElement"
        if not await self._writer.confirm_absent(resource_of(kind), key.namespace, pe):
            raise Superseded(f"{kind} {pe} exists")

    def _forget_answers(self, job_uid: str, change: JobStatusChange) -> None:
        """Forget all answers of a failed Job; of a submitted one, keep the refusals."""
        if change.phase == JobPhase.FAILED:
            self._answers.forget(job_uid)
        if change.phase == JobPhase.SUBMITTED:
            self._answers.of(job_uid).settle()

    # ------------------------------------------------------------------ children

    def _seen(self, snapshot: Snapshot, kind: str, name: str) -> Entry:
        entry = snapshot.of(kind).get(name)
        if entry is None:
            raise Superseded(f"{kind} {name} is not what was decided on")
        return entry

    async def _create_child(self, key: JobKey, snapshot: Snapshot, effect: CreateChild) -> str:
        job = _job(snapshot)
        if effect.confirmed:
            await self._confirm_job(key, job.uid)
        try:
            return await self._writer.create(
                resource_of(effect.kind),
                key.namespace,
                body_of(snapshot, effect),
                stamp=labels.GENERATION,
            )
        except NameTaken:
            self._answers.of(job.uid).note_name_taken(f"{effect.kind} {effect.name}")
            self._wiring.wake(key)
            raise

    async def _patch_child(self, snapshot: Snapshot, effect: PatchChild) -> str:
        entry = self._seen(snapshot, effect.kind, effect.name)
        return await self._writer.patch(entry, patch_of(snapshot, effect, entry))

    async def _confirm_job(self, key: JobKey, job_uid: str) -> None:
        """Raise Superseded if the Job is deleted: lost children may show it first."""
        there = await self._live_job(key)
        if there is None or there["metadata"]["uid"] != job_uid:
            raise Superseded(f"Job {key.name} is gone")
        if there["metadata"].get("deletionTimestamp"):
            raise Superseded(f"Job {key.name} is being deleted")

    async def _adopt_child(self, key: JobKey, snapshot: Snapshot, effect: AdoptChild) -> str:
        """Get the Job first: it is marked before an orphaning deletion removes owners."""
        job = _job(snapshot)
        entry = self._seen(snapshot, effect.kind, effect.name)
        await self._confirm_job(key, job.uid)
        return await self._writer.patch(entry, adoption_of(snapshot, entry))

    async def _live_job(self, key: JobKey) -> dict[str, Any] | None:
        """The Job as the API server has it; the table learns it."""
        read_at = self._table.heard
        try:
            there = await self._wiring.runtime.kube.get(resource_of(JOB), key.namespace, key.name)
        except NotFound:
            known = self._table.get(JOB, key.namespace, key.name)
            if known is not None:
                self._answers.learn_gone(known.uid)
                self._table.observe_gone(known.ref, known.uid)
            return None
        self._writer.observe(JOB, there, read_at=read_at)
        return there

    async def _confirm_job_gone(self, key: JobKey, job_uid: str) -> Outcome:
        """A new Job of the same name is left out: its own facts report it."""
        read_at = self._table.heard
        try:
            there = await self._wiring.runtime.kube.get(resource_of(JOB), key.namespace, key.name)
        except NotFound:
            there = None
        if there is None or there["metadata"]["uid"] != job_uid:
            self._answers.learn_gone(job_uid)
            return Outcome.GONE
        self._writer.observe(JOB, there, read_at=read_at)
        return Outcome.EXISTED

    async def _delete_child(self, key: JobKey, snapshot: Snapshot, effect: DeleteChild) -> str:
        place = effect.kind, effect.name
        strangers = (each for each in snapshot.strangers if (each.kind, each.name) == place)
        own = snapshot.of(effect.kind).get(effect.name)
        entry = next(strangers, None) if own is None else own
        if entry is None or entry.uid != effect.uid:
            raise Superseded(f"{effect.kind} {effect.name} is not what was decided on")
        if own is None:  # side by side with it, nobody waits for the answer of ConfirmJobGone
            await self._confirm_unwanted(key, job_uid_of(entry))
        return await self._writer.delete(entry, with_version=True)

    async def _delete_children(
        self, key: JobKey, snapshot: Snapshot, effect: DeleteChildren
    ) -> str:
        members = _members(snapshot, effect)
        await self._confirm_unwanted(key, effect.job_uid)
        await self._confirm_owned(members[0], effect.job_uid)
        await self._writer.delete_collection(
            resource_of(effect.kind),
            key.namespace,
            label_selector=Root(JOB, key.name).selector_of_uid(effect.job_uid),
        )
        for entry in members:
            if not entry.data["metadata"]["finalizers"]:
                self._table.observe_gone(entry.ref, entry.uid)
        return Outcome.DELETING

    async def _confirm_unwanted(self, key: JobKey, job_uid: str) -> None:
        """Raise Superseded unless the Job is gone, failed, or goes with its children."""
        there = await self._live_job(key)
        if there is None or there["metadata"]["uid"] != job_uid:
            return
        entry = self._table.get(JOB, key.namespace, key.name)
        job = JobSeen.of(entry) if entry is not None and entry.uid == job_uid else None
        is_going = job is not None and job.deleting and not job.orphaning
        has_failed = job is not None and not job.deleting and job.phase == JobPhase.FAILED
        if not (is_going or has_failed):
            raise Superseded(f"Job {key.name} exists: its children are not to be deleted")

    async def _confirm_owned(self, sample: Entry, job_uid: str) -> None:
        """Raise Superseded if an orphaning deletion removed the sample's owner."""
        if await self._writer.confirm_absent(
            resource_of(sample.kind), sample.namespace, sample.name
        ):
            return
        newest = self._table.get(*sample.ref)
        if newest is not None and newest.uid == sample.uid and not is_owned(newest, job_uid):
            raise Superseded(f"{sample.kind} {sample.name} was orphaned")


def _subject_of(effect: Effect) -> str | None:
    """What an effect is about if its failure blocks the job, else None."""
    if isinstance(effect, CreateChild | PatchChild):
        return f"{effect.kind} {effect.name}"
    if isinstance(effect, RecordPlan | ReadPlan):
        return f"plan record {effect.generation}"
    if isinstance(effect, FindServers):
        return REDIS_SERVERS
    if isinstance(effect, KeepCertificate | DeleteCertificate):
        return CERTIFICATE
    return JOB_ID if isinstance(effect, TakeJobId) else None


def _reason_of(problem: Transient | Rejected) -> Reason:
    """What the Job says of an effect that failed."""
    if isinstance(problem, JobIdsUsedUp):
        return Reason.JOB_IDS_USED_UP
    return Reason.NAME_TAKEN if isinstance(problem, NameTaken) else Reason.WRITE_FAILED


def _uid(snapshot: Snapshot) -> str:
    return snapshot.job.uid if snapshot.job is not None else ""


def _job(snapshot: Snapshot) -> JobSeen:
    if snapshot.job is None:
        raise Rejected(404, "NotFound", f"Job {snapshot.name} is gone", {})
    return snapshot.job


def _members(snapshot: Snapshot, effect: DeleteChildren) -> list[Entry]:
    """The members in the snapshot; raises Superseded if there are none."""
    ours = snapshot.job is not None and snapshot.job.uid == effect.job_uid
    seen = snapshot.of(effect.kind).values() if ours else snapshot.strangers
    members = [
        entry
        for entry in seen
        if entry.kind == effect.kind
        and is_member(snapshot, entry, effect.job_uid)
        and not is_deleting(entry)
    ]
    if not members:
        raise Superseded(f"no {effect.kind} of Job {effect.job_uid} is left")
    return members
