"""From the table to snapshots and answers: which facts wake which key, and what belongs together.

A PE that reported nothing, or whose report is in its status, wakes no key.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

from contracts import labels
from services.chassis.table.entries import Entry, Index, TableReading, label
from services.pe_gateway.adapters.reading import (
    bundle_name_of,
    job_losses_of,
    launched_pods,
    owner_of,
    pe_of,
    report_of,
    reported_losses_of,
)
from services.pe_gateway.core.snapshot import Key, LossesKey, LossesSnapshot, PeKey, PeSnapshot

JOB = LossesKey.kind
PE = "ProcessingElement"
REGION = "ParallelRegion"
SERVICE = "Service"
POD = "Pod"
KINDS = frozenset({JOB, PE, REGION, SERVICE, POD})
REPORT = "ConnectivityReport"
"""An own kind: what a PE reported, until it is in its status."""
LOSSES = "ReportedLosses"
"""An own kind: what PEs of a job reported as lost, until it is in the status of the Job."""

_OF_JOB = "of-job"
_OF_PE = "of-pe"
_IN_NAMESPACE = "in-namespace"
_AT_ADDRESS = "at-address"
_OF_BUNDLE = "of-bundle"
_INDEXED_BY_JOB = frozenset({PE, REGION, SERVICE})


def _by_job(entry: Entry) -> Iterator[Hashable]:
    if entry.kind in _INDEXED_BY_JOB and (job := label(entry, labels.JOB)):
        yield entry.kind, entry.namespace, job


def _by_namespace(entry: Entry) -> Iterator[Hashable]:
    if entry.kind in (JOB, SERVICE):
        yield entry.kind, entry.namespace


def _by_pe(entry: Entry) -> Iterator[Hashable]:
    if entry.kind == POD and (pe := label(entry, labels.PE)):
        yield entry.namespace, label(entry, labels.JOB), pe


def _by_address(entry: Entry) -> Iterator[Hashable]:
    if entry.kind == POD and (address := entry.data.get("ip")):
        yield address


def _by_bundle(entry: Entry) -> Iterator[Hashable]:
    if entry.kind == JOB and (name := bundle_name_of(entry)):
        yield name


INDEXES: Mapping[str, Index] = {
    _OF_JOB: _by_job,
    _OF_PE: _by_pe,
    _IN_NAMESPACE: _by_namespace,
    _AT_ADDRESS: _by_address,
    _OF_BUNDLE: _by_bundle,
}


def of_job(table: TableReading, kind: str, namespace: str, job: str) -> Sequence[Entry]:
    """Objects of a kind of a job, by name."""
    return table.by(_OF_JOB, (kind, namespace, job))


def pods_of(table: TableReading, namespace: str, job: str, pe: int) -> Sequence[Entry]:
    """The pods of a PE, by name."""
    return table.by(_OF_PE, (namespace, job, str(pe)))


def in_namespace(table: TableReading, kind: str, namespace: str) -> Sequence[Entry]:
    """The Jobs or the Services of a namespace, by name."""
    return table.by(_IN_NAMESPACE, (kind, namespace))


def pods_at(table: TableReading, address: str) -> Sequence[Entry]:
    """The pods that run at an address."""
    return table.by(_AT_ADDRESS, address)


def jobs_of_bundle(table: TableReading, name: str) -> Sequence[Entry]:
    """The Jobs of all namespaces that name a bundle."""
    return table.by(_OF_BUNDLE, name)


# --------------------------------------------------------------------------- reports


def keys_of(entry: Entry, table: TableReading) -> Iterator[Key]:
    """The keys that a change of this entry concerns."""
    if entry.kind == LOSSES or (
        entry.kind == JOB and table.get(LOSSES, entry.namespace, entry.name) is not None
    ):
        yield LossesKey(entry.namespace, entry.name)
    name = pe_name_of(entry) if entry.kind == POD else entry.name
    if entry.kind in (REPORT, PE, POD) and (
        entry.kind == REPORT or table.get(REPORT, entry.namespace, name) is not None
    ):
        yield PeKey(entry.namespace, name)


def pe_name_of(entry: Entry) -> str:
    """The name of the PE of a pod, by its labels."""
    return f"{label(entry, labels.JOB)}-{label(entry, labels.PE)}"


def all_keys(table: TableReading) -> Iterator[Key]:
    """Every PE with a report, and every Job of whose PEs losses are reported."""
    for entry in table.of_kind(REPORT):
        yield PeKey(entry.namespace, entry.name)
    for entry in table.of_kind(LOSSES):
        yield LossesKey(entry.namespace, entry.name)


def losses_snapshot_of(table: TableReading, key: LossesKey) -> LossesSnapshot:
    """Everything that a decision about the lost tuples of a job may look at."""
    job = table.get(JOB, key.namespace, key.name)
    reported = table.get(LOSSES, key.namespace, key.name)
    if reported is None:
        return LossesSnapshot(key, None, None)
    return LossesSnapshot(
        key,
        job_losses_of(job) if job is not None else None,
        reported_losses_of(reported),
        living_in(table, key.namespace, key.name),
    )


def living_in(table: TableReading, namespace: str, job: str) -> frozenset[tuple[str, int]]:
    """The newest launches of the PEs of a job, each below the uid of its PE."""
    pes = (each for each in of_job(table, PE, namespace, job) if not each.unreadable)
    return frozenset((each.uid, pe_of(each).launch) for each in pes)


def snapshot_of(table: TableReading, key: PeKey) -> PeSnapshot:
    """Everything that a decision about the report of a PE may look at."""
    ref = (key.namespace, key.name)
    pe, report = table.get(PE, *ref), table.get(REPORT, *ref)
    if pe is None or report is None:
        return PeSnapshot(key, pe_of(pe) if pe else None, report_of(report) if report else None)
    owner = owner_of(pe)
    pods = pods_of(table, key.namespace, owner.job, owner.id)
    return PeSnapshot(key, pe_of(pe), report_of(report), owner, tuple(launched_pods(pods)))
