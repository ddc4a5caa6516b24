"""The bodies of a job's children, made of a plan record and the Job's template.

What a ConfigMap must say so that it can be compared later stands in its metadata (content id),
because facts of ConfigMaps carry nothing else. Services are in `pe_services.py`, ConfigMaps with
AADLs in `packs.py`. Which children are missing is `membership.py`'s question; plan records are
`recording.py`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from contracts import labels
from contracts.resources import API_VERSION, JOB, HostPoolSpec
from contracts.resources.accepting import OPERATORS_OWN
from contracts.resources.job import Services
from contracts.resources.processing_element import DEFAULT_RESOURCES
from planner.numbering.records import (
    PeRecord,
    PlanRecord,
    PoolRecord,
    RegionRecord,
)
from services.chassis.table.entries import Entry
from services.fusion_backend.core.seen import PeSeen, labels_of
from services.fusion_backend.core.snapshot import JobSeen
from services.fusion_backend.core.spec.dividing import share_of_job

Body = dict[str, Any]

DEFAULT_POOL = "$default"
_PREFIXES_THAT_CHANGE = (labels.REGION_PREFIX, labels.CHANNEL_PREFIX)


def owner_of(job: JobSeen) -> Body:
    """The controller owner reference of everything that is written for a Job."""
    return {
        "apiVersion": API_VERSION,
        "kind": JOB.kind,
        "name": job.name,
        "uid": job.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def metadata(job: JobSeen, name: str, generation: int, *, pe: int | None = None) -> Body:
    """Name, labels and owner of a child; `generation` is the one that writes it."""
    marks = {**marks_of_job(job), labels.GENERATION: str(generation)}
    if pe is not None:
        marks |= marks_of_pe(pe)
    return {
        "name": name,
        "namespace": job.namespace,
        "labels": marks,
        "ownerReferences": [owner_of(job)],
    }


def marks_of_job(job: JobSeen) -> dict[str, str]:
    """The labels by which everything that is written for a Job is found."""
    return {labels.APP: labels.APP_VALUE, labels.JOB: job.name, labels.JOB_UID: job.uid}


def marks_of_pe(pe: int) -> dict[str, str]:
    """The labels of what is written for one PE."""
    return {labels.SERVICE_ROLE: labels.ROLE_PE, labels.PE: str(pe)}


def marks_of_regions(pe: PeRecord) -> dict[str, str]:
    """The labels that a PE has beside, and hands on to its pods."""
    return {labels.CONSISTENT_REGION: "false", **_marks_that_change(pe)}


def _marks_that_change(pe: PeRecord) -> dict[str, str]:
    """Those of them that depend on the operators of the PE."""
    regions = {labels.region_label(index): "true" for index in pe.regions}
    return regions | {labels.channel_label(index): "true" for index in pe.channel_of or ()}


def described(record: PlanRecord, meta: Body) -> Body:
    """Metadata of a child, with the application that it belongs to."""
    meta["annotations"] = {
        labels.APPLICATION_NAME: record.application_name,
        labels.APPLICATION_SCOPE: record.application_scope,
    }
    return meta


# --------------------------------------------------------------------------- ConfigMaps


def job_config_map(job: JobSeen, generation: int, port_labels_id: str, port_labels: str) -> Body:
    """The ConfigMap `<job>`, mounted by every pod: which PE port serves which operator port."""
    meta = metadata(job, job.name, generation)
    meta["annotations"] = {labels.CONTENT_ID: port_labels_id}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta,
        "data": {labels.PORT_LABELS_KEY: port_labels},
    }


def job_config_map_patch(generation: int, port_labels_id: str, port_labels: str) -> Body:
    """The port labels of a new generation."""
    return {
        "metadata": {
            "labels": {labels.GENERATION: str(generation)},
            "annotations": {labels.CONTENT_ID: port_labels_id},
        },
        "data": {labels.PORT_LABELS_KEY: port_labels},
    }


# --------------------------------------------------------------------------- custom resources


def parallel_region(
    job: JobSeen, record: PlanRecord, region: RegionRecord, *, width: int | None = None
) -> Body:
    """A ParallelRegion with this width, else with the one in force."""
    name = labels.pe_name(job.name, region.index)
    return {
        "apiVersion": API_VERSION,
        "kind": "ParallelRegion",
        "metadata": described(record, metadata(job, name, record.generation)),
        "spec": {
            "alias": region.name,
            "width": region.width if width is None else width,
            "index": region.index,
            "job": job.name,
        },
    }


def declaration(pool: PoolRecord) -> Body:
    """A host pool as the application declares it, for its HostPool and for the Placement."""
    declared: Body = {
        "name": pool.name,
        "index": pool.index,
        "membershipMode": pool.mode,
        "hosts": list(pool.hosts),
        "tags": list(pool.tags),
    }
    return declared if pool.size is None else {**declared, "size": pool.size}


def placement(job: JobSeen, record: PlanRecord, spec: Body) -> Body:
    """The Placement of a job, which asks for this."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Placement",
        "metadata": described(record, metadata(job, job.name, record.generation)),
        "spec": spec,
    }


