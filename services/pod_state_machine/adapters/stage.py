"""The stage that the chassis runs: intake, core and carry_out put together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from contracts.moments import moment_of
from contracts.reasons import Reason
from contracts.resources import stalled_patch
from services.chassis.running.stage import Decision, EndedWith
from services.chassis.running.wiring import MakeStage, Wiring
from services.chassis.table.entries import Change, Index, TableReading
from services.launching.adapters.launches import LAUNCHED, Launches
from services.launching.core.effects import PatchStatus
from services.launching.core.pods import launch_ended
from services.launching.core.snapshot import Timing
from services.pod_state_machine.adapters import intake
from services.pod_state_machine.adapters.assignments import Assignments
from services.pod_state_machine.adapters.carry_out import CarryOut
from services.pod_state_machine.core.deciding import decide
from services.pod_state_machine.core.effects import Effect
from services.pod_state_machine.core.snapshot import JobKey, Key, Snapshot
from services.pod_state_machine.service import ROW
from services.pod_state_machine.settings import PodStateMachineSettings


class PodStateMachine:
    """One pod for each launch of each processing element."""

    name = ROW.name
    kinds = intake.KINDS
    indexes: Mapping[str, Index] = intake.INDEXES

    def __init__(self, wiring: Wiring, settings: PodStateMachineSettings) -> None:
        self._table = wiring.table
        self._writer = wiring.writer
        self._now = wiring.runtime.clock.now
        self._launches = Launches(wiring.enter)
        self._assignments = Assignments()
        self._carry_out = CarryOut(
            wiring.table,
            wiring.writer,
            settings.runtime_image,
            self._launches,
            wiring.runtime.clock.now,
        )
        self._timing: Timing = settings.timing

    def keys(self, change: Change, table: TableReading) -> Iterable[Key]:
        """The keys that a change makes dirty."""
        return intake.keys_of(change, table)

    def all_keys(self, table: TableReading) -> Iterable[Key]:
        """Every key, for the reconciliation after a full resync."""
        return intake.all_keys(table)

    def snapshot(self, table: TableReading, key: Key) -> Snapshot:
        """Everything that `decide` may look at."""
        return intake.snapshot_of(table, key, self._launches, self._assignments)

    def take_in(self, what: str, content: Mapping[str, Any]) -> None:
        """Let an observation count that was entered before. Raises ValueError for another kind."""
        if what != LAUNCHED:
            raise ValueError(f"nobody takes in {what}")
        self._launches.take_in(content)

    def decide(self, snapshot: Snapshot, now: float) -> Decision[Effect]:
        """The core."""
        return decide(snapshot, now, self._timing)

    def fence(self, table: TableReading, key: Key) -> Hashable:
        """Specs and deletions; effects of a decision on older ones are not carried out."""
        return intake.fence_of(table, key)

    async def carry_out(self, key: Key, snapshot: Snapshot, effect: Effect) -> str:
        """Execute one effect."""
        return await self._carry_out.run(key, snapshot, effect)

    async def report_stalled(self, key: Key, why: str, *, reason: Reason) -> None:
        """Write the condition Stalled of the PE, which exists only while it is stalled.

        For a JobKey nothing is written: fusion-backend owns the Job's status.
        """
        entry = self._table.get(intake.PE, key.namespace, key.name)
        if entry is None or isinstance(key, JobKey):
            return
        now = moment_of(self._now())
        patch = stalled_patch(entry.data, reason=reason, why=why, now=now)
        if patch is not None:
            await self._writer.patch(entry, patch, subresource="status")

    def about(self, key: Key, effect: Effect | None) -> Mapping[str, str | int]:
        """The job and the PE of an effect, and the launch that it is of."""
        of_pe = {} if isinstance(key, JobKey) else {"pe": key.name}
        launch = getattr(effect, "launch", None)
        if isinstance(effect, PatchStatus):
            launch = effect.status.launch_count
        numbered = {} if launch is None else {"launch": launch}
        job = intake.job_name(self._table, key)
        return {"namespace": key.namespace, "job": job} | of_pe | numbered

    def ended_with(self, key: Key, effect: Effect) -> Sequence[EndedWith]:
        """The launch of a pod, which ends when its PE is recorded as running."""
        if not isinstance(effect, PatchStatus) or effect.status.reason != Reason.POD_RUNNING.value:
            return ()
        return launch_ended(self._table.get(intake.POD, key.namespace, effect.status.pod))

    def subject(self, key: Key) -> tuple[str, str]:
        """(namespace, job) of a key."""
        return key.namespace, intake.job_name(self._table, key)


def stage_maker(settings: PodStateMachineSettings) -> MakeStage:
    """A factory of the stage with these settings."""
    return lambda wiring: PodStateMachine(wiring, settings)
