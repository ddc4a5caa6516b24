"""The headless Service of a PE: its body, how an edited one differs, and the patch that repairs it.

Somebody who may edit Services can send the traffic of a PE elsewhere. So facts of Services say
where they lead (`contracts/facts.py`), in the form that the API server gives to what is written
here. What it fills in, and what has no effect on a headless Service, is not compared.
"""

from __future__ import annotations

from contracts import labels
from planner.numbering.records import PeRecord, PlanRecord
from services.chassis.table.entries import Entry, annotation
from services.fusion_backend.core.children import Body, described, merge_patch, metadata
from services.fusion_backend.core.seen import ServiceSeen
from services.fusion_backend.core.snapshot import JobSeen

PE_PORT_BASE = 10_000
METRICS_PORT = 9_696
CONSISTENT_REGION_PORT = 10_001
_HEADLESS = "None"


def input_ports(pe: PeRecord) -> str:
    """The input ports of a PE as its Service's annotation says them."""
    return ",".join(str(port) for port in pe.input_ports)


def _ports(pe: PeRecord) -> list[Body]:
    ports = [(f"sys-{port}", PE_PORT_BASE + port, "TCP") for port in pe.input_ports]
    ports += [
        ("sys-metrics", METRICS_PORT, "TCP"),
        ("sys-notifications", PE_PORT_BASE, "UDP"),
        ("sys-consistentregion", CONSISTENT_REGION_PORT, "UDP"),
    ]
    return [
        {"name": name, "port": port, "protocol": protocol, "targetPort": port}
        for name, port, protocol in ports
    ]


def _spec(job: str, pe: PeRecord) -> Body:
    return {
        "type": "ClusterIP",
        "clusterIP": _HEADLESS,
        "publishNotReadyAddresses": True,
        "selector": {labels.APP: labels.APP_VALUE, labels.JOB: job, labels.PE: str(pe.id)},
        "ports": _ports(pe),
    }


def service(job: JobSeen, record: PlanRecord, pe: PeRecord) -> Body:
    """The headless Service of a PE; it selects by job and PE, never by generation.

    A selector with the generation would empty the endpoints of PEs that a resize leaves alone.
    """
    meta = described(record, metadata(job, pe.name, record.generation, pe=pe.id))
    meta["annotations"][labels.INPUT_PORTS] = input_ports(pe)
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": _spec(job.name, pe)}


def service_patch(job: JobSeen, generation: int, pe: PeRecord, entry: Entry) -> Body:
    """What a resize changes of a Service, or what somebody made of it.

    Lists replace lists, and keys that are not ours leave the selector.
    """
    seen = ServiceSeen(entry).spec_if_seen or {}
    return {
        "metadata": {
            "labels": {labels.GENERATION: str(generation)},
            "annotations": {labels.INPUT_PORTS: input_ports(pe)},
        },
        "spec": merge_patch(seen, _spec(job.name, pe)),
    }


def is_as_planned(entry: Entry, job: str, pe: PeRecord) -> bool:
    """Whether a Service leads to the pods of its PE.

    A fact of an older release, which has metadata only, does not show its selector: the next
    resync does.
    """
    seen = ServiceSeen(entry).spec_if_seen
    is_led = seen is None or seen == _spec(job, pe)
    return is_led and annotation(entry, labels.INPUT_PORTS) == input_ports(pe)


def has_address(entry: Entry) -> bool:
    """Whether a Service has an address of its own, which the API server lets nobody take away."""
    seen = ServiceSeen(entry).spec_if_seen or {}
    return bool(seen.get("clusterIP", _HEADLESS) != _HEADLESS)
