"""The stage that the chassis runs: intake, core and carry_out put together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from contracts.moments import moment_of
from contracts.reasons import Reason
from contracts.resources import stalled_patch
from services.chassis.running.leading import Leadership
from services.chassis.running.stage import Decision
from services.chassis.running.wiring import MakeStage, Wiring
from services.chassis.table.entries import Change, Index, TableReading
from services.chassis.table.viewing import View
from services.hostpool_manager.adapters import intake
from services.hostpool_manager.adapters.carry_out import CarryOut
from services.hostpool_manager.adapters.folding import LISTED_FIRST, PLACEMENT, ClusterFold
from services.hostpool_manager.adapters.intake import JobKey, Key
from services.hostpool_manager.adapters.permissions import LEASE
from services.hostpool_manager.adapters.searching import Searches
from services.hostpool_manager.core.deciding import decide
from services.hostpool_manager.core.effects import Effect, Search
from services.hostpool_manager.core.snapshot import ClusterSnapshot, Snapshot
from services.hostpool_manager.service import ROW
from services.hostpool_manager.settings import HostpoolManagerSettings


class HostpoolManager:
    """Decides where all jobs with host constraints run; one instance decides for all of them."""

    name = ROW.name
    kinds = intake.KINDS
    indexes: Mapping[str, Index] = intake.INDEXES

    def __init__(
        self, wiring: Wiring, settings: HostpoolManagerSettings, *, in_threads: bool
    ) -> None:
        self._table = wiring.table
        self._writer = wiring.writer
        self._metrics = wiring.runtime.metrics
        self._now = wiring.runtime.clock.now
        self._fold = ClusterFold(self._metrics)
        self.views: Sequence[View] = (self._fold,)
        self._searches = Searches(
            wiring, self._fold, settings.limits, settings.quotas, in_threads=in_threads
        )
        self._carry_out = CarryOut(wiring.table, wiring.writer, self._searches, self._now)

    def begin_to_lead(self) -> None:
        """Drop what earlier searches found: another instance may have decided since."""
        self._searches.forget()

    def keys(self, change: Change, table: TableReading) -> Iterable[Key]:
        """The keys that a change makes dirty."""
        for entry in change.entries:
            yield from intake.keys_of(entry, self._fold.view)

    def all_keys(self, table: TableReading) -> Iterable[Key]:
        """Every key, for the reconciliation after a full resync."""
        return intake.all_keys(table)

    def snapshot(self, table: TableReading, key: Key) -> Snapshot:
        """Everything that `decide` may look at."""
        if isinstance(key, JobKey):
            return intake.job_snapshot(table, self._fold.view, key)
        return intake.cluster_snapshot(table, self._fold.view)

    def decide(self, snapshot: Snapshot, now: float) -> Decision[Effect]:
        """The core."""
        decision = decide(snapshot, now)
        if isinstance(snapshot, ClusterSnapshot):
            waiting = decision.detail.get("waiting", 0)
            self._metrics.set_gauge("hostpool_manager_jobs_waiting", waiting)
        return decision

    def fence(self, table: TableReading, key: Key) -> Hashable:
        """None: the resourceVersion of its own object fences each write."""
        return None

    async def carry_out(self, key: Key, snapshot: Snapshot, effect: Effect) -> str:
        """Execute one effect."""
        return await self._carry_out.run(effect)

    async def report_stalled(self, key: Key, why: str, *, reason: Reason) -> None:
        """Write the condition Stalled of the Placement, which exists only while it is stalled."""
        entry = self._table.get(PLACEMENT, *key)
        if entry is None:
            return
        now = moment_of(self._now())
        patch = stalled_patch(entry.data, reason=reason, why=why, now=now)
        if patch is not None:
            await self._writer.patch(entry, patch, subresource="status")

    def about(self, key: Key, effect: Effect | None) -> Mapping[str, str | int]:
        """The job of an effect: a search is decided on for the whole cluster."""
        namespace, name = key
        if isinstance(effect, Search):
            namespace, name = effect.target.ref
        return {"namespace": namespace, "job": name} if namespace else {}

    def subject(self, key: Key) -> tuple[str, str]:
        """(namespace, job) of a key."""
        return key.namespace, key.name


def stage_maker(settings: HostpoolManagerSettings, *, in_threads: bool = True) -> MakeStage:
    """A factory of the stage with these settings; `in_threads` is off for simulation."""
    return lambda wiring: HostpoolManager(wiring, settings, in_threads=in_threads)


def leadership(settings: HostpoolManagerSettings) -> Leadership:
    """The Lease under which one instance decides."""
    return Leadership(settings.lease_namespace, LEASE, LISTED_FIRST)
