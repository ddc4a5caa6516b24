"""Carries out the effects of this service: one `match`, every write through the Writer."""

from __future__ import annotations

from typing import Any

from contracts import labels
from services.chassis.kube.writing import Writer
from services.chassis.process.errors import Superseded
from services.chassis.table.entries import Entry
from services.chassis.table.table import Table
from services.pe_gateway.adapters.intake import PE, REGION, SERVICE
from services.pe_gateway.adapters.reporting import Reports
from services.pe_gateway.core.effects import (
    DropReport,
    Effect,
    SetConnectivity,
    SetEndpoints,
    SetWidth,
)
from services.pe_gateway.core.endpoints import annotation_of


class CarryOut:
    """Executes effects; each returns its outcome in a word."""

    def __init__(self, table: Table, writer: Writer, reports: Reports) -> None:
        self._table = table
        self._writer = writer
        self._reports = reports

    async def run(self, namespace: str, effect: Effect) -> str:
        """One effect; raises the chassis's Transient, Rejected or Superseded."""
        match effect:
            case SetConnectivity():
                entry = self._known(PE, namespace, effect.name)
                if entry.uid != effect.pe_uid:
                    raise Superseded(f"PE {effect.name} is another one")
                patch: dict[str, Any] = {"status": {"connectivity": effect.connectivity.value}}
                return await self._writer.patch(entry, patch, subresource="status")
            case DropReport():
                self._reports.drop(namespace, effect.name)
                return "dropped"
            case SetWidth():
                entry = self._known(REGION, namespace, effect.name)
                return await self._writer.patch(entry, {"spec": {"width": effect.width}})
            case SetEndpoints():
                entry = self._known(SERVICE, namespace, effect.name)
                written = {labels.ENDPOINTS: annotation_of(effect.endpoints)}
                return await self._writer.patch(entry, {"metadata": {"annotations": written}})

    def _known(self, kind: str, namespace: str, name: str) -> Entry:
        """The entry of the object that is to be written."""
        entry = self._table.get(kind, namespace, name)
        if entry is None:
            raise Superseded(f"{kind} {name} is gone")
        return entry
