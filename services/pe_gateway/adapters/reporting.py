"""Reports of PEs: entries of the table, and requests that wait until a report is in the status."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Final

from services.chassis.table.table import Table
from services.pe_gateway.adapters.intake import REPORT
from services.pe_gateway.adapters.reading import report_data, report_of
from services.pe_gateway.core.answers import unavailable
from services.pe_gateway.core.reports import joined
from services.pe_gateway.core.snapshot import Pe, PeKey, Report

RECORDED_S_MAX: Final = 10.0
"""How long the answer to a report waits for the write."""


class Reports:
    """What PEs reported to this instance and is not in their status."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._number = 0
        self._waiting: defaultdict[PeKey, list[asyncio.Future[None]]] = defaultdict(list)

    def enter(self, pe: Pe, report: Report) -> None:
        """Let a report count, with what waits of the same launch."""
        report = joined(self.waiting(pe), report)
        self._number += 1
        self._table.observe(
            REPORT,
            pe.namespace,
            pe.name,
            uid=pe.uid,
            resource_version=self._number,
            data=report_data(report),
        )

    def waiting(self, pe: Pe) -> Report | None:
        """What a PE reported and is not in its status."""
        entry = self._table.get(REPORT, pe.namespace, pe.name)
        return report_of(entry) if entry is not None else None

    def drop(self, namespace: str, name: str) -> None:
        """The report is in the status, or does not count any more."""
        self._table.forget((REPORT, namespace, name))
        for each in self._waiting.pop(PeKey(namespace, name), ()):
            if not each.done():
                each.set_result(None)

    async def recorded(self, pe: Pe) -> None:
        """Return when what a PE reported is in its status. Raises Refused: 503."""
        try:
            async with asyncio.timeout(RECORDED_S_MAX):
                await self.dropped(pe)
        except TimeoutError:
            raise unavailable("the report is not recorded yet") from None

    async def dropped(self, pe: Pe) -> None:
        """Return when there is no report of the PE any more."""
        if self._table.get(REPORT, pe.namespace, pe.name) is None:
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[pe.key].append(done)
        try:
            await done
        finally:
            waiting = self._waiting.get(pe.key, [])
            if done in waiting:
                waiting.remove(done)
            if not waiting:
                self._waiting.pop(pe.key, None)
