"""Headless Services of PEs: their bodies, how an edited one differs, and the patch that repairs it.

A job has one Service for all PEs, whose pods have host names in it; with `spec.services: PerPE` it
has one for each, as the original (docs/adr/0050). The former never changes: it selects every pod
of the job, and its ports are those that each PE has.

Somebody who may edit Services can send the traffic of a PE elsewhere. So facts of Services say
where they lead (`contracts/facts.py`), in the form that the API server gives to what is written
here. What it fills in, and what has no effect on a headless Service, is not compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from contracts import labels
from contracts.resources.job import Services
from planner.numbering.records import PeRecord, PlanRecord
from services.chassis.table.entries import Entry, annotation
from services.fusion_backend.core.children import Body, described, merge_patch, metadata
from services.fusion_backend.core.seen import PeSeen, ServiceSeen
from services.fusion_backend.core.snapshot import JobSeen, Snapshot

PE_PORT_BASE = 10_000
METRICS_PORT = 9_696
CONSISTENT_REGION_PORT = 10_001
MARKS_OF_JOB_SERVICE: Final[Mapping[str, str]] = {labels.SERVICE_ROLE: labels.ROLE_PE}
"""Labels that the Service of a job has beside those of all children: monitors of PEs select it."""
_HEADLESS = "None"


def input_ports(pe: PeRecord) -> str:
    """The input ports of a PE as its Service's annotation says them."""
    return ",".join(str(port) for port in pe.input_ports)


def _ports(input_ports: Sequence[int] = ()) -> list[Body]:
    """The ports of a Service; input ports of PEs are reached by addresses alone (docs/adr/0050)."""
    ports = [(f"sys-{port}", PE_PORT_BASE + port, "TCP") for port in input_ports]
    ports += [
        ("sys-metrics", METRICS_PORT, "TCP"),
        ("sys-notifications", PE_PORT_BASE, "UDP"),
        ("sys-consistentregion", CONSISTENT_REGION_PORT, "UDP"),
    ]
    return [
        {"name": name, "port": port, "protocol": protocol, "targetPort": port}
        for name, port, protocol in ports
    ]


def _spec(job: str, pe: PeRecord | None) -> Body:
    """The spec of the Service of a PE; without one, of the Service of the job.

    It selects by job and PE, never by generation: that would empty the endpoints of PEs that a
    resize leaves alone.
    """
    mark = (labels.SERVICE_ROLE, labels.ROLE_PE) if pe is None else (labels.PE, str(pe.id))
    return {
        "type": "ClusterIP",
        "clusterIP": _HEADLESS,
        "publishNotReadyAddresses": True,
        "selector": {labels.APP: labels.APP_VALUE, labels.JOB: job, **dict([mark])},
        "ports": _ports(() if pe is None else pe.input_ports),
    }


def service(job: JobSeen, record: PlanRecord, pe: PeRecord | None) -> Body:
    """The headless Service of a PE; without one, of the job."""
    if pe is None:
        meta = metadata(job, labels.job_service_name(job.name), record.generation)
        meta["labels"] |= MARKS_OF_JOB_SERVICE
        meta = described(record, meta)
    else:
        meta = described(record, metadata(job, pe.name, record.generation, pe=pe.id))
        meta["annotations"][labels.INPUT_PORTS] = input_ports(pe)
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": _spec(job.name, pe)}


def service_patch(job: JobSeen, generation: int, pe: PeRecord | None, entry: Entry) -> Body:
    """What a resize changes of a Service of a PE, or what somebody made of a Service.

    Lists replace lists, and keys that are not ours leave the selector.
    """
    seen = ServiceSeen(entry).spec_if_seen or {}
    meta: Body = {"labels": {labels.GENERATION: str(generation)}}
    if pe is not None:
        meta["annotations"] = {labels.INPUT_PORTS: input_ports(pe)}
    return {"metadata": meta, "spec": merge_patch(seen, _spec(job.name, pe))}


def is_as_planned(entry: Entry, job: str, pe: PeRecord | None) -> bool:
    """Whether a Service leads to the pods of its PE; without one, to those of the job.

    A fact of an older release, which has metadata only, does not show its selector: the next
    resync does.
    """
    seen = ServiceSeen(entry).spec_if_seen
    is_led = seen is None or seen == _spec(job, pe)
    return is_led and (pe is None or annotation(entry, labels.INPUT_PORTS) == input_ports(pe))


def has_address(entry: Entry) -> bool:
    """Whether a Service has an address of its own, which the API server lets nobody take away."""
    seen = ServiceSeen(entry).spec_if_seen or {}
    return bool(seen.get("clusterIP", _HEADLESS) != _HEADLESS)


def services_in_use(snapshot: Snapshot) -> Services | None:
    """Which Services lead to the PEs that exist; None without PEs.

    Of a job whose plan records are lost: its pods have host names in the job's Service or not.
    """
    pes = [PeSeen(entry) for entry in snapshot.of("ProcessingElement").values()]
    if not pes:
        return None
    return Services.PER_JOB if any(pe.service_name for pe in pes) else Services.PER_PE