def placement_patch(generation: int, spec: Body) -> Body:
    """The request of another plan; it names every field, so nothing of the old request stays."""
    return {"metadata": {"labels": {labels.GENERATION: str(generation)}}, "spec": spec}


def host_pool(job: JobSeen, record: PlanRecord, pool: PoolRecord) -> Body:
    """A HostPool as the application declares it."""
    name = labels.pe_name(job.name, pool.index)
    meta = described(record, metadata(job, name, record.generation))
    spec = pool_spec(job.name, pool, pools_with_places(record))
    if pool.mode == "exclusive" or spec["labelsMembers"]:
        # Before the first claim, or a crash between claim and finalizer leaks taints.
        meta["finalizers"] = [labels.NODE_CLAIMS_FINALIZER]
    return {"apiVersion": API_VERSION, "kind": "HostPool", "metadata": meta, "spec": spec}


def pools_with_places(record: PlanRecord) -> frozenset[int]:
    """The host pools in which some PE requires a particular member."""
    return frozenset(
        pe.host_pool
        for pe in record.pes
        if pe.host_pool is not None and pe.in_pool_index is not None
    )


def pool_spec(job: str, pool: PoolRecord, with_places: frozenset[int]) -> Body:
    """What a HostPool says."""
    labels_members = pool.index in with_places
    return {"hostpool": declaration(pool), "job": job, "labelsMembers": labels_members}


def is_declared(seen: Mapping[str, Any], wanted: Body) -> bool:
    """Whether a HostPool says this, whatever the API server filled in."""
    if seen == wanted:
        return True
    try:
        return HostPoolSpec.model_validate(seen) == HostPoolSpec.model_validate(wanted)
    except ValidationError:
        return False


def host_pool_patch(job: JobSeen, record: PlanRecord, pool: PoolRecord) -> Body:
    """A HostPool as it was declared, whatever somebody made of it."""
    spec = pool_spec(job.name, pool, pools_with_places(record))
    spec["hostpool"] = {"size": None, **spec["hostpool"]}
    return {"metadata": {"labels": {labels.GENERATION: str(record.generation)}}, "spec": spec}


def processing_element(
    job: JobSeen,
    record: PlanRecord,
    pe: PeRecord,
    *,
    launch_count: int,
    starts_last: bool = False,
    share: Mapping[str, Any] | None = None,
) -> Body:
    """A PE: the Job's template with what the plan says of this PE, and its share of resources."""
    meta = described(record, metadata(job, pe.name, record.generation, pe=pe.id))
    meta["labels"] |= marks_of_regions(pe)
    return {
        "apiVersion": API_VERSION,
        "kind": "ProcessingElement",
        "metadata": meta,
        "spec": _pe_spec(job, record, pe, share)
        | {"launchCount": launch_count}
        | _order(starts_last),
    }


def _order(starts_last: bool) -> Body:
    return {"startsLast": True} if starts_last else {}


def processing_element_patch(
    job: JobSeen,
    record: PlanRecord,
    pe: PeRecord,
    entry: Entry,
    *,
    has_launched: bool = True,
    share: Mapping[str, Any] | None = None,
) -> Body:
    """What a resize changes of a PE: whatever a PE that is made now would have otherwise.

    `launchCount` is people's. A PE that starts last and has not launched goes on starting last.
    """
    marks: dict[str, str | None] = {
        key: None for key in labels_of(entry) if key.startswith(_PREFIXES_THAT_CHANGE)
    }
    marks |= _marks_that_change(pe)
    marks[labels.GENERATION] = str(record.generation)
    before = {key: value for key, value in PeSeen(entry).spec.items() if key != "launchCount"}
    after = _pe_spec(job, record, pe, share) | _order(
        PeSeen(entry).starts_last and not has_launched
    )
    return {
        "metadata": {"labels": marks},
        "spec": merge_patch(before, after),
    }


def share_patch(entry: Entry, share: Mapping[str, Any]) -> Body:
    """Another share of the job's resources, and nothing else: no reason for a launch.

    The generation stays that of its content: a PE begins with the hand-over of that.
    """
    return {
        "spec": {
            "resizesInPlace": True,
            **merge_patch({"resources": PeSeen(entry).resources}, {"resources": share}),
        },
    }


