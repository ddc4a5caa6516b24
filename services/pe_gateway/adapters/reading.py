"""Reads the projections of facts as the frozen values that decisions and answers look at.

One function for each kind; which entries belong together is intake's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from contracts import labels
from contracts.losses import Losses, losses_field, losses_of, retention_s_of
from contracts.resources import JOB, Connectivity
from contracts.resources.hand_over import hand_over_in
from contracts.unreadable import Unreadable, part_of
from services.chassis.table.entries import Entry, annotation, is_deleting, label
from services.launching.core.owners import controller, owner_fields
from services.launching.core.pods import Pod as LaunchedPod
from services.launching.core.pods import pod_of as launched_pod_of
from services.pe_gateway.core.endpoints import endpoints_from
from services.pe_gateway.core.snapshot import (
    Job,
    JobLosses,
    Pe,
    PeOwner,
    PeService,
    Pod,
    Region,
    Report,
    ReportedLosses,
    Values,
)

_ENDED = ("Succeeded", "Failed")
PE_DIGITS_MAX = 9
"""Of the number of a PE in a label; a longer one names no PE."""


def job_of(entry: Entry) -> Job | None:
    """A Job; None until it has an id. The first one of a namespace has 0."""
    status = entry.data["status"]
    number = status.get("id")
    if number is None:
        return None
    return Job(
        entry.namespace,
        entry.name,
        int(number),
        entry.uid,
        hand_over_in(status),
        (bundle_name_of(entry), str(status.get("bundleDigest") or "")),
        int(status.get("generation") or 0),
        has_ended=bool(status.get("hasEnded")),
    )


def bundle_name_of(entry: Entry) -> str:
    """The name of the bundle of a Job; empty where the spec cannot be read."""
    spec = part_of(entry.data, "spec")
    bundle = None if isinstance(spec, Unreadable) else spec.get("bundle")
    return str(bundle.get("name") or "") if isinstance(bundle, Mapping) else ""


def pe_of(entry: Entry) -> Pe:
    """A processing element. Raises ObjectUnreadable, KeyError or ValueError for a bad one."""
    spec, status = entry.data["spec"], entry.data["status"]
    pack = spec.get("pack")
    return Pe(
        namespace=entry.namespace,
        name=entry.name,
        uid=entry.uid,
        id=int(spec["id"]),
        job=label(entry, labels.JOB) or str(spec.get("job") or ""),
        launch=int(status.get("launchCount") or 0),
        connectivity=str(status.get("connectivity") or ""),
        runtime=_values(status.get("runtime")),
        content_id=str(spec.get("contentId") or ""),
        pack=(str(pack["name"]), str(pack["key"])) if pack else None,
        service=str(spec.get("serviceName") or ""),
        is_deleting=is_deleting(entry),
        trace=(str(spec.get("appTraceLevel") or ""), str(spec.get("runtimeTraceLevel") or "")),
        job_uid=(controller(entry, JOB.kind) or ("", ""))[1],
    )


def owner_of(entry: Entry) -> PeOwner:
    """A PE as what launches pods. Raises ObjectUnreadable, KeyError or ValueError for a bad one."""
    pe = pe_of(entry)
    return PeOwner(**owner_fields(entry), id=pe.id, job=pe.job)


def launched_pods(entries: Iterable[Entry]) -> Iterator[LaunchedPod]:
    """The pods that PEs control."""
    for entry in entries:
        owner = controller(entry, "ProcessingElement")
        if owner is not None and not entry.unreadable:
            yield launched_pod_of(entry, owner[1])


def pod_of(entry: Entry) -> Pod:
    """A pod of ours."""
    owners = entry.data["metadata"]["owners"]
    owner = next((each for each in owners if each["controller"]), {"kind": "", "uid": ""})
    launch = label(entry, labels.LAUNCH_COUNT)
    return Pod(
        name=entry.name,
        uid=entry.uid,
        pe_uid=str(owner["uid"]) if owner["kind"] == "ProcessingElement" else "",
        launch=int(launch) if launch.isdecimal() else 0,
        has_ended=entry.data.get("phase") in _ENDED,
        is_deleting=is_deleting(entry),
        ip=str(entry.data.get("ip") or ""),
        pe=pe_name_of(entry),
        job=label(entry, labels.JOB),
        job_uid=label(entry, labels.JOB_UID),
    )


def pe_name_of(pod: Entry) -> str:
    """The name of the PE of a pod, by its labels; that of no PE where they name none."""
    number = label(pod, labels.PE)
    is_number = number.isascii() and number.isdecimal() and len(number) <= PE_DIGITS_MAX
    return labels.pe_name(label(pod, labels.JOB), int(number) if is_number else -1)


def region_of(entry: Entry) -> Region:
    """A parallel region."""
    spec = entry.data["spec"]
    return Region(entry.namespace, entry.name, str(spec.get("alias") or ""), int(spec["width"]))


def service_of(entry: Entry) -> PeService:
    """A Service of PEs."""
    return PeService(
        namespace=entry.namespace,
        name=entry.name,
        job=label(entry, labels.JOB),
        scope=annotation(entry, labels.APPLICATION_SCOPE),
        ports=tuple(entry.data["spec"].get("ports") or ()),
        endpoints=endpoints_from(annotation(entry, labels.ENDPOINTS)),
    )


def report_of(entry: Entry) -> Report:
    """A report, from the entry that `report_data` made."""
    connectivity = entry.data["connectivity"]
    return Report(
        pe_uid=entry.uid,
        connectivity=Connectivity(connectivity) if connectivity else None,
        launch=int(entry.data["launch"]),
        before=str(entry.data["before"]),
        at=float(entry.data["at"]),
        runtime=_values(entry.data.get("runtime")),
        lost_why=str(entry.data.get("lostWhy", "")),
        replaced=frozenset(entry.data.get("replaced", ())),
    )


def job_losses_of(entry: Entry) -> JobLosses:
    """What a Job has of lost tuples. Raises ObjectUnreadable for a status that nobody can read."""
    spec = part_of(entry.data, "spec")
    return JobLosses(
        entry.uid,
        is_deleting(entry),
        losses_of(part_of(entry.data, "status")),
        retention_s_of({} if isinstance(spec, Unreadable) else spec),
    )


def reported_losses_of(entry: Entry) -> ReportedLosses:
    """What was reported as lost, from the entry that `reported_losses_data` made."""
    losses = losses_of({"losses": {"tuples": 0, "last": "", "launches": entry.data["launches"]}})
    return ReportedLosses(entry.uid, float(entry.data["since"]), losses.launches)


def reported_losses_data(reported: ReportedLosses) -> dict[str, Any]:
    """The data of the entry of what was reported as lost."""
    launches = losses_field(Losses(launches=reported.launches))["launches"]
    return {"since": reported.since, "launches": launches}


def report_data(report: Report) -> dict[str, Any]:
    """The data of the entry of a report."""
    data: dict[str, Any] = {
        "connectivity": report.connectivity.value if report.connectivity is not None else "",
        "launch": report.launch,
        "before": report.before,
        "at": report.at,
    }
    if report.runtime:
        data["runtime"] = dict(report.runtime)
    if report.replaced:
        data["replaced"] = sorted(report.replaced)
    return data | ({"lostWhy": report.lost_why} if report.lost_why else {})


def _values(fields: Mapping[str, Any] | None) -> Values:
    """Fields of `status.runtime`; a list is a tuple, so that effects with it can be hashed."""
    return tuple(
        (name, tuple(value) if isinstance(value, list) else value)
        for name, value in sorted((fields or {}).items())
    )
