"""Fluent builders of the objects that tests speak about, as an API server would hold them.

    a_pe("shop", 3).with_content("c1").launched(2).build()

Every `with…` returns a new builder; `build` gives the object, `fact` its projection as a table's
entry. Values that a test does not name are the defaults of the schemas.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from contracts import labels
from contracts.facts import project
from services.chassis.table.entries import Entry

Obj = dict[str, Any]
NAMESPACE = "default"
EPOCH_TIME = "2026-11-20T00:00:00Z"


@dataclass(frozen=True)
class Builder:
    """An object under construction."""

    kind: str
    body: Mapping[str, Any] = field(default_factory=dict)

    def build(self) -> Obj:
        """The object; the builder can go on."""
        return copy.deepcopy(dict(self.body))

    def entry(self) -> Entry:
        """The object as a table holds it."""
        obj = self.build()
        meta = obj["metadata"]
        data = project(self.kind, obj)
        assert data is not None, f"facts of {self.kind} say nothing of {meta['name']}"
        return Entry(
            kind=self.kind,
            namespace=meta.get("namespace", ""),
            name=meta["name"],
            uid=meta["uid"],
            resource_version=int(meta["resourceVersion"]),
            data=data,
        )

    def having(self, *path: str, value: object) -> Self:
        """The same with one field set; `path` are the keys that lead to it."""
        obj = self.build()
        place = obj
        for key in path[:-1]:
            place = place.setdefault(key, {})
        place[path[-1]] = value
        return replace(self, body=obj)

    def named(self, name: str) -> Self:
        """The same under another name."""
        return self.having("metadata", "name", value=name)

    def in_namespace(self, namespace: str) -> Self:
        """The same in another namespace."""
        return self.having("metadata", "namespace", value=namespace)

    def with_uid(self, uid: str) -> Self:
        """The same with another identity."""
        return self.having("metadata", "uid", value=uid)

    def at_version(self, version: int) -> Self:
        """The same at another resourceVersion."""
        return self.having("metadata", "resourceVersion", value=str(version))

    def at_generation(self, generation: int) -> Self:
        """The same after that many changes of its spec."""
        return self.having("metadata", "generation", value=generation)

    def created_at(self, timestamp: str) -> Self:
        """The same, created at an RFC 3339 time."""
        return self.having("metadata", "creationTimestamp", value=timestamp)

    def with_label(self, key: str, value: str) -> Self:
        """The same with a label more."""
        return self.having("metadata", "labels", key, value=value)

    def with_finalizer(self, finalizer: str) -> Self:
        """The same with a finalizer."""
        return self.having("metadata", "finalizers", value=[finalizer])

    def owned_by(self, kind: str, name: str, uid: str) -> Self:
        """The same with a controller owner."""
        owner = {"kind": kind, "name": name, "uid": uid, "controller": True}
        return self.having("metadata", "ownerReferences", value=[owner])

    def orphaned(self) -> Self:
        """The same without any owner."""
        return self.having("metadata", "ownerReferences", value=[])

    def deleting(self) -> Self:
        """The same with a deletion timestamp."""
        return self.having("metadata", "deletionTimestamp", value=EPOCH_TIME)

    def with_spec(self, **fields: object) -> Self:
        """The same with fields of the spec."""
        return replace(self, body=_merged(self.build(), "spec", fields))

    def with_status(self, **fields: object) -> Self:
        """The same with fields of the status."""
        return replace(self, body=_merged(self.build(), "status", fields))


def _merged(obj: Obj, part: str, fields: Mapping[str, object]) -> Obj:
    return obj | {part: {**obj.get(part, {}), **fields}}


def _meta(name: str, uid: str, **marks: str) -> Obj:
    return {
        "name": name,
        "namespace": NAMESPACE,
        "uid": uid,
        "resourceVersion": "1",
        "generation": 1,
        "creationTimestamp": EPOCH_TIME,
        "labels": {labels.APP: labels.APP_VALUE, **marks},
        "annotations": {},
        "ownerReferences": [],
    }


def _marks(job: str) -> dict[str, str]:
    return {labels.JOB: job, labels.JOB_UID: job_uid(job), labels.GENERATION: "0"}


def job_uid(job: str) -> str:
    """The uid that builders give to a Job."""
    return f"uid-{job}"


def pe_uid(job: str, pe_id: int) -> str:
    """The uid that builders give to a processing element."""
    return f"uid-{labels.pe_name(job, pe_id)}"


def a_job(name: str = "shop") -> Builder:
    """A Job that is being submitted."""
    body = {
        "metadata": _meta(name, job_uid(name)),
        "spec": {"bundle": {"name": "shop.sab"}},
        "status": {"phase": "Submitting"},
    }
    return Builder("Job", body)


class PeBuilder(Builder):
    """A processing element under construction."""

    def with_content(self, content_id: str) -> Self:
        """The same with other content."""
        return self.with_spec(contentId=content_id)

    def launched(self, count: int, *, phase: str = "Running", content_id: str = "c1") -> Self:
        """The same after that many launches, the newest in `phase`."""
        spec = self.build()["spec"]
        job, pe_id, uid = spec["job"], spec["id"], self.build()["metadata"]["uid"]
        waiting = phase == "Waiting"
        return self.with_status(
            phase=phase,
            launchCount=count,
            pod=labels.pod_name(job, pe_id, uid, count - 1 if waiting else count),
            contentId=content_id,
            observedGeneration=1,
            generation=0,
        )


def a_pe(job: str = "shop", pe_id: int = 0) -> PeBuilder:
    """A processing element as fusion-backend creates it."""
    meta = _meta(
        labels.pe_name(job, pe_id),
        pe_uid(job, pe_id),
        **_marks(job),
        **{labels.SERVICE_ROLE: labels.ROLE_PE, labels.PE: str(pe_id)},
    )
    spec = {
        "id": pe_id,
        "job": job,
        "generation": 0,
        "contentId": "c1",
        "launchCount": 1,
        "bundleName": "shop.sab",
        "imagePullPolicy": "Always",
        "restartFailedPod": True,
        "operators": ["Source"],
    }
    builder = PeBuilder("ProcessingElement", {"metadata": meta, "spec": spec, "status": {}})
    return builder.owned_by("Job", job, job_uid(job))


class PodBuilder(Builder):
    """A pod under construction."""

    def in_phase(self, phase: str) -> Self:
        """The same in another phase."""
        return self.with_status(phase=phase)

    def on_node(self, node: str) -> Self:
        """The same bound to a node."""
        return self.with_spec(nodeName=node)

    def disrupted(self, reason: str = "EvictionByEvictionAPI") -> Self:
        """The same, taken away by the cluster."""
        condition = {"type": "DisruptionTarget", "status": "True", "reason": reason}
        return self.with_status(conditions=[condition])

    def ended_at(self, timestamp: str, exit_code: int = 1) -> Self:
        """The same, its container having ended at an RFC 3339 time."""
        state = {"terminated": {"exitCode": exit_code, "finishedAt": timestamp}}
        return self.with_status(containerStatuses=[{"name": "pe", "state": state}])

    def waiting(self, reason: str, message: str = "") -> Self:
        """The same, its container waiting for something."""
        state = {"waiting": {"reason": reason, "message": message}}
        return self.with_status(containerStatuses=[{"name": "pe", "state": state}])

    def pinned_to(self, node: str) -> Self:
        """The same, made for a node on which it is not yet."""
        return self.having("metadata", "annotations", labels.ASSIGNED_NODE, value=node)

    def unschedulable(self, message: str) -> Self:
        """The same, refused by the scheduler."""
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
        }
        return self.with_status(conditions=[condition])


def a_pod(
    job: str = "shop", pe_id: int = 0, launch: int = 1, *, content_id: str = "c1", owner: str = ""
) -> PodBuilder:
    """The pod of one launch; `owner` is the uid of its PE, by default that of `a_pe`."""
    uid = owner or pe_uid(job, pe_id)
    name = labels.pod_name(job, pe_id, uid, launch)
    meta = _meta(
        name,
        f"uid-{name}",
        **_marks(job),
        **{
            labels.SERVICE_ROLE: labels.ROLE_PE,
            labels.PE: str(pe_id),
            labels.LAUNCH_COUNT: str(launch),
        },
    )
    body = {
        "metadata": meta | {"annotations": {labels.CONTENT_ID: content_id}},
        "spec": {"containers": [{"name": "pe"}]},
        "status": {"phase": "Pending"},
    }
    return PodBuilder("Pod", body).owned_by("ProcessingElement", labels.pe_name(job, pe_id), uid)


def a_config_map(job: str = "shop", pe_id: int | None = None, content_id: str = "c1") -> Builder:
    """The ConfigMap of a PE's content; without a PE that of the job."""
    if pe_id is None:
        meta = _meta(job, f"uid-cm-{job}", **_marks(job))
    else:
        name = labels.pe_config_map_name(job, pe_id, content_id)
        meta = _meta(name, f"uid-{name}", **_marks(job), **{labels.PE: str(pe_id)})
    return Builder("ConfigMap", {"metadata": meta}).owned_by("Job", job, job_uid(job))


