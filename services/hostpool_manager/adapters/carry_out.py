"""Carries out the effects of this service: one `match`, every write through the chassis's Writer.

A search is begun and not awaited (`searching.py`). A status is written under the resourceVersion
of the object that it was decided on.
"""

from __future__ import annotations

from collections.abc import Callable

from contracts.moments import moment_of
from services.chassis.kube.writing import Outcome, Writer
from services.chassis.process.errors import Superseded
from services.chassis.table.entries import Entry
from services.chassis.table.table import Table
from services.hostpool_manager.adapters.folding import HOST_POOL, PLACEMENT
from services.hostpool_manager.adapters.searching import Searches
from services.hostpool_manager.core.effects import (
    Effect,
    Search,
    WriteHostPoolStatus,
    WritePlacementStatus,
)
from services.hostpool_manager.core.statuses import (
    Json,
    differences,
    host_pool_status,
    placement_status,
)


class CarryOut:
    """Executes effects; each returns its outcome as one word."""

    def __init__(
        self, table: Table, writer: Writer, searches: Searches, now: Callable[[], float]
    ) -> None:
        self._table = table
        self._writer = writer
        self._searches = searches
        self._now = now

    async def run(self, effect: Effect) -> str:
        """One effect; raises the chassis's Transient, Rejected or Superseded."""
        now = moment_of(self._now())
        match effect:
            case Search():
                return "begun" if self._searches.begin(effect.target) else "superseded"
            case WritePlacementStatus():
                entry = self._entry(PLACEMENT, *effect.ref, effect.uid)
                outcome = await self._write(
                    entry, placement_status(entry.data["status"], effect.status, now=now)
                )
                self._searches.note_recorded(effect.ref, effect.status)
                return outcome
            case WriteHostPoolStatus():
                entry = self._entry(HOST_POOL, effect.namespace, effect.name, effect.uid)
                return await self._write(
                    entry, host_pool_status(entry.data["status"], effect.status, now=now)
                )

    def _entry(self, kind: str, namespace: str, name: str, uid: str) -> Entry:
        entry = self._table.get(kind, namespace, name)
        if entry is None or entry.uid != uid:
            raise Superseded(f"{kind} {name} is gone")
        return entry

    async def _write(self, entry: Entry, desired: Json) -> str:
        changed = differences(entry.data["status"], desired)
        if not changed:
            return Outcome.UNCHANGED
        return await self._writer.patch(entry, {"status": changed}, subresource="status")
