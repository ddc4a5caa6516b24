"""Looks things up in the table by the words of a path; what is missing is refused as originally."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from contracts import labels
from services.chassis.table.entries import is_deleting
from services.chassis.table.table import Table
from services.pe_gateway.adapters.intake import (
    JOB,
    PE,
    POD,
    REGION,
    SERVICE,
    in_namespace,
    living_in,
    of_job,
    pods_of,
)
from services.pe_gateway.adapters.reading import (
    job_losses_of,
    job_of,
    pe_of,
    pod_of,
    region_of,
    service_of,
)
from services.pe_gateway.core.answers import bad_request, not_found, unavailable
from services.pe_gateway.core.runtime_views import address_in
from services.pe_gateway.core.snapshot import Job, JobLosses, Pe, PeService, Region
from services.pe_gateway.core.trusting import Departed, Sender, TokenOf, sender_of


class Lookups:
    """The objects of one table. Every method raises ObjectUnreadable for a bad object."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def jobs(self, namespace: str) -> Sequence[Job]:
        """The Jobs of a namespace that have an id."""
        found = map(job_of, in_namespace(self._table, JOB, namespace))
        return [job for job in found if job is not None]

    def job_name(self, namespace: str, job_id: int) -> str:
        """The name of the job with an id. Raises Refused: 400."""
        for job in self.jobs(namespace):
            if job.id == job_id:
                return job.name
        raise bad_request(f"namespace {namespace} has no job with id {job_id}")

    def has_job(self, namespace: str, name: str, uid: str) -> bool:
        """Whether a job exists, and is not being deleted."""
        entry = self._table.get(JOB, namespace, name)
        return entry is not None and entry.uid == uid and not is_deleting(entry)

    def losses(self, namespace: str, name: str, uid: str) -> JobLosses | None:
        """What a Job has of lost tuples; None if no Job of this uid exists, or it goes."""
        entry = self._table.get(JOB, namespace, name)
        if entry is None or entry.uid != uid or is_deleting(entry):
            return None
        return job_losses_of(entry)

    def living(self, namespace: str, job: str) -> frozenset[tuple[str, int]]:
        """The newest launches of the PEs of a job, each below the uid of its PE."""
        return living_in(self._table, namespace, job)

    def require_job(self, namespace: str, job: str) -> None:
        """Return if a job exists. Raises Refused: 400."""
        if self._table.get(JOB, namespace, job) is None:
            raise bad_request(f"namespace {namespace} has no job {job[:80]!r}")

    def pe(self, namespace: str, job: str, number: int) -> Pe:
        """A PE. Raises Refused: 400 without its job, 404 without the PE."""
        self.require_job(namespace, job)
        entry = self._table.get(PE, namespace, labels.pe_name(job, number))
        if entry is None:
            raise not_found(f"job {job} has no PE {number}")
        return pe_of(entry)

    def job(self, namespace: str, name: str) -> Job:
        """A Job. Raises Refused: 400 without it, 503 before it has an id."""
        self.require_job(namespace, name)
        entry = self._table.get(JOB, namespace, name)
        job = job_of(entry) if entry is not None else None
        if job is None:
            raise unavailable(f"job {name} has no id yet")
        return job

    def address(self, namespace: str, job: str, number: int) -> tuple[str, int] | None:
        """Where a PE is reached, and the launch there; None where it is not."""
        entry = self._table.get(PE, namespace, labels.pe_name(job, number))
        pods = map(pod_of, pods_of(self._table, namespace, job, number))
        return address_in(pods, pe_of(entry) if entry is not None else None)

    def pes(self, namespace: str, job: str) -> Sequence[Pe]:
        """The PEs of a job."""
        return [pe_of(each) for each in of_job(self._table, PE, namespace, job)]

    def without_pe(self, namespace: str, job: str, numbers: Iterable[int]) -> Sequence[int]:
        """Those of the numbers that no PE of a job has."""
        names = {each: labels.pe_name(job, each) for each in numbers}
        return [
            each for each, name in names.items() if self._table.get(PE, namespace, name) is None
        ]

    def region(self, namespace: str, job: str, alias: str) -> Region | None:
        """The parallel region of an alias. Raises Refused: 400 without the job."""
        self.require_job(namespace, job)
        regions = map(region_of, of_job(self._table, REGION, namespace, job))
        return next((each for each in regions if each.alias == alias), None)

    def region_names(self, namespace: str, job: str) -> dict[int, str]:
        """The alias of each region of a job by its index."""
        regions = of_job(self._table, REGION, namespace, job)
        return {int(each.data["spec"].get("index") or 0): region_of(each).alias for each in regions}

    def services(self, namespace: str, job: str = "") -> Sequence[PeService]:
        """The Services of PEs of a job, or of a namespace."""
        found = (
            of_job(self._table, SERVICE, namespace, job)
            if job
            else in_namespace(self._table, SERVICE, namespace)
        )
        return [each for each in map(service_of, found) if each.job]

    def service(self, pe: Pe) -> PeService:
        """The Service in which a PE is found. Raises Refused: 404."""
        name = pe.service or pe.name
        entry = self._table.get(SERVICE, pe.namespace, name)
        if entry is None:
            raise not_found(f"there is no Service {name}")
        return service_of(entry)

    def known_pes(self, namespace: str, services: Sequence[PeService]) -> set[tuple[str, int]]:
        """(job, id) of those PEs that exist and have an endpoint in one of the Services."""
        named = {(each.job, endpoint.pe) for each in services for endpoint in each.endpoints}
        return {
            (job, pe)
            for job, pe in named
            if self._table.get(PE, namespace, labels.pe_name(job, pe)) is not None
        }

    def application(self, namespace: str, job: str) -> str:
        """The name of the application of a job; empty before it has PEs."""
        for entry in of_job(self._table, SERVICE, namespace, job):
            annotations = entry.data["metadata"]["annotations"]
            if name := annotations.get(labels.APPLICATION_NAME):
                return str(name)
        return ""

    def sender(self, token: TokenOf) -> Sender | Departed:
        """The PE whose pod a token is bound to. Raises Refused: 403."""
        entry = self._table.get(POD, token.namespace, token.pod)
        if entry is None:
            return sender_of(token, None, None, has_job=False)
        pod = pod_of(entry)
        pe = self._table.get(PE, token.namespace, pod.pe)
        has_job = self.has_job(token.namespace, pod.job, pod.job_uid)
        return sender_of(token, pod, pe_of(pe) if pe is not None else None, has_job=has_job)
