"""Keeps the Secret of a job's certificate: made once, looked at, renewed, made again if it is gone.

1. Read the Secret. One that is as it should be is left alone.
2. None: make key and certificate, and create it. One that is damaged, or due to be renewed: put
   new ones in under the version that was read.
3. Say in the Job's status where it is and until when it holds: pods wait for that.

A crash between 2 and 3 finds the Secret as it should be. Secrets are in no fact, no log and no
message: what leaves this file is a name and two times.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from contracts import labels
from contracts.moments import moment_of
from contracts.resources import JOB
from services.chassis.kube.port import Resource
from services.chassis.kube.writing import Outcome
from services.chassis.process.errors import Conflict, NameTaken, NotFound, Superseded, Transient
from services.chassis.running.wiring import Wiring
from services.chassis.table.entries import Entry
from services.fusion_backend.adapters.certifying import (
    Certificate,
    Validity,
    made_certificate,
    validity_of,
)
from services.fusion_backend.core import children
from services.fusion_backend.core.snapshot import JobSeen

SECRET = Resource("", "v1", "secrets", "Secret")
Json = dict[str, Any]


class Certificates:
    """The certificates of jobs; `in_threads` is off where virtual time drives everything."""

    def __init__(self, wiring: Wiring, *, in_threads: bool) -> None:
        self._kube = wiring.runtime.kube
        self._writer = wiring.writer
        self._clock = wiring.runtime.clock
        self._in_threads = in_threads

    async def keep(
        self,
        entry: Entry,
        names: Sequence[str],
        *,
        days: int,
        generation: int,
        confirm_job: Callable[[], Awaitable[None]],
    ) -> str:
        """See to the Secret of a Job's entry, and have its status say so; the outcome in a word."""
        job = JobSeen.of(entry)
        secret = await self._read(job)
        validity = _validity(secret)
        outcome = Outcome.EXISTED
        if secret is None:
            await confirm_job()
            validity = await self._create(job, names, days, generation)
            outcome = Outcome.CREATED
        elif validity is None or validity.renewed_from <= self._clock.now():
            validity = await self._renew(job, secret, names, days)
            outcome = Outcome.PATCHED
        assert validity is not None, "what was just made is a certificate"
        await self._say(entry, validity)
        return outcome

    async def delete(self, namespace: str, job_uid: str) -> str:
        """Delete what was made for a Job's uid."""
        return await self._writer.delete_collection(
            SECRET, namespace, label_selector=f"{labels.JOB_UID}={job_uid}"
        )

    async def _read(self, job: JobSeen) -> Json | None:
        name = labels.certificate_name(job.name)
        try:
            found = await self._kube.get(SECRET, job.namespace, name)
        except NotFound:
            return None
        owners = found["metadata"].get("ownerReferences") or ()
        if not any(owner["uid"] == job.uid for owner in owners):
            if any(owner.get("kind") == JOB.kind for owner in owners):
                raise Transient(f"Secret {name} waits for its owner to go", outcome_unknown=False)
            raise NameTaken(409, "NameTaken", f"Secret {name} belongs to somebody else", {})
        if found["metadata"].get("deletionTimestamp"):
            raise Transient(f"Secret {name} is being deleted", outcome_unknown=False)
        return found

    async def _create(
        self, job: JobSeen, names: Sequence[str], days: int, generation: int
    ) -> Validity | None:
        made = await self._made(names, days)
        body = {
            "apiVersion": SECRET.api_version,
            "kind": SECRET.kind,
            "metadata": children.metadata(job, labels.certificate_name(job.name), generation),
            "type": "Opaque",
            "data": _data(made),
        }
        if await self._writer.create(SECRET, job.namespace, body) is not Outcome.CREATED:
            raise Superseded("somebody else made the certificate")
        return validity_of(made)

    async def _renew(
        self, job: JobSeen, secret: Json, names: Sequence[str], days: int
    ) -> Validity | None:
        made = await self._made(names, days)
        meta = secret["metadata"]
        try:
            await self._kube.patch(
                SECRET,
                job.namespace,
                meta["name"],
                {"data": _data(made)},
                resource_version=int(meta["resourceVersion"]),
            )
        except (Conflict, NotFound) as problem:
            raise Superseded(f"Secret {meta['name']} changed while it was renewed") from problem
        return validity_of(made)

    async def _made(self, names: Sequence[str], days: int) -> Certificate:
        now = self._clock.now()
        if not self._in_threads:
            return made_certificate(names, days=days, now=now)
        return await asyncio.to_thread(made_certificate, names, days=days, now=now)

    async def _say(self, entry: Entry, validity: Validity) -> None:
        desired = {
            "secretName": labels.certificate_name(entry.name),
            "notAfter": moment_of(validity.not_after),
            "renewedFrom": moment_of(validity.renewed_from),
        }
        if entry.data["status"].get("transportCertificate") != desired:
            patch = {"status": {"transportCertificate": desired}}
            await self._writer.patch(entry, patch, subresource="status")


def _data(made: Certificate) -> dict[str, str]:
    files = {labels.CERTIFICATE_KEY: made.certificate, labels.PRIVATE_KEY_KEY: made.key}
    return {name: base64.b64encode(content).decode() for name, content in files.items()}


def _validity(secret: Json | None) -> Validity | None:
    """How long the certificate in a Secret is valid; None for what somebody made of it."""
    data = (secret or {}).get("data") or {}
    try:
        found = Certificate(
            base64.b64decode(data[labels.CERTIFICATE_KEY]),
            base64.b64decode(data[labels.PRIVATE_KEY_KEY]),
        )
    except (KeyError, binascii.Error):
        return None
    return validity_of(found)