def a_pack(job: str = "shop", digest: str = "d1") -> Builder:
    """A pack of AADLs."""
    name = labels.pack_name(job, digest)
    meta = _meta(name, f"uid-{name}", **_marks(job))
    return Builder("ConfigMap", {"metadata": meta}).owned_by("Job", job, job_uid(job))


def a_service(job: str = "shop", pe_id: int = 0) -> Builder:
    """The headless Service of a PE, with what the API server fills in."""
    name = labels.pe_name(job, pe_id)
    meta = _meta(
        name,
        f"uid-service-{name}",
        **_marks(job),
        **{labels.SERVICE_ROLE: labels.ROLE_PE, labels.PE: str(pe_id)},
    )
    ports = (
        ("sys-metrics", 9_696, "TCP"),
        ("sys-notifications", 10_000, "UDP"),
        ("sys-consistentregion", 10_001, "UDP"),
    )
    spec = {
        "type": "ClusterIP",
        "clusterIP": "None",
        "clusterIPs": ["None"],
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
        "sessionAffinity": "None",
        "publishNotReadyAddresses": True,
        "selector": {labels.APP: labels.APP_VALUE, labels.JOB: job, labels.PE: str(pe_id)},
        "ports": [
            {"name": name, "port": port, "protocol": protocol, "targetPort": port}
            for name, port, protocol in ports
        ],
    }
    body = {"metadata": meta | {"annotations": {labels.INPUT_PORTS: ""}}, "spec": spec}
    return Builder("Service", body).owned_by("Job", job, job_uid(job))


