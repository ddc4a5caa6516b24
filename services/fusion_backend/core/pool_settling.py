"""Which host pools have to be made or to go before a plan is requested with a Placement."""

from __future__ import annotations

from contracts import labels
from planner.numbering.records import PoolRecord
from services.chassis.table.entries import Entry, is_deleting
from services.fusion_backend.core.children import declaration
from services.fusion_backend.core.effects import CreateChild, DeleteChild
from services.fusion_backend.core.seen import PoolSeen
from services.fusion_backend.core.snapshot import KnownPlan, Snapshot, stamp_of


def pools_to_settle(snapshot: Snapshot, plan: KnownPlan) -> tuple[CreateChild | DeleteChild, ...]:
    """What keeps the host pools of a plan from being as it says, before the request.

    A pool that an earlier question brought in may have had the same number and be another one.
    """
    seen, effects = snapshot.of("HostPool"), list[CreateChild | DeleteChild]()
    for pool in plan.record.pools:
        name = labels.pe_name(snapshot.name, pool.index)
        entry = seen.get(name)
        if entry is None:
            effects.append(
                CreateChild("HostPool", name, plan.record.generation, planned_from=plan.inputs)
            )
        elif _is_other_pool(entry, pool, plan.record.generation) and not is_deleting(entry):
            effects.append(DeleteChild(entry.kind, name, entry.uid, entry.resource_version))
    return tuple(effects)


def _is_other_pool(entry: Entry, pool: PoolRecord, generation: int) -> bool:
    """Whether a pool of a plan that was only requested is another than the one of its number."""
    if stamp_of(entry) < generation:
        return False
    seen = PoolSeen(entry).declared
    return any(seen.get(key) != value for key, value in declaration(pool).items())
