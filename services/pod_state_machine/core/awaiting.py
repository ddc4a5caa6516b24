"""What a pod waits for before it is created: objects of its job, and its node.

fusion-backend makes the certificate and the redis servers, and records them in the Job's status.
hostpool-manager decides on the node of a constrained PE. node-tainter marks the nodes of its pool,
and the HostPool's status lists those with all marks. A recorded decision is enough: a launch needs
none of these services to be up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from contracts.resources.processing_element import is_encrypted, required_redis
from services.pod_state_machine.core.snapshot import Assignment, HostPool, Pe, PeSnapshot

_CONSTRAINTS: Final = (
    "host",
    "hostPoolLocation",
    "coLocations",
    "exLocations",
    "isolation",
    "isolations",
    "isolationLabels",
)


def awaits_job(snapshot: PeSnapshot) -> bool:
    """Whether the pod of this PE needs something that its job does not have yet."""
    pe, job = snapshot.owner, snapshot.job
    if pe is None or job is None:
        return False
    return (is_encrypted(pe.spec) and not job.certificate_secret) or (
        required_redis(pe.spec) is not None and not job.redis_config
    )


def is_constrained(spec: Mapping[str, Any]) -> bool:
    """Whether a PE of this spec has a host constraint."""
    placement = spec.get("placement") or {}
    return any(placement.get(name) not in (None, []) for name in _CONSTRAINTS)


def awaited_place(snapshot: PeSnapshot) -> str:
    """What a pod without a usable node waits for, as a predicate; empty if it may be created."""
    pe = snapshot.owner
    if pe is None or _is_free(snapshot, pe):
        return ""
    placement = snapshot.placement
    if placement is None or not placement.node or _is_older(placement.generation, pe.generation):
        return "waits for its placement"
    if not snapshot.node(placement.node).exists:
        return f"waits for a new placement: its node {placement.node} does not exist"
    if not needs_pool(pe.spec):
        return ""
    return _awaited_pool(snapshot.pool, placement.node)


def _awaited_pool(pool: HostPool | None, node: str) -> str:
    if pool is None:
        return "waits for its host pool"
    if pool.marks_members and not pool.has_claimed:
        return f"waits until node {node} is claimed for the pool {pool.name}"
    return ""


def place_of(snapshot: PeSnapshot) -> Assignment | None:
    """The node and pool of a pod that is made now; None if it may run anywhere."""
    pe, placement = snapshot.owner, snapshot.placement
    if pe is None or placement is None or not is_constrained(pe.spec):
        return None
    return Assignment(snapshot.node(placement.node), snapshot.pool)


def needs_pool(spec: Mapping[str, Any]) -> bool:
    """Whether a PE of this spec runs in a host pool."""
    return bool((spec.get("placement") or {}).get("hostPoolLocation"))


def _is_free(snapshot: PeSnapshot, pe: Pe) -> bool:
    """Whether a PE has no constraints, or its job is of a release that did not enforce any."""
    is_old = snapshot.job is not None and snapshot.job.is_unconstrained
    return not is_constrained(pe.spec) or (is_old and snapshot.placement is None)


def _is_older(placed: int | None, required: int | None) -> bool:
    return placed is None or placed < (required or 0)
