"""Writes statuses of ParallelRegions, and of what names a job without being its child.

An Event goes before the status that it is about: a crash between the two emits it again, under the
same name.
"""

from __future__ import annotations

from contracts.reasons import Reason
from services.chassis.process.errors import Superseded
from services.chassis.running.wiring import Wiring
from services.chassis.table.entries import Entry
from services.fusion_backend.adapters.answers import Answers
from services.fusion_backend.adapters.intake import JobKey
from services.fusion_backend.core.answered import ReferenceNoted
from services.fusion_backend.core.effects import NoteReference, ReportReference, WriteRegionStatus
from services.fusion_backend.core.references import reference_patch
from services.fusion_backend.core.region_statuses import region_status_patch
from services.fusion_backend.core.seen import ReferrerSeen, RegionSeen
from services.fusion_backend.core.snapshot import Snapshot


class ChildStatuses:
    """Carries out the effects on them."""

    def __init__(self, wiring: Wiring, answers: Answers) -> None:
        self._wiring = wiring
        self._writer = wiring.writer
        self._now = wiring.runtime.clock.now
        self._answers = answers

    async def run(
        self,
        key: JobKey,
        snapshot: Snapshot,
        effect: WriteRegionStatus | NoteReference | ReportReference,
    ) -> str:
        """One effect; raises the chassis's Transient, Rejected or Superseded."""
        if isinstance(effect, NoteReference):
            self._answers.observe(ReferenceNoted(effect.uid, effect.message, self._now()))
            self._wiring.wake(key)
            return "noted"
        if isinstance(effect, ReportReference):
            return await self._report_reference(snapshot, effect)
        return await self._write_region_status(snapshot, effect)

    async def _write_region_status(self, snapshot: Snapshot, effect: WriteRegionStatus) -> str:
        entry = snapshot.of("ParallelRegion").get(effect.name)
        if snapshot.job is None or entry is None:
            raise Superseded(f"ParallelRegion {effect.name} is not what was decided on")
        generation = effect.observed_generation
        if effect.wrong:
            await self._warn(entry, Reason.INVALID_REFERENCE, effect.wrong, generation)
        if effect.refused is not None:
            await self._warn(entry, effect.refused.reason, effect.message, generation)
        patch = region_status_patch(RegionSeen(entry), effect, now=self._now())
        return await self._writer.patch(entry, patch, subresource="status")

    async def _report_reference(self, snapshot: Snapshot, effect: ReportReference) -> str:
        entry = next((each for each in snapshot.strays if each.uid == effect.uid), None)
        if entry is None:
            raise Superseded(f"{effect.kind} {effect.name} is not what was decided on")
        if effect.reason is not None:
            generation = ReferrerSeen(entry).spec_generation
            await self._warn(entry, effect.reason, effect.message, generation)
        patch = reference_patch(entry, effect, now=self._now())
        return await self._writer.patch(entry, patch, subresource="status")

    async def _warn(self, entry: Entry, reason: Reason, message: str, generation: int) -> None:
        await self._writer.emit_event(
            entry, reason=reason.value, message=message, generation=generation, warning=True
        )
