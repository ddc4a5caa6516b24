"""The stage that the chassis runs: intake, core and carry_out put together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from contracts import labels
from services.chassis.running.stage import Decision
from services.chassis.running.wiring import MakeStage, Wiring
from services.chassis.table.entries import Change, Index, TableReading, label
from services.node_tainter.adapters import intake
from services.node_tainter.adapters.carry_out import CarryOut
from services.node_tainter.core.deciding import decide
from services.node_tainter.core.effects import Effect
from services.node_tainter.core.snapshot import Key, PoolKey, Snapshot
from services.node_tainter.service import ROW
from services.node_tainter.settings import NodeTainterSettings


class NodeTainter:
    """Members of host pools → labels and taints of nodes, and their release."""

    name = ROW.name
    kinds = intake.KINDS
    indexes: Mapping[str, Index] = intake.INDEXES

    def __init__(self, wiring: Wiring) -> None:
        self._table = wiring.table
        self._carry_out = CarryOut(wiring.table, wiring.writer, wiring.runtime.kube)

    def keys(self, change: Change, table: TableReading) -> Iterable[Key]:
        """The keys that a change makes dirty."""
        return intake.keys_of(change, table)

    def all_keys(self, table: TableReading) -> Iterable[Key]:
        """Every key, for the reconciliation after a full resync."""
        return intake.all_keys(table)

    def snapshot(self, table: TableReading, key: Key) -> Snapshot:
        """Everything that `decide` may look at."""
        return intake.snapshot_of(table, key)

    def decide(self, snapshot: Snapshot, now: float) -> Decision[Effect]:
        """The core, which does not ask for the time."""
        return decide(snapshot)

    def fence(self, table: TableReading, key: Key) -> Hashable:
        """The pools; a decision on older ones is not carried on."""
        return intake.fence_of(table, key)

    async def carry_out(self, key: Key, snapshot: Snapshot, effect: Effect) -> str:
        """Execute one effect."""
        return await self._carry_out.run(key, snapshot, effect)

    def about(self, key: Key, effect: Effect | None) -> Mapping[str, str | int]:
        """The job of a host pool; a node may be of the pools of several jobs."""
        if not isinstance(key, PoolKey):
            return {}
        entry = self._table.get(intake.HOST_POOL, key.namespace, key.name)
        job = label(entry, labels.JOB) if entry is not None else ""
        return {"namespace": key.namespace} | ({"job": job} if job else {})

    def subject(self, key: Key) -> tuple[str, str]:
        """(namespace, name) of the pool or node of a key."""
        return (key.namespace, key.name) if isinstance(key, PoolKey) else ("", key.name)


def stage_maker(_settings: NodeTainterSettings) -> MakeStage:
    """The service's factory, which has no settings of its own."""
    return NodeTainter