def a_parallel_region(job: str = "shop", index: int = 0, *, width: int = 3) -> Builder:
    """A parallel region."""
    meta = _meta(labels.pe_name(job, index), f"uid-pr-{job}-{index}", **_marks(job))
    spec = {"job": job, "index": index, "alias": f"Region{index}", "width": width}
    builder = Builder("ParallelRegion", {"metadata": meta, "spec": spec, "status": {}})
    return builder.owned_by("Job", job, job_uid(job))


class HostPoolBuilder(Builder):
    """A host pool under construction."""

    def with_tags(self, *tags: str) -> Self:
        """The same of nodes that carry all of some tags."""
        return self.having("spec", "hostpool", "tags", value=list(tags))

    def exclusive(self) -> Self:
        """The same, keeping others from its members."""
        return self.having("spec", "hostpool", "membershipMode", value="exclusive")

    def claiming(self, *nodes: str) -> Self:
        """The same with members that all carry its marks."""
        return self.with_status(members=list(nodes), claimed=list(nodes))


def a_host_pool(job: str = "shop", index: int = 1, *, name: str = "gpu") -> HostPoolBuilder:
    """A shared host pool that asks for nothing."""
    meta = _meta(labels.pe_name(job, index), f"uid-pool-{job}-{index}", **_marks(job))
    spec = {"job": job, "hostpool": {"name": name, "index": index, "membershipMode": "shared"}}
    builder = HostPoolBuilder("HostPool", {"metadata": meta, "spec": spec, "status": {}})
    return builder.owned_by("Job", job, job_uid(job))


def a_placement(assigned: Mapping[str, str], *, job: str = "shop", generation: int = 0) -> Builder:
    """The answer about a job: by node its PEs, in runs of ids such as 0-9,12."""
    meta = _meta(job, f"uid-placement-{job}", **_marks(job))
    status = {
        "phase": "Placed",
        "observedGeneration": 1,
        "generation": generation,
        "assignments": [{"node": node, "pes": pes} for node, pes in assigned.items()],
    }
    spec = {"generation": generation}
    builder = Builder("Placement", {"metadata": meta, "spec": spec, "status": status})
    return builder.owned_by("Job", job, job_uid(job))


def a_node(name: str = "node-1", *, ready: str = "True") -> Builder:
    """A node; `ready` is the status of its condition."""
    meta = {"name": name, "uid": f"uid-{name}", "resourceVersion": "1", "labels": {}}
    status = {
        "conditions": [{"type": "Ready", "status": ready, "lastHeartbeatTime": EPOCH_TIME}],
        "allocatable": {"cpu": "4"},
    }
    return Builder("Node", {"metadata": meta, "spec": {}, "status": status})