def pack_of(pe: PeRecord) -> Body:
    """Pack and key of a PE; empty where it has a ConfigMap of its own."""
    return {"name": pe.config_map, "key": pe.key} if pe.key else {}


def references_patch(entry: Entry, pe: PeRecord, service: str) -> Body:
    """The pack and the Service that a PE names, as they were before somebody edited them.

    Or before a release that does not know these fields wrote the PE under its own definitions.
    Empty if nothing differs.
    """
    seen = PeSeen(entry)
    before = {"pack": seen.pack, "serviceName": seen.service_name}
    after = {"pack": pack_of(pe), "serviceName": service}
    patch = merge_patch(_filled(before), _filled(after))
    return {"spec": patch} if patch else {}


def _filled(fields: Mapping[str, Any]) -> Body:
    return {key: value for key, value in fields.items() if value}


def merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> Body:
    """The merge patch (RFC 7386) that makes one object of the other."""
    patch: Body = {key: None for key in before if key not in after}
    for key, value in after.items():
        known = before.get(key)
        if isinstance(value, Mapping) and isinstance(known, Mapping) and value != known:
            patch[key] = merge_patch(known, value)
        elif value != known:
            patch[key] = value
    return patch


def _pe_spec(
    job: JobSeen, record: PlanRecord, pe: PeRecord, share: Mapping[str, Any] | None
) -> Body:
    template = job.spec.get("processingElement") or {}
    spec = {
        key: value
        for key, value in template.items()
        if key not in OPERATORS_OWN and value is not None
    }
    spec |= {
        "id": pe.id,
        "job": job.name,
        "generation": record.generation,
        "contentId": pe.content_id,
        "operators": list(pe.operators),
        "bundleName": template.get("sabName")
        or template.get("bundleName")
        or job.spec["bundle"]["name"],
        "imagePullPolicy": template.get("imagePullPolicy")
        or job.spec.get("imagePullPolicy")
        or "Always",
        "resources": share or resources_of(job.spec, len(record.pes)),
    }
    if pack := pack_of(pe):
        spec["pack"] = pack
    if secret := template.get("imagePullSecret") or job.spec.get("imagePullSecret"):
        spec["imagePullSecret"] = secret
    spec["restartFailedPod"] = is_restartable(job.spec, pe)
    if job.spec.get("services") == Services.PER_JOB:
        spec["serviceName"] = labels.job_service_name(job.name)
    if placement := _placement(job, record, pe):
        spec["placement"] = placement
    return spec


def is_restartable(spec: Mapping[str, Any], pe: PeRecord) -> bool:
    """Whether a PE made of a Job's spec may be restarted: the spec says so, else its operators."""
    given = (spec.get("processingElement") or {}).get("restartFailedPod")
    return pe.restartable if given is None else bool(given)


def resources_of(spec: Mapping[str, Any], pes: int) -> Mapping[str, Any]:
    """The resources of one of `pes` PEs that are made of a Job's spec."""
    template = spec.get("processingElement") or {}
    share = share_of_job(spec.get("resources"), pes)
    return share or template.get("resources") or DEFAULT_RESOURCES


def _placement(job: JobSeen, record: PlanRecord, pe: PeRecord) -> Body:
    """Where a PE must run; nothing where its job leaves it free.

    A PE beside an isolated one is not free: it says whose hosts it stays away from.
    """
    placement: Body = {}
    if pe.host is not None:
        placement["host"] = pe.host
    if pe.colocations:
        placement["coLocations"] = list(pe.colocations)
    if pe.exlocations:
        placement["exLocations"] = list(pe.exlocations)
    if isolated := record.isolated.get(pe.id):
        placement["isolation"] = isolated[0]
        placement["isolations"] = list(isolated)
    if avoided := [
        name for each, names in record.isolated.items() if each != pe.id for name in names
    ]:
        placement["isolationLabels"] = avoided
    pool = next((each for each in record.pools if each.index == pe.host_pool), None)
    if pool is not None and pool.name != DEFAULT_POOL:
        placement["hostPoolLocation"] = {"poolIndex": pool.index}
        if pe.in_pool_index is not None:
            placement["hostPoolLocation"]["inpoolIndex"] = pe.in_pool_index
    return placement | _in_force(job) if placement else {}


def _in_force(job: JobSeen) -> Body:
    """How the Job wants its constraints put into force, where it is not as usual."""
    given = job.spec.get("placement") or {}
    extra: Body = {}
    if given.get("topologyKey"):
        extra["topologyKey"] = given["topologyKey"]
    if given.get("required") is False:
        extra["required"] = False
    if given.get("nodeName"):
        extra["nodeName"] = True
    return extra
