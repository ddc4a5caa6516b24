"""When a job's certificate and redis servers are due, beside what its life cycle asks for.

1. A job with a PE that talks over TLS has a certificate as soon as it has a plan. The certificate
   is read every `CERTIFICATE_LOOK_S`, since Secrets are not watched and a user may delete it. It is
   renewed at the time that the Job's status names.
2. A redis that the job requires is looked up once, before the first plan. An edit can make a
   ProcessingElement require one later; then it is looked up again.

Properties: no write while the Secret is as it should be; nothing that runs is launched again.
"""

from __future__ import annotations

from collections.abc import Iterator

from contracts.moments import unix_s_of
from contracts.resources import JobPhase
from contracts.resources.processing_element import is_encrypted, required_redis
from services.chassis.table.entries import Entry
from services.fusion_backend.core.effects import FindServers, KeepCertificate
from services.fusion_backend.core.remembering import Remembered
from services.fusion_backend.core.seen import PeSeen
from services.fusion_backend.core.snapshot import JobSeen, Snapshot
from services.fusion_backend.core.spec.provisions import (
    CERTIFICATE,
    REDIS_SERVERS,
    TEMPLATE,
    RedisRequest,
    encrypted_pes,
    redis_request,
)

CERTIFICATE_LOOK_S = 20.0
CERTIFICATE_DAYS = 30
FAILED = JobPhase.FAILED.value


def servers_awaited(snapshot: Snapshot) -> RedisRequest | None:
    """The redis that the job asks for and whose servers are not known yet."""
    job = snapshot.job
    if job is None or job.status.get("redisConfig") or snapshot.provisions.refusal is not None:
        return None
    request = redis_request(_template(job), TEMPLATE)
    return request or next(_requests_of_pes(snapshot), None)


def provisions_missing(snapshot: Snapshot) -> Iterator[str]:
    """What its PEs share that a job lacks still, or looks at again and again."""
    job = snapshot.job
    if servers_awaited(snapshot) is not None:
        yield REDIS_SERVERS
    if job is not None and _wants_certificate(snapshot, job):
        yield CERTIFICATE


def provisions_due(snapshot: Snapshot, now: float) -> tuple[KeepCertificate | FindServers, ...]:
    """What has to be done for a job that has its plan."""
    job = snapshot.job
    if job is None or job.deleting or job.phase == FAILED or snapshot.newest is None:
        return ()
    due: list[KeepCertificate | FindServers] = []
    if (request := servers_awaited(snapshot)) is not None:
        due.append(FindServers(job.uid, request))
    if _wants_certificate(snapshot, job) and _next_look(snapshot, job) <= now:
        days = job.spec_field("transportCertificateValidityInDays") or CERTIFICATE_DAYS
        due.append(KeepCertificate(job.uid, int(days)))
    return tuple(due)


def next_look_at(snapshot: Snapshot, now: float) -> float | None:
    """When the certificate is to be looked at again."""
    job = snapshot.job
    if job is None or snapshot.newest is None or not _wants_certificate(snapshot, job):
        return None
    at = _next_look(snapshot, job)
    return at if at > now else now + CERTIFICATE_LOOK_S


def _template(job: JobSeen) -> dict[str, object]:
    return job.spec_field("processingElement") or {}


def _requests_of_pes(snapshot: Snapshot) -> Iterator[RedisRequest]:
    for entry in _pes_that_share(snapshot):
        request = redis_request(PeSeen(entry).spec, f"ProcessingElement {entry.name}: spec")
        if request is not None:
            yield request


def _pes_that_share(snapshot: Snapshot) -> list[Entry]:
    """The PEs that need a certificate or redis, by name; nearly no job has any."""
    entries, plan = snapshot.of("ProcessingElement"), snapshot.newest
    remembered = plan.plain if plan is not None else Remembered()
    plain = remembered.among(entries.values(), _is_plain)
    return [entry for _, entry in sorted(entries.items()) if id(entry) not in plain]


def _is_plain(entry: Entry) -> bool:
    """Whether a PE needs neither, or nobody can read what it needs."""
    if entry.unreadable:
        return True
    spec = PeSeen(entry).spec
    return required_redis(spec) is None and not is_encrypted(spec)


def _wants_certificate(snapshot: Snapshot, job: JobSeen) -> bool:
    if is_encrypted(_template(job)):
        return True
    return encrypted_pes(PeSeen(entry).spec for entry in _pes_that_share(snapshot))


def _next_look(snapshot: Snapshot, job: JobSeen) -> float:
    """When the certificate is due to be looked at; 0 for at once."""
    recorded = job.status.get("transportCertificate")
    seen_at = snapshot.provisions.certificate_seen_at
    if not recorded or seen_at is None:
        return 0.0
    return min(seen_at + CERTIFICATE_LOOK_S, unix_s_of(recorded["renewedFrom"]))
