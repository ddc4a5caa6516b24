"""Carries out what a job's PEs share: looks redis servers up, keeps the certificate.

When either is due is `core/provisions_due.py`'s business. What was found out and stands in no
object is kept in `answers.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from contracts import labels
from contracts.reasons import Reason
from planner.refusals import PlanRefused
from services.chassis.process.errors import NameTaken, Superseded
from services.chassis.running.wiring import Wiring
from services.chassis.table.entries import Entry
from services.fusion_backend.adapters.answers import Answers
from services.fusion_backend.adapters.certificates import Certificates
from services.fusion_backend.adapters.finding_servers import Resolver
from services.fusion_backend.adapters.intake import JobKey
from services.fusion_backend.core.effects import FindServers, KeepCertificate
from services.fusion_backend.core.snapshot import JobSeen, Snapshot
from services.fusion_backend.core.spec.provisions import (
    certified_names,
    redis_config,
    refusal_of_redis,
)

JOB = "Job"


@dataclass(frozen=True, slots=True)
class Names:
    """How Services are called in the DNS: `redis_host` has `{service}` and `{namespace}` in it."""

    cluster_domain: str = "cluster.local"
    redis_host: str = "{service}.{namespace}.svc.cluster.local"


class Provisioner:
    """Executes `FindServers`, `KeepCertificate` and the deletion of what the latter made."""

    def __init__(
        self,
        wiring: Wiring,
        answers: Answers,
        *,
        resolver: Resolver,
        names: Names,
        in_threads: bool,
    ) -> None:
        self._wiring = wiring
        self._answers = answers
        self._resolver = resolver
        self._names = names
        self._certificates = Certificates(wiring, in_threads=in_threads)

    async def find_servers(self, key: JobKey, snapshot: Snapshot, effect: FindServers) -> str:
        """Ask the DNS and write the answer into the Job's status; a refusal is an answer, too.

        Superseded where the Job changed meanwhile: it may ask for another, or have its answer.
        """
        request = effect.request
        name = self._names.redis_host.format(service=request.service, namespace=key.namespace)
        hosts = {} if refusal_of_redis(request) else await self._resolver.hosts_of(name)
        entry = self._job(key, effect.job_uid)
        if JobSeen.of(entry) != snapshot.job:
            raise Superseded(f"Job {key.name} changed while its redis servers were looked up")
        try:
            config = redis_config(request, hosts, name=name, shuffled=self._shuffled)
        except PlanRefused as refusal:
            await self._refuse(key, entry, refusal)
            return f"refused: {refusal.reason.value}"
        patch = {"status": {"redisConfig": config}}
        return await self._wiring.writer.patch(entry, patch, subresource="status")

    def _shuffled(self, servers: list[str]) -> list[str]:
        return self._wiring.runtime.random.sample(servers, len(servers))

    async def _refuse(self, key: JobKey, entry: Entry, refusal: PlanRefused) -> None:
        self._answers.of(entry.uid).refuse_servers(refusal)
        await self._wiring.writer.emit_event(
            entry,
            reason=Reason.CHECKPOINT_STORE_INVALID.value,
            message=refusal.message,
            generation=int(entry.data["metadata"]["generation"]),
            warning=True,
        )
        self._wiring.wake(key)

    async def keep_certificate(
        self,
        key: JobKey,
        snapshot: Snapshot,
        effect: KeepCertificate,
        confirm_job: Callable[[], Awaitable[None]],
    ) -> str:
        """See to the Secret; when it was seen as it should be is remembered."""
        plan = snapshot.newest
        assert plan is not None, "a certificate is made for the PEs of a plan"
        names = certified_names(
            [pe.name for pe in plan.record.pes],
            namespace=key.namespace,
            cluster_domain=self._names.cluster_domain,
            service=plan.service,
        )
        known = self._answers.of(effect.job_uid)
        try:
            outcome = await self._certificates.keep(
                self._job(key, effect.job_uid),
                names,
                days=effect.days,
                generation=plan.record.generation,
                confirm_job=confirm_job,
            )
        except NameTaken:
            known.note_name_taken(f"Secret {labels.certificate_name(key.name)}")
            self._wiring.wake(key)
            raise
        known.see_certificate(self._wiring.runtime.clock.now())
        self._wiring.wake(key)
        return outcome

    async def delete_certificate(self, key: JobKey, job_uid: str) -> str:
        """Delete the Secret of a Job that goes, or of an attempt that failed.

        The status names it until it is deleted, so a deletion goes on after a crash.
        """
        outcome = await self._certificates.delete(key.namespace, job_uid)
        entry = self._wiring.table.get(JOB, key.namespace, key.name)
        is_there = entry is not None and entry.uid == job_uid
        if entry is not None and is_there and entry.data["status"].get("transportCertificate"):
            gone = {"status": {"transportCertificate": None}}
            await self._wiring.writer.patch(entry, gone, subresource="status")
        return outcome

    def _job(self, key: JobKey, job_uid: str) -> Entry:
        entry = self._wiring.table.get(JOB, key.namespace, key.name)
        if entry is None or entry.uid != job_uid:
            raise Superseded(f"Job {key.name} is another one now")
        return entry
