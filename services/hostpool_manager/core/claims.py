"""Which jobs hold which nodes, by taints and by the placements in force.

The taint of a live HostPool counts first: it takes the node from every other job whose status
names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from placement.cluster import Claim
from placement.job import Pool
from services.hostpool_manager.core.snapshot import HostPool, Marks, Placement, Ref, uids_differ

Placements = Mapping[Ref, Placement]


def claims(
    placements: Placements, marks: Mapping[str, Marks], owners: Mapping[str, HostPool]
) -> Iterator[Claim]:
    """Every claim; `marks` by node, `owners`: the live exclusive HostPools by uid."""
    tainted: dict[str, list[str]] = {}
    for node, found in marks.items():
        for owner in (owners[uid] for uid in found.taints if uid in owners):
            job = job_name(placements, owner.job, owner.job_uid)
            tainted.setdefault(node, []).append(job)
            yield Claim(node, job, _pool_name(placements, owner), is_exclusive=True)
    for placement in placements.values():
        if placement.is_deleting or placement.spec is None:
            continue
        job = placement.spec.name
        for pool in placement.spec.pools:
            if pool.is_default or not _claims_nodes(pool):
                continue
            for node in placement.in_force.pools.get(pool.index, ()):
                if node and job in tainted.get(node, (job,)):
                    yield Claim(node, job, pool.name, pool.is_exclusive)


def job_name(placements: Placements, job: Ref | None, uid: str) -> str:
    """The name of a job in decisions; a namesake with another uid has another name."""
    if job is None:
        return ""
    placement = placements.get(job)
    if placement is not None and uids_differ(placement.job_uid, uid):
        return f"{'/'.join(job)} ({uid})"
    return "/".join(job)


def _pool_name(placements: Placements, owner: HostPool) -> str:
    """The name of a pool in its Placement, so that all claims of a pool have one name."""
    placement = placements.get(owner.job)
    spec = placement.spec if placement is not None else None
    if placement is None or spec is None or uids_differ(placement.job_uid, owner.job_uid):
        return owner.name
    return next((pool.name for pool in spec.pools if pool.index == owner.index), owner.name)


def _claims_nodes(pool: Pool) -> bool:
    """Whether it claims its members: see `placement.cluster.Claim`."""
    return pool.is_exclusive or bool(pool.hosts) or pool.size is not None
