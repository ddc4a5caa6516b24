"""Makes snapshots from the table, and maps facts to the keys that they make dirty.

reading.py parses projections; the core decides on snapshots.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace

from contracts import labels
from contracts.belonging import Root
from contracts.scheduling.nodes import Node, node_of
from services.chassis.table.entries import (
    Change,
    Entry,
    Index,
    TableReading,
    is_deleting,
    label,
)
from services.chassis.table.indexing import KindIndex
from services.launching.adapters.clearing import is_left
from services.launching.adapters.launches import Launches
from services.launching.core.owners import controller, is_orphaning
from services.launching.core.pods import Pod, pod_of
from services.pod_state_machine.adapters.assignments import Assignments, ids_on, nodes_of
from services.pod_state_machine.adapters.gone_pods import ended_pods, last_pod, note_deleted
from services.pod_state_machine.adapters.reading import (
    host_pool_of,
    job_of,
    job_view,
    pe_of,
    required_pool,
)
from services.pod_state_machine.adapters.starting import (
    PES_OF_JOB,
    PODS_OF_PE,
    STARTING_LAST,
    awaited_pe,
    by_job_if_last,
    starting_after,
)
from services.pod_state_machine.core.awaiting import is_constrained, is_to_launch
from services.pod_state_machine.core.snapshot import (
    HostPool,
    JobKey,
    JobSnapshot,
    Key,
    Pe,
    PeKey,
    PeSnapshot,
    Placement,
    Snapshot,
)

JOB = "Job"
PE = "ProcessingElement"
POD = "Pod"
CONFIG_MAP = "ConfigMap"
NODE = "Node"
PLACEMENT = "Placement"
HOST_POOL = "HostPool"
KINDS = frozenset({JOB, PE, POD, CONFIG_MAP, NODE, PLACEMENT, HOST_POOL})

_PES_OF_JOB_UID = "pes-of-job-uid"
_PES_OF_PACK = "pes-of-pack"
_PODS_OF_JOB_UID = "pods-of-job-uid"
_PODS_ON_NODE = "pods-on-node"
_PES_TO_PLACE = "pes-to-place"
_PES_TO_PLACE_IN_POOL = "pes-to-place-in-pool"
_PLACEMENTS_ON_NODE = "placements-on-node"


def _by_job(entry: Entry) -> Iterator[Hashable]:
    yield entry.namespace, job_of(entry)


def _by_job_uid(entry: Entry) -> Iterator[Hashable]:
    yield entry.namespace, label(entry, labels.JOB_UID)


def _by_pe(entry: Entry) -> Iterator[Hashable]:
    if name := _pe_name_of_pod(entry):
        yield entry.namespace, name


def _pe_name_of_pod(entry: Entry) -> str:
    """By its controller; by its labels if it has none; empty if it is not the pod of a PE."""
    owner = controller(entry, PE)
    if owner is not None:
        return owner[0]
    job, pe = job_of(entry), label(entry, labels.PE)
    is_orphan = not any(each["controller"] for each in entry.data["metadata"]["owners"])
    name = f"{job}-{pe}" if is_orphan and job and pe else ""
    return name if labels.is_pod_name(entry.name, name) else ""


def _by_node(entry: Entry) -> Iterator[Hashable]:
    if entry.data["node"]:
        yield entry.data["node"]


def _to_place(entry: Entry) -> Iterator[Hashable]:
    if _is_to_place(entry):
        yield entry.namespace, job_of(entry)


def _to_place_in_pool(entry: Entry) -> Iterator[Hashable]:
    if _is_to_place(entry) and (pool := required_pool(entry)):
        yield entry.namespace, pool


def _is_to_place(entry: Entry) -> bool:
    """Whether a change of its placement concerns a PE; one whose pod runs stays where it is."""
    if entry.unreadable:
        return False
    return is_constrained(entry.data["spec"]) and is_to_launch(entry)


def _by_pack(entry: Entry) -> Iterator[Hashable]:
    if not entry.unreadable and (pack := entry.data["spec"].get("pack")):
        yield entry.namespace, pack["name"]


INDEXES: Mapping[str, Index] = {
    PES_OF_JOB: KindIndex(PE, _by_job),
    _PES_OF_JOB_UID: KindIndex(PE, _by_job_uid),
    _PES_OF_PACK: KindIndex(PE, _by_pack),
    PODS_OF_PE: KindIndex(POD, _by_pe),
    _PODS_OF_JOB_UID: KindIndex(POD, _by_job_uid),
    _PODS_ON_NODE: KindIndex(POD, _by_node),
    _PES_TO_PLACE: KindIndex(PE, _to_place),
    _PES_TO_PLACE_IN_POOL: KindIndex(PE, _to_place_in_pool),
    _PLACEMENTS_ON_NODE: KindIndex(PLACEMENT, nodes_of),
    STARTING_LAST: KindIndex(PE, by_job_if_last),
}


# --------------------------------------------------------------------------- dirty keys


_SHOWN: Mapping[str, Callable[[Entry], object]] = {
    JOB: lambda job: (job_view(job), is_orphaning(job)),
    CONFIG_MAP: lambda each: (is_deleting(each), each.data["metadata"]["labels"]),
}
"""What snapshots show of objects that concern several keys."""


def keys_of(change: Change, table: TableReading) -> Iterator[Key]:
    """The keys that a change makes dirty; a report of the health of a job makes none dirty."""
    projection = _SHOWN.get(change.kind)
    if projection is None or change.shows(projection):
        for entry in change.entries:
            yield from _keys_of_entry(entry, table)


def _keys_of_entry(entry: Entry, table: TableReading) -> Iterator[Key]:
    match entry.kind:
        case "ProcessingElement":
            yield PeKey(entry.namespace, entry.name)
            yield from _keys_of_pes(_starting_after(entry, entry.name, table))
        case "Pod":
            yield from _keys_of_pod(entry, table)
            yield from _keys_of_pes(_starting_after(entry, _pe_name_of_pod(entry), table))
        case "ConfigMap":
            yield from _keys_of_config_map(entry, table)
        case "Job":
            yield from _pes_of_job(entry.namespace, entry.name, table)
            yield JobKey(entry.namespace, entry.name, entry.uid)
        case "Node":
            for pod in table.by(_PODS_ON_NODE, entry.name):
                yield from _keys_of_pe_of(pod)
            yield from _to_place_on(entry.name, table)
        case "Placement":
            yield from _keys_of_pes(table.by(_PES_TO_PLACE, (entry.namespace, entry.name)))
        case "HostPool":
            yield from _keys_of_pes(table.by(_PES_TO_PLACE_IN_POOL, (entry.namespace, entry.name)))


def all_keys(table: TableReading) -> Iterator[Key]:
    """Every key, with those that only have pods left."""
    seen: set[Key] = set()
    for kind in (PE, POD, JOB):
        for entry in table.of_kind(kind):
            for key in _keys_of_entry(entry, table):
                if key not in seen:
                    seen.add(key)
                    yield key


def _keys_of_pod(entry: Entry, table: TableReading) -> Iterator[Key]:
    """Its PE, and its job if that lives no more: pods of one that does need no clean-up."""
    yield from _keys_of_pe_of(entry)
    key = JobKey(entry.namespace, job_of(entry), label(entry, labels.JOB_UID))
    if key.name and key.uid and not _is_alive(table, key):
        yield key


def _keys_of_pe_of(pod: Entry) -> Iterator[Key]:
    if pe := _pe_name_of_pod(pod):
        yield PeKey(pod.namespace, pe)


def _keys_of_config_map(entry: Entry, table: TableReading) -> Iterator[Key]:
    job, pe = job_of(entry), label(entry, labels.PE)
    if job and pe:
        yield PeKey(entry.namespace, f"{job}-{pe}")
    elif job and entry.name == job:
        yield from _pes_of_job(entry.namespace, job, table)
    elif job and labels.is_pack_name(entry.name, job):
        yield from _keys_of_pes(table.by(_PES_OF_PACK, (entry.namespace, entry.name)))


def _pes_of_job(namespace: str, job: str, table: TableReading) -> Iterator[Key]:
    return _keys_of_pes(table.by(PES_OF_JOB, (namespace, job)))


def _keys_of_pes(pes: Iterable[Entry]) -> Iterator[Key]:
    for pe in pes:
        yield PeKey(pe.namespace, pe.name)


def _starting_after(entry: Entry, pe: str, table: TableReading) -> Iterator[Entry]:
    return starting_after(table, entry.namespace, job_of(entry), pe)


def _to_place_on(node: str, table: TableReading) -> Iterator[Key]:
    """The PEs that are assigned to a node and are not on it yet."""
    for placement in table.by(_PLACEMENTS_ON_NODE, node):
        for pe_id in ids_on(placement, node):
            name = labels.pe_name(placement.name, pe_id)
            pe = table.get(PE, placement.namespace, name)
            if pe is not None and _is_to_place(pe):
                yield PeKey(pe.namespace, pe.name)


# --------------------------------------------------------------------------- snapshots


def snapshot_of(
    table: TableReading, key: Key, launches: Launches, assignments: Assignments
) -> Snapshot:
    """The snapshot of a key; the launches of its pods are noted in `launches`."""
    if isinstance(key, JobKey):
        return _job_snapshot(table, key)
    return _pe_snapshot(table, key, launches, assignments)


def _pe_snapshot(
    table: TableReading, key: PeKey, launches: Launches, assignments: Assignments
) -> PeSnapshot:
    entry = table.get(PE, key.namespace, key.name)
    pe = pe_of(entry) if entry else None
    pods = tuple(_pods(table.by(PODS_OF_PE, (key.namespace, key.name)), pe))
    launches.note_pods(pods)
    if pe is None:
        job = _job_entry(table, key.namespace, job_name(table, key))
        return PeSnapshot(key=key, owner=None, job=job_view(job) if job else None, pods=pods)
    note_deleted(table, pe, launches)
    last = last_pod(table, pe, pods, launches)
    job = _job_entry(table, key.namespace, pe.job)
    placement = _placement(table, pe, assignments) if is_constrained(pe.spec) else None
    assigned = placement.node if placement else ""
    nodes = _node_names(pe, (*pods, *([last] if last else []))) | {assigned}
    return PeSnapshot(
        key=key,
        owner=pe,
        job=job_view(job) if job else None,
        pods=pods,
        ended=ended_pods(table, pe),
        has_pe_config_map=_exists(table, key.namespace, pe.config_map),
        has_job_config_map=_exists(table, key.namespace, pe.job),
        launched=launches.newest(pe.uid),
        last=last,
        nodes=tuple(_nodes(table, nodes)),
        pes_of_job=table.count(PES_OF_JOB, (key.namespace, pe.job)),
        placement=placement,
        pool=_pool(table, pe, name=required_pool(entry), node=assigned) if entry else None,
        awaited_pe=awaited_pe(table, pe, pods) if launches.newest(pe.uid) is None else "",
        is_id_taken=pe.is_stray and _is_id_taken(table, pe),
    )


def _is_id_taken(table: TableReading, pe: Pe) -> bool:
    planned = table.get(PE, pe.namespace, labels.pe_name(pe.job, pe.id))
    return planned is not None and planned.uid != pe.uid and _is_of_job(planned, pe)


def _placement(table: TableReading, pe: Pe, assignments: Assignments) -> Placement | None:
    entry = table.get(PLACEMENT, pe.namespace, pe.job)
    if entry is None or not _is_of_job(entry, pe):
        return None
    return Placement(
        generation=entry.data["status"].get("generation"),
        node=assignments.node_of(entry, pe.id),
    )


def _pool(table: TableReading, pe: Pe, *, name: str, node: str) -> HostPool | None:
    entry = table.get(HOST_POOL, pe.namespace, name) if name else None
    if entry is None or not _is_of_job(entry, pe) or is_deleting(entry):
        return None
    return host_pool_of(entry, node)


def _is_of_job(entry: Entry, pe: Pe) -> bool:
    """Whether the Job of a PE (by uid) controls an object."""
    return controller(entry, JOB) == (pe.job, pe.job_uid)


def _node_names(pe: Pe, pods: Iterable[Pod]) -> set[str]:
    """The nodes of a PE and its pods; a status may not name the node of its pod yet."""
    return {pe.status.node, *(pod.node for pod in pods)}


def _nodes(table: TableReading, names: Iterable[str]) -> Iterator[Node]:
    for name in sorted(names):
        entry = table.get(NODE, "", name)
        if entry is not None:
            yield node_of(name, entry.data)


def _pods(entries: Iterable[Entry], pe: Pe | None) -> Iterator[Pod]:
    """The pods of a PE, and orphans of its job with its id: it must not run beside them."""
    for entry in entries:
        owner = controller(entry, PE)
        if owner is not None:
            yield pod_of(entry, owner[1])
        elif pe is not None and label(entry, labels.JOB_UID) == pe.job_uid:
            yield _orphan_of(entry, pe)


def _orphan_of(entry: Entry, pe: Pe) -> Pod:
    """A pod without an owner; its name shows whether it is of this PE or of an earlier one."""
    pod = pod_of(entry, pe.uid)
    is_own = pod.name == pe.pod_name(pod.launch)
    return pod if is_own else replace(pod, owner_uid="")


def _exists(table: TableReading, namespace: str, config_map: str) -> bool:
    entry = table.get(CONFIG_MAP, namespace, config_map)
    return entry is not None and not is_deleting(entry)


def _job_entry(table: TableReading, namespace: str, name: str) -> Entry | None:
    return table.get(JOB, namespace, name)


def job_name(table: TableReading, key: Key) -> str:
    """The name of a key's job, from its PE, else from a pod, else from the PE's own name."""
    if isinstance(key, JobKey):
        return key.name
    entry = table.get(PE, key.namespace, key.name)
    left = [entry] if entry else table.by(PODS_OF_PE, (key.namespace, key.name))
    named = next((job_of(each) for each in left if job_of(each)), "")
    return named or key.name.rpartition("-")[0]


def _job_snapshot(table: TableReading, key: JobKey) -> JobSnapshot:
    if _is_alive(table, key):
        return JobSnapshot(key, is_alive=True)
    entry = _job_entry(table, key.namespace, key.name)
    own = entry if entry is not None and entry.uid == key.uid else None
    pods = table.by(_PODS_OF_JOB_UID, (key.namespace, key.uid))
    return JobSnapshot(
        key=key,
        is_alive=False,
        is_orphaning=_orphaning(table, key, own),
        has_pods=any(_is_pod_of(pod, key) for pod in pods),
    )


def _is_alive(table: TableReading, key: JobKey) -> bool:
    job = table.get(JOB, key.namespace, key.name)
    return job is not None and job.uid == key.uid and not is_deleting(job)


def _is_pod_of(pod: Entry, key: JobKey) -> bool:
    """Whether a pod has both uid and name of a Job; labels that do not match prove nothing."""
    return is_left(pod, Root(key.kind, key.name))


def _orphaning(table: TableReading, key: JobKey, job: Entry | None) -> bool:
    """Whether a Job is deleted with Orphan: by its finalizer, and later by PEs without an owner."""
    if job is not None:
        return is_orphaning(job)
    pes = table.by(_PES_OF_JOB_UID, (key.namespace, key.uid))
    return any(controller(pe, JOB) is None for pe in pes)


def fence_of(table: TableReading, key: Key) -> Hashable:
    """The fence of a decision: specs and deletions, but not our own writes."""
    job = _job_entry(table, key.namespace, job_name(table, key))
    job_part = (job.uid, is_deleting(job)) if job else None
    if isinstance(key, JobKey):
        return job_part
    pe = table.get(PE, key.namespace, key.name)
    pe_part = (pe.uid, pe.data["metadata"]["generation"], is_deleting(pe)) if pe else None
    return job_part, pe_part
