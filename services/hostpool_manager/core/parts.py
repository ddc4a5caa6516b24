"""The parts of objects on which other state depends: while they are equal, it stays as it is."""

from __future__ import annotations

from contracts.canonical import canonical_bytes
from services.hostpool_manager.core.snapshot import BoundPod, Found, HostPool, InForce, Placement


def room_text(name: object, value: object) -> bytes:
    """An object as it counts in the room of a cluster."""
    if not isinstance(value, BoundPod):
        return canonical_bytes((name, value))
    # By hand: tens of thousands of pods come and go.
    of_job = f"{value.job} {value.job_uid} {value.pe}" if value.job else ""
    return f"{name} {value.node} {of_job} {value.is_leaving} {value.requests}".encode()


def with_answer(placement: Placement, found: Found) -> Placement:
    """A Placement with the answer that counts for it."""
    status = found.status
    return placement.answered(
        status.phase, waits=bool(status.waits), message=status.message, in_force=found.in_force
    )


def pod_counting(placement: Placement | None) -> tuple[str, bool] | None:
    """The fields of a Placement that decide how the pods of its job count."""
    return (placement.job_uid, placement.is_deleting) if placement is not None else None


def promising(placement: Placement | None) -> tuple[object, ...] | None:
    """The fields of a Placement that decide what is promised to its PEs."""
    if placement is None:
        return None
    return placement.is_deleting, placement.job_uid, placement.in_force, placement.spec


def holding(placement: Placement | None) -> tuple[InForce, bool] | None:
    """The fields of a Placement that decide which room it holds; None: it holds none."""
    if placement is None or placement.in_force.plan_generation is None:
        return None
    return placement.in_force, placement.is_deleting


def exclusive_members(placement: Placement | None) -> frozenset[str]:
    """Members of exclusive pools in force; pools that follow nodes get them when released."""
    if placement is None or placement.spec is None or placement.is_deleting:
        return frozenset()
    pools = (pool.index for pool in placement.spec.pools if pool.is_exclusive)
    return frozenset(node for at in pools for node in placement.in_force.pools.get(at, ()))


def taint_owner(pool: HostPool | None) -> tuple[object, ...]:
    """The fields of a HostPool that decide whether its taints claim nodes, and for which job."""
    if pool is None or pool.is_deleting or not pool.is_exclusive:
        return ()
    return (pool.uid, pool.job, pool.job_uid)
