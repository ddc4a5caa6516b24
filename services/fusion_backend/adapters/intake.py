"""From the table to snapshots: which facts wake which job, and what belongs to it.

A child belongs to the Job that controls it; labels, which people can take off, count where nobody
does. Children are found by one index under (kind, namespace, job). Plan records, texts and answers
of the planner come from `answers.py`; what follows from a snapshot is the core's business.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from contracts import labels
from contracts.belonging import labelled
from contracts.facts import KINDS as FACT_KINDS
from contracts.reasons import Reason
from contracts.resources import JobPhase
from contracts.scheduling.nodes import node_of
from contracts.scheduling.requests import CPU
from contracts.topics import CLUSTER
from services.chassis.table.entries import Change, Entry, Index, TableReading, is_deleting
from services.fusion_backend.adapters.answers import Answers, JobAnswers
from services.fusion_backend.adapters.awaiting import AWAITING_INDEX, awaiting, is_awaiting
from services.fusion_backend.adapters.folding import BOUND_POD, NODE
from services.fusion_backend.core.admission import PLACEMENT
from services.fusion_backend.core.pods_seen import pod_shown
from services.fusion_backend.core.references import REFERRING_KINDS
from services.fusion_backend.core.rooms import Rooms
from services.fusion_backend.core.seen import controlling_job
from services.fusion_backend.core.snapshot import (
    CHILD_KINDS,
    JobSeen,
    KnownPlan,
    NotedReference,
    Snapshot,
    job_uid_of,
    plan_number,
)
from services.fusion_backend.core.spec.cluster import Cluster
from services.fusion_backend.core.spec.pod_rules import PodRules

KINDS = frozenset({"Job", "Pod", NODE, BOUND_POD, *CHILD_KINDS})
_OF_JOB = "of-job"
_OF_CLUSTER = (NODE, BOUND_POD)
_SENT_TO_ALL = frozenset(kind for kind in CHILD_KINDS if FACT_KINDS[kind].topic is CLUSTER)
"""Kinds whose facts every instance reads, whichever partitions it has."""


@dataclass(frozen=True, slots=True, order=True)
class JobKey:
    """A job, by the name that all its Jobs in time have."""

    kind: ClassVar[str] = "Job"
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def _label(entry: Entry, key: str) -> str:
    metadata = entry.data.get("metadata") or {}
    return str((metadata.get("labels") or {}).get(key, ""))


def _jobs_named(entry: Entry) -> frozenset[str]:
    """The jobs that an object names, as its controller and in its label; mostly one.

    A ParallelRegion or HostPool with neither is found by its spec, else by its own name.
    """
    owner, root = controlling_job(entry), labelled(entry.kind, entry.data)
    by_label = root.name if root is not None and root.kind == JobKey.kind else ""
    named = frozenset(filter(None, (by_label, owner[0] if owner else "")))
    if named or entry.kind not in REFERRING_KINDS:
        return named
    # As contracts.belonging.root_of: who has the partition of that name decides.
    spec = {} if entry.unreadable else entry.data.get("spec") or {}
    return frozenset({str(spec.get("job") or entry.name)})


def _by_job(entry: Entry) -> Iterator[Hashable]:
    if entry.kind not in ("Job", *_OF_CLUSTER):
        for job in _jobs_named(entry):
            yield entry.kind, entry.namespace, job


INDEXES: Mapping[str, Index] = {_OF_JOB: _by_job, **AWAITING_INDEX}


def keys_of(change: Change, table: TableReading) -> Iterator[JobKey]:
    """The jobs that a change concerns, and those that await what it brings: awaiting.py."""
    if change.kind != "Pod" or change.shows(pod_shown):
        for entry in (*change.entries, *awaiting(change, table)):
            yield from _keys_of_entry(entry)


def _keys_of_entry(entry: Entry) -> Iterator[JobKey]:
    if entry.kind == "Job":
        yield JobKey(entry.namespace, entry.name)
    elif entry.kind not in _OF_CLUSTER:
        for job in sorted(_jobs_named(entry)):
            yield JobKey(entry.namespace, job)


def all_keys(table: TableReading) -> Iterator[JobKey]:
    """Every job, and every name that has only children left."""
    seen: set[JobKey] = set()
    for kind in ("Job", *CHILD_KINDS):
        for entry in table.of_kind(kind):
            for key in _keys_of_entry(entry):
                if key not in seen:
                    seen.add(key)
                    yield key


def fence_of(table: TableReading, key: JobKey) -> Hashable:
    """What stops an older decision: another Job or spec, a deletion, a retry, edited widths.

    A ParallelRegion that nobody edited (generation 1) is our own creation and stops nothing.
    """
    entry = table.get("Job", key.namespace, key.name)
    if entry is None:
        return None
    job = JobSeen.of(entry)
    widths = tuple(
        (region.name, region.data["spec"].get("width"))
        for region in table.by(_OF_JOB, ("ParallelRegion", key.namespace, key.name))
        if not region.unreadable and region.data["metadata"]["generation"] != 1
    )
    return job.uid, job.generation, job.deleting, job.orphaning, job.retry, widths


# --------------------------------------------------------------------------- snapshots


def snapshot_of(
    table: TableReading,
    key: JobKey,
    answers: Answers,
    *,
    width_max: int,
    pod_rules: PodRules,
    runtime_image: str = "",
    rooms: Rooms | None = None,
    has_bundle_folder: bool = False,
) -> Snapshot:
    """Everything that a decision about the job may look at."""
    entry = table.get("Job", key.namespace, key.name)
    job = JobSeen.of(entry) if entry is not None else None
    children, strangers = _children(table, key, job.uid if job else "")
    if job is None:
        return _without_job(table, key, answers, strangers)
    known = answers.of(job.uid)
    pods = _pods(table, key, job.uid)
    heads = _heads(children["ConfigMap"], key.name)
    pes = children["ProcessingElement"]
    known.see_launches(
        (*pes.values(), *_lost_pes(table, key, job.uid, known.newest, pes)),
        (pod for each in pods.values() for pod in each),
    )
    is_resizing = job.plan_generation >= 0 and max(heads, default=-1) > job.plan_generation
    is_resizing |= job.phase == JobPhase.RESIZING
    needs_rooms = is_resizing or known.unplaced or _may_lack_nodes(job, entry, children)
    return Snapshot(
        key.namespace,
        key.name,
        job=job,
        children=children,
        strangers=strangers,
        pods=pods,
        with_pods=_with_pods(table, key, living="" if job.deleting else job.uid)
        if job.deleting or strangers
        else frozenset(),
        heads=heads,
        plans=_plans(heads, known),
        damaged={
            number: known.damaged[entry.uid]
            for number, entry in heads.items()
            if entry.uid in known.damaged
        },
        outcomes=dict(known.outcomes),
        unplaced=dict(known.unplaced),
        is_planning=known.is_planning,
        texts=known.texts,
        troubled=dict(known.troubled),
        troubles=dict(known.troubles),
        name_taken=known.name_taken,
        launches=dict(known.launches),
        lost_widths=_lost_widths(table, key, job.uid, known.newest, children["ParallelRegion"]),
        provisions=known.provisions,
        cluster=cluster_of(table) if not heads else Cluster(),
        strays=(strays := _strays(table, key, job.uid)),
        noted=_noted(strays, answers),
        rooms=rooms.all() if rooms is not None and needs_rooms else (),
        bound=_bound(table, pods) if is_resizing else {},
        is_bundle_there=known.is_bundle_there,
        has_bundle_folder=has_bundle_folder,
        resizes_in_place=known.resizes_in_place(max(heads, default=-1)),
        width_max=width_max,
        pod_rules=pod_rules,
        runtime_image=runtime_image,
    )


def _without_job(
    table: TableReading, key: JobKey, answers: Answers, strangers: tuple[Entry, ...]
) -> Snapshot:
    """What is left under the name of a Job that is gone."""
    return Snapshot(
        key.namespace,
        key.name,
        strangers=strangers,
        with_pods=_with_pods(table, key, living=""),
        reported_gone=_reported_gone(table, key, answers),
        strays=(strays := _strays(table, key, "")),
        noted=_noted(strays, answers),
    )


def _may_lack_nodes(
    job: JobSeen, entry: Entry | None, children: Mapping[str, Mapping[str, Entry]]
) -> bool:
    """Whether an attempt to submit the job or to place a width lacks nodes, or is about to."""
    if job.phase == JobPhase.SUBMITTING:
        return bool(children[PLACEMENT])
    regions = children["ParallelRegion"].values()
    return any(map(is_awaiting, (*([entry] if entry else []), *regions)))


def _strays(table: TableReading, key: JobKey, job_uid: str) -> tuple[Entry, ...]:
    """ParallelRegions and HostPools that name the job and that no Job controls."""
    return tuple(
        entry
        for kind in REFERRING_KINDS
        for entry in table.by(_OF_JOB, (kind, key.namespace, key.name))
        if controlling_job(entry) is None
        and not entry.unreadable
        and not is_deleting(entry)
        and (not job_uid or job_uid_of(entry) != job_uid)
    )


def _noted(strays: tuple[Entry, ...], answers: Answers) -> dict[str, NotedReference]:
    """What is known to be wrong with strays, by uid."""
    known = answers.noted
    return {stray.uid: known[stray.uid] for stray in strays if stray.uid in known}


def _reported_gone(table: TableReading, key: JobKey, answers: Answers) -> str:
    """The uid of the Job that only a record calls deleted; a Job that was terminating is gone."""
    former = table.last_seen("Job", key.namespace, key.name)
    if former is None or table.saw_end("Job", key.namespace, key.name):
        return ""
    return "" if answers.is_gone(former.uid) else former.uid


def _children(
    table: TableReading, key: JobKey, job_uid: str
) -> tuple[dict[str, dict[str, Entry]], tuple[Entry, ...]]:
    """Children by kind and name, and what is of another Job of that name."""
    children: dict[str, dict[str, Entry]] = {}
    strangers: list[Entry] = []
    for kind in CHILD_KINDS:
        ours = children[kind] = {}
        for entry in table.by(_OF_JOB, (kind, key.namespace, key.name)):
            owner = controlling_job(entry)
            if owner is not None and owner[0] != key.name:
                continue  # its label lies: the job that controls it puts that right
            if job_uid_of(entry) == job_uid:
                ours[entry.name] = entry
            else:
                strangers.append(entry)
    if not job_uid and all(entry.kind in _SENT_TO_ALL for entry in strangers):
        # Without a Job or anything else of it in sight, this one is of a partition that is not
        # ours; unless we saw the Job go, as one that waited for its placement.
        former = table.last_seen("Job", key.namespace, key.name)
        gone = former.uid if former is not None else ""
        strangers = [entry for entry in strangers if job_uid_of(entry) == gone]
    return children, tuple(strangers)


def _pods(table: TableReading, key: JobKey, job_uid: str) -> dict[int, tuple[Entry, ...]]:
    found: dict[int, list[Entry]] = {}
    for entry in table.by(_OF_JOB, ("Pod", key.namespace, key.name)):
        pe = _label(entry, labels.PE)
        if _label(entry, labels.SERVICE_ROLE) == labels.ROLE_ZOMBIE:
            continue  # it failed and was replaced: kept for its logs only
        if pe.isdecimal() and _label(entry, labels.JOB_UID) == job_uid:
            found.setdefault(int(pe), []).append(entry)
    return {pe: tuple(pods) for pe, pods in found.items()}


def _bound(
    table: TableReading, pods: Mapping[int, tuple[Entry, ...]]
) -> dict[int, Mapping[str, int]]:
    """What the bound pods of PEs request, as the room of their nodes counts them."""
    entries = (
        (pe, table.get(BOUND_POD, pod.namespace, pod.name)) for pe in pods for pod in pods[pe]
    )
    return {pe: entry.data["requests"] for pe, entry in entries if entry is not None}


def _lost_pes(
    table: TableReading,
    key: JobKey,
    job_uid: str,
    newest: KnownPlan | None,
    pes: Mapping[str, Entry],
) -> Iterator[Entry]:
    """Planned PEs that somebody deleted, as they looked last: the log tells a restarted service."""
    for planned in newest.record.pes if newest is not None else ():
        if planned.name not in pes:
            entry = table.last_seen("ProcessingElement", key.namespace, planned.name)
            if entry is not None and job_uid_of(entry) == job_uid:
                yield entry


def _lost_widths(
    table: TableReading,
    key: JobKey,
    job_uid: str,
    newest: KnownPlan | None,
    regions: Mapping[str, Entry],
) -> dict[str, int]:
    """The widths that deleted regions of the plan requested last.

    Who deletes one whose width was refused gets the width in force back.
    """
    found: dict[str, int] = {}
    for region in newest.record.regions if newest is not None else ():
        name = labels.pe_name(key.name, region.index)
        entry = table.last_seen("ParallelRegion", key.namespace, name)
        if name in regions or entry is None or entry.unreadable or job_uid_of(entry) != job_uid:
            continue
        status = entry.data["status"]
        is_observed = status.get("observedGeneration") == entry.data["metadata"]["generation"]
        if not (is_observed and status.get("reason") == Reason.WIDTH_REFUSED):
            found[name] = int(entry.data["spec"].get("width", region.width))
    return found


def _with_pods(table: TableReading, key: JobKey, *, living: str) -> frozenset[str]:
    """Jobs of the name, but for the one that lives, that have pods which nobody deletes yet.

    Pods that no PE controls were left behind on purpose, and nobody ever deletes them.
    """
    return frozenset(
        uid
        for entry in table.by(_OF_JOB, ("Pod", key.namespace, key.name))
        if (uid := _label(entry, labels.JOB_UID)) != living
        and not is_deleting(entry)
        and any(owner["controller"] for owner in entry.data["metadata"]["owners"])
    )


def _heads(config_maps: Mapping[str, Entry], job: str) -> dict[int, Entry]:
    return {
        number: entry
        for name, entry in config_maps.items()
        if (number := plan_number(name, job)) is not None
    }


def _plans(heads: Mapping[int, Entry], known: JobAnswers) -> dict[int, KnownPlan]:
    plans = {
        number: known.plans[entry.uid]
        for number, entry in heads.items()
        if entry.uid in known.plans
    }
    if known.newest is not None:
        plans.setdefault(known.newest.record.generation, known.newest)
    return plans


def nodes_that_count(table: TableReading) -> dict[str, int]:
    """The nodes that take pods which tolerate nothing, and their CPU in thousandths."""
    nodes = (node_of(entry.name, entry.data) for entry in table.of_kind(NODE))
    return {node.name: node.allocatable.get(CPU, 0) for node in nodes if node.takes()}


def cluster_of(table: TableReading) -> Cluster:
    """How many such nodes there are, and their CPU."""
    cpus = nodes_that_count(table).values()
    return Cluster(len(cpus), sum(cpus), max(cpus, default=0))
