"""Reports of PEs: entries of the table, and requests that wait until a report is in a status."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from contracts.losses import LaunchLoss
from services.chassis.table.table import Table
from services.pe_gateway.adapters.intake import LOSSES, REPORT
from services.pe_gateway.adapters.reading import (
    report_data,
    report_of,
    reported_losses_data,
    reported_losses_of,
)
from services.pe_gateway.core.answers import unavailable
from services.pe_gateway.core.effects import DropLosses, SetLosses
from services.pe_gateway.core.losses import joined_losses, left_of
from services.pe_gateway.core.reports import joined
from services.pe_gateway.core.snapshot import (
    Key,
    LossesKey,
    Pe,
    PeKey,
    Report,
    ReportedLosses,
)

RECORDED_S_MAX: Final = 10.0
"""How long the answer to a report waits for the write."""


class Reports:
    """What PEs reported to this instance and is not in a status."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._number = 0
        self._waiting: defaultdict[Key, list[asyncio.Future[None]]] = defaultdict(list)

    def enter(self, pe: Pe, report: Report) -> None:
        """Let a report count, with what waits of the same launch."""
        report = joined(self.waiting(pe), report)
        self._observe(REPORT, pe.key, pe.uid, report_data(report))

    def enter_loss(self, key: LossesKey, job_uid: str, loss: LaunchLoss, now: float) -> None:
        """Let what a launch lost count for its job, with what waits of the same Job."""
        entry = self._table.get(LOSSES, key.namespace, key.name)
        before = reported_losses_of(entry) if entry is not None and entry.uid == job_uid else None
        since, waiting = (before.since, before.launches) if before is not None else (now, ())
        reported = ReportedLosses(job_uid, since, joined_losses(waiting, loss))
        self._observe(LOSSES, key, job_uid, reported_losses_data(reported))

    def _observe(self, kind: str, key: Key, uid: str, data: Mapping[str, Any]) -> None:
        self._number += 1
        self._table.observe(
            kind, key.namespace, key.name, uid=uid, resource_version=self._number, data=data
        )

    def waiting(self, pe: Pe) -> Report | None:
        """What a PE reported and is not in its status."""
        entry = self._table.get(REPORT, pe.namespace, pe.name)
        return report_of(entry) if entry is not None else None

    def drop(self, key: PeKey) -> None:
        """The report is in the status, or does not count any more."""
        self._table.forget((REPORT, key.namespace, key.name))
        self._wake(key)

    def drop_losses(self, key: LossesKey, of: SetLosses | DropLosses) -> None:
        """What was decided on is in the status, or does not count; what came since stays."""
        entry = self._table.get(LOSSES, key.namespace, key.name)
        if entry is None or entry.uid != of.job_uid:
            return
        left = left_of(reported_losses_of(entry), of)
        if left.launches:
            self._observe(LOSSES, key, entry.uid, reported_losses_data(left))
        else:
            self._table.forget((LOSSES, key.namespace, key.name))
        self._wake(key)

    def _wake(self, key: Key) -> None:
        for each in self._waiting.pop(key, ()):
            if not each.done():
                each.set_result(None)

    async def recorded(self, key: PeKey) -> None:
        """Return when what a PE reported is in its status. Raises Refused: 503."""
        try:
            async with asyncio.timeout(RECORDED_S_MAX):
                await self.dropped(key)
        except TimeoutError:
            raise unavailable("the report is not recorded yet") from None

    async def loss_recorded(self, key: LossesKey, launch: tuple[str, int]) -> None:
        """Return when what a launch lost is in the status of its Job. Raises Refused: 503."""
        try:
            async with asyncio.timeout(RECORDED_S_MAX):
                while launch in self._launches_waiting(key):
                    await self._woken(key)
        except TimeoutError:
            raise unavailable("the loss is not recorded yet") from None

    def _launches_waiting(self, key: LossesKey) -> frozenset[tuple[str, int]]:
        entry = self._table.get(LOSSES, key.namespace, key.name)
        found = reported_losses_of(entry).launches if entry is not None else ()
        return frozenset(each.key for each in found)

    async def dropped(self, key: PeKey) -> None:
        """Return when there is no report of the PE any more."""
        if self._table.get(REPORT, key.namespace, key.name) is not None:
            await self._woken(key)

    async def _woken(self, key: Key) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[key].append(done)
        try:
            await done
        finally:
            waiting = self._waiting.get(key, [])
            if done in waiting:
                waiting.remove(done)
            if not waiting:
                self._waiting.pop(key, None)
