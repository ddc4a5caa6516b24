"""What of its job a pod waits for: what its PEs share, and the decision where it goes.

The certificate and the servers of redis are fusion-backend's, which says in the Job's status that
they are there. Where a constrained PE goes is hostpool-manager's decision; the marks of its pool
are node-tainter's, and stand in the HostPool's status once they are all there. A decision that
stands is enough: nobody has to be up to launch by it.
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
    """Whether the pod of this PE would lack something that its job does not have yet."""
    pe, job = snapshot.pe, snapshot.job
    if pe is None or job is None:
        return False
    return (is_encrypted(pe.spec) and not job.certificate_secret) or (
        required_redis(pe.spec) is not None and not job.redis_config
    )


def is_constrained(spec: Mapping[str, Any]) -> bool:
    """Whether a PE of this spec may not run just anywhere."""
    asked = spec.get("placement") or {}
    return any(asked.get(name) not in (None, []) for name in _CONSTRAINTS)


def awaited_place(snapshot: PeSnapshot) -> str:
    """What a pod waits for before it is known where it goes; empty if it waits for nothing."""
    pe = snapshot.pe
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
    """Where the pod goes that is made now; None where it may run anywhere."""
    pe, placement = snapshot.pe, snapshot.placement
    if pe is None or placement is None or not is_constrained(pe.spec):
        return None
    return Assignment(snapshot.node(placement.node), snapshot.pool)


def needs_pool(spec: Mapping[str, Any]) -> bool:
    """Whether a PE of this spec runs in a host pool."""
    return bool((spec.get("placement") or {}).get("hostPoolLocation"))


def _is_free(snapshot: PeSnapshot, pe: Pe) -> bool:
    """Without constraints, or of a job of a release that enforced none and says so."""
    of_old = snapshot.job is not None and snapshot.job.is_unconstrained
    return not is_constrained(pe.spec) or (of_old and snapshot.placement is None)


def _is_older(placed: int | None, wanted: int | None) -> bool:
    return placed is None or placed < (wanted or 0)
