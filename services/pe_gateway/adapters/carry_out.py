"""Carries out the effects of this service: one `match`, every write through the Writer."""

from __future__ import annotations

from typing import Any

from contracts import labels
from contracts.losses import losses_field, losses_of
from contracts.reasons import Reason
from contracts.unreadable import part_of
from millrace.protocol import TUPLES_MAX
from services.chassis.kube.writing import Writer
from services.chassis.process.errors import Superseded
from services.chassis.table.entries import Entry
from services.chassis.table.table import Table
from services.launching.core.owners import launch_status_of, status_patch
from services.pe_gateway.adapters.intake import JOB, PE, REGION, SERVICE
from services.pe_gateway.adapters.reporting import Reports
from services.pe_gateway.core.effects import (
    AnnounceLoss,
    AnnounceNoBundle,
    DropLosses,
    DropReport,
    Effect,
    SetEndpoints,
    SetLosses,
    SetReported,
    SetWidth,
)
from services.pe_gateway.core.endpoints import annotation_of
from services.pe_gateway.core.reports import LAUNCH
from services.pe_gateway.core.snapshot import LossesKey, PeKey


class CarryOut:
    """Executes effects; each returns its outcome in a word."""

    def __init__(self, table: Table, writer: Writer, reports: Reports) -> None:
        self._table = table
        self._writer = writer
        self._reports = reports

    async def run(self, namespace: str, effect: Effect) -> str:
        """One effect; raises the chassis's Transient, Rejected or Superseded."""
        match effect:
            case SetReported():
                return await self._set_reported(namespace, effect)
            case DropReport():
                self._reports.drop(PeKey(namespace, effect.name))
                return "dropped"
            case AnnounceLoss():
                entry = Entry(PE, namespace, effect.name, effect.pe_uid, 0, {})
                await self._announce(entry, effect.launch, effect.lost, effect.message)
                return "announced"
            case SetLosses():
                return await self._set_losses(namespace, effect)
            case DropLosses():
                self._reports.drop_losses(LossesKey(namespace, effect.name), effect)
                return "dropped"
            case SetWidth():
                entry = self._known(REGION, namespace, effect.name)
                return await self._writer.patch(entry, {"spec": {"width": effect.width}})
            case SetEndpoints():
                entry = self._known(SERVICE, namespace, effect.name)
                written = {labels.ENDPOINTS: annotation_of(effect.endpoints)}
                return await self._writer.patch(entry, {"metadata": {"annotations": written}})
            case AnnounceNoBundle():
                return await self._writer.emit_event(
                    self._known_pe(namespace, effect.name, effect.pe_uid),
                    reason=Reason.BUNDLE_NOT_GIVEN.value,
                    message=effect.message,
                    generation=effect.launch,
                    warning=True,
                )

    async def _set_reported(self, namespace: str, effect: SetReported) -> str:
        entry = self._known_pe(namespace, effect.name, effect.pe_uid)
        if effect.loss:
            # Before the status: once the status has the count, nobody would create the Event.
            launch = int(dict(effect.runtime).get(LAUNCH) or 0)
            await self._announce(entry, launch, effect.lost, effect.loss)
        if effect.again:
            await self._writer.emit_event(
                entry,
                reason=Reason.SOURCE_READS_AGAIN.value,
                message=effect.again,
                generation=int(dict(effect.runtime).get(LAUNCH) or 0),
                warning=True,
            )
        status = _fields_of_running(entry, effect)
        if effect.connectivity is not None:
            status["connectivity"] = effect.connectivity.value
        if effect.runtime:
            before = part_of(entry.data, "status").get("runtime") or {}
            status["runtime"] = dict.fromkeys(before, None) | dict(effect.runtime)
        return await self._writer.patch(entry, {"status": status}, subresource="status")

    async def _set_losses(self, namespace: str, effect: SetLosses) -> str:
        entry = self._known(JOB, namespace, effect.name)
        is_as_known = losses_of(part_of(entry.data, "status")) == effect.known
        if entry.uid != effect.job_uid or not is_as_known:
            # The list is written whole: it would take away what another instance wrote.
            raise Superseded(f"Job {effect.name} has other losses, or is another one")
        status = {"losses": losses_field(effect.losses)}
        outcome = await self._writer.patch(entry, {"status": status}, subresource="status")
        self._reports.drop_losses(LossesKey(namespace, effect.name), effect)
        return outcome

    async def _announce(self, entry: Entry, launch: int, lost: int, message: str) -> None:
        """An Event of its own for each launch and number: two launches may lose as many."""
        await self._writer.emit_event(
            entry,
            reason=Reason.TUPLES_LOST.value,
            message=message,
            generation=launch * (TUPLES_MAX + 1) + lost,
            warning=True,
        )

    def _known_pe(self, namespace: str, name: str, uid: str) -> Entry:
        entry = self._known(PE, namespace, name)
        if entry.uid != uid:
            raise Superseded(f"PE {name} is another one")
        return entry

    def _known(self, kind: str, namespace: str, name: str) -> Entry:
        """The entry of the object that is to be written."""
        entry = self._table.get(kind, namespace, name)
        if entry is None:
            raise Superseded(f"{kind} {name} is gone")
        return entry


def _fields_of_running(entry: Entry, effect: SetReported) -> dict[str, Any]:
    """The fields of the status that say that the PE runs; none where the effect leaves them."""
    if effect.running is None:
        return {}
    if entry.resource_version != effect.version:
        raise Superseded(f"PE {effect.name} was decided on at an older one")
    return status_patch(launch_status_of(entry.data["status"]), effect.running)
