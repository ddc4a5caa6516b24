"""Reads the projections of facts as the frozen values that decisions look at.

One function for each kind. Invalid values in a status, as after an edit by hand, count as absent:
they are decided again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contracts import labels
from contracts.resources import JOB
from contracts.resources.host_pool import MembershipMode
from contracts.resources.placement import PlacementPhase, assigned
from contracts.scheduling.nodes import Node, node_of
from placement.job import DEFAULT_POOL
from services.chassis.table.entries import Entry, is_deleting
from services.hostpool_manager.core.snapshot import (
    BoundPod,
    HostPool,
    InForce,
    Marks,
    Placement,
    Ref,
)
from services.hostpool_manager.core.specs import SpecInvalid, Specs

Data = Mapping[str, Any]
_PHASES = {phase.value: phase for phase in PlacementPhase}


def marked_node_of(entry: Entry) -> tuple[Node, Marks]:
    """A node without our marks, and the marks."""
    node = node_of(entry.name, entry.data)
    owners = frozenset(taint.value for taint in node.exclusive_taints)
    return node.without_marks(), Marks(owners, node.places)


def pod_of(entry: Entry) -> BoundPod:
    """A pod that is bound to a node."""
    data = entry.data
    return BoundPod(
        node=data["node"],
        requests=data["requests"],
        job=Ref(entry.namespace, data["job"]) if data["job"] else None,
        job_uid=data["jobUid"],
        pe=data["pe"],
        is_leaving=data["isLeaving"],
    )


def placement_of(entry: Entry, specs: Specs) -> Placement:
    """A Placement; if its spec is invalid, `problem` has the reason."""
    ref = Ref(entry.namespace, entry.name)
    status = entry.data["status"]
    job, problem, plan_generation = None, "", 0
    try:
        plan_generation, job = specs.job_of(ref, entry.data["spec"])
    except SpecInvalid as invalid:
        problem = str(invalid)
    in_force = _in_force(status)
    if not problem and (in_force.plan_generation or 0) > plan_generation:
        problem = (
            f"spec.generation is {plan_generation}: "
            f"generation {in_force.plan_generation} is in force already"
        )
        job = None
    return Placement(
        ref=ref,
        uid=entry.uid,
        spec_generation=int(entry.data["metadata"]["generation"]),
        version=entry.resource_version,
        job_uid=_job_uid(entry),
        is_deleting=is_deleting(entry),
        plan_generation=plan_generation,
        has_pes=entry.data["spec"].get("inForce") is True,
        spec=job,
        problem=problem,
        phase=_PHASES.get(status.get("phase") or ""),
        observed_generation=status.get("observedGeneration"),
        waits=bool(status.get("waits")),
        message=status.get("message") or "",
        in_force=in_force,
    )


def job_of_pool(entry: Entry) -> Ref:
    """The job of a HostPool, by its spec, else by its label; works for unreadable entries, too."""
    spec = {} if entry.unreadable else entry.data.get("spec") or {}
    meta = entry.data.get("metadata") or {}
    job = spec.get("job") or (meta.get("labels") or {}).get(labels.JOB, "")
    return Ref(entry.namespace, job)


def host_pool_of(entry: Entry) -> HostPool:
    """A HostPool; its index is in its declaration."""
    spec = entry.data["spec"]
    declared = spec.get("hostpool") or {}
    return HostPool(
        namespace=entry.namespace,
        name=entry.name,
        uid=entry.uid,
        spec_generation=int(entry.data["metadata"]["generation"]),
        job=job_of_pool(entry),
        job_uid=_job_uid(entry),
        index=int(declared.get("index") or 0),
        is_exclusive=declared.get("membershipMode") == MembershipMode.EXCLUSIVE,
        is_labelled=bool(spec.get("labelsMembers")),
        is_deleting=is_deleting(entry),
        members=tuple(entry.data["status"].get("members") or ()),
        is_default=declared.get("name") == DEFAULT_POOL
        and declared.get("membershipMode") != MembershipMode.EXCLUSIVE
        and not any(declared.get(each) for each in ("size", "hosts", "tags")),
    )


def _job_uid(entry: Entry) -> str:
    """The uid of the Job that owns an object, else the one in its label."""
    for owner in entry.data["metadata"]["owners"]:
        if owner["controller"] and owner["kind"] == JOB.kind:
            return str(owner["uid"])
    return str(entry.data["metadata"]["labels"].get(labels.JOB_UID, ""))


def _in_force(status: Data) -> InForce:
    plan_generation = status.get("generation")
    if plan_generation is None:
        return InForce()
    return InForce(
        plan_generation=int(plan_generation),
        pools={
            int(pool["index"]): tuple(pool.get("members") or ())
            for pool in status.get("pools") or ()
        },
        assignments=dict(assigned(status.get("assignments") or ())),
        is_as_preferred=status.get("asPreferred") is not False,
    )
