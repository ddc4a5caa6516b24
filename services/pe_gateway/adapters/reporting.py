"""Reports of PEs: entries of the table, and requests that wait until a report is in the status."""

from __future__ import annotations

import asyncio
from collections import defaultdict

from services.chassis.table.table import Table
from services.pe_gateway.adapters.intake import REPORT
from services.pe_gateway.adapters.reading import report_data
from services.pe_gateway.core.snapshot import Pe, PeKey, Report


class Reports:
    """What PEs reported to this instance and is not in their status."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._number = 0
        self._waiting: defaultdict[PeKey, list[asyncio.Future[None]]] = defaultdict(list)

    def enter(self, pe: Pe, report: Report) -> None:
        """Let a report count; it takes the place of an earlier one."""
        self._number += 1
        self._table.observe(
            REPORT,
            pe.namespace,
            pe.name,
            uid=pe.uid,
            resource_version=self._number,
            data=report_data(report),
        )

    def drop(self, namespace: str, name: str) -> None:
        """The report is in the status, or does not count any more."""
        self._table.forget((REPORT, namespace, name))
        for each in self._waiting.pop(PeKey(namespace, name), ()):
            if not each.done():
                each.set_result(None)

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
