"""Answers who asks for a bundle by its name: finds out who it is, waits, and finds the file."""

from __future__ import annotations

from typing import Final

from contracts.unreadable import ObjectUnreadable
from services.chassis.process.errors import NotAllowed, Rejected, Superseded, Transient
from services.chassis.process.log_lines import log_of
from services.chassis.running.wiring import Wiring
from services.chassis.table.entries import Entry
from services.pe_gateway.adapters.bundle_files import BundleFiles
from services.pe_gateway.adapters.carry_out import CarryOut
from services.pe_gateway.adapters.intake import JOB, PE, jobs_of_bundle, pe_name_of, pods_at
from services.pe_gateway.adapters.reading import job_of, pe_of, pod_of
from services.pe_gateway.core import answers
from services.pe_gateway.core.answers import Answer, Refused, unavailable
from services.pe_gateway.core.bundle_requests import (
    Awaited,
    BundleUse,
    bundle_for,
    no_bundle_event,
    not_reached,
)
from services.pe_gateway.settings import PeGatewaySettings

FIRST_PAUSE_S: Final = 0.1
PAUSE_S_MAX: Final = 1.0
"""Between two looks into the table, for a question that waits: the pause doubles up to this."""


class BundleRequests:
    """The answers of one instance."""

    def __init__(
        self,
        wiring: Wiring,
        settings: PeGatewaySettings,
        bundles: BundleFiles,
        carry_out: CarryOut,
    ) -> None:
        self._table = wiring.table
        self._clock = wiring.runtime.clock
        self._metrics = wiring.runtime.metrics
        self._bundles = bundles
        self._carry_out = carry_out
        self._anonymous = settings.anonymous

    async def answer(self, name: str, address: str) -> Answer:
        """The file of a bundle, or why the one who has this address does not get it."""
        try:
            use = await self._use(name, address)
            path = await self._bundles.find(name, use.digest)
            if path is None:
                await self._tell(use, refusal := not_reached(use, self._bundles.places))
                raise refusal
            answer = answers.file(str(path), f'"{use.digest}"')
        except Refused as refused:
            log_of("bundle_requests").warning("bundle_refused", address=address, why=str(refused))
            answer = refused.answer()
        except ObjectUnreadable as problem:
            answer = unavailable(f"an object cannot be read: {problem}").answer()
        code = str(int(answer.status))
        self._metrics.count("pe_gateway_requests_total", request="FindBundle", code=code)
        return answer

    async def _use(self, name: str, address: str) -> BundleUse:
        """Whose bundle it is, as soon as that is known. Raises Refused."""
        since, pause_s = self._clock.monotonic(), FIRST_PAUSE_S
        while True:
            here = self._here(address)
            found = bundle_for(name, address, here, self._named(name) if self._anonymous else None)
            if not isinstance(found, Awaited):
                return found
            if self._clock.monotonic() - since >= found.until_s:
                for use in here:
                    await self._tell(use, found.refusal)
                raise found.refusal
            await self._clock.sleep(pause_s)
            pause_s = min(2 * pause_s, PAUSE_S_MAX)

    def _here(self, address: str) -> list[BundleUse]:
        """The bundles of the pods that run at an address: the fact of one that ended has none."""
        found = []
        for entry in pods_at(self._table, address):
            pod = pod_of(entry)
            owner = self._table.get(PE, entry.namespace, pe_name_of(entry))
            if owner is None or owner.uid != pod.pe_uid:
                continue
            pe = pe_of(owner)
            _, digest = self._bundle_of(self._table.get(JOB, pe.namespace, pe.job))
            found.append(
                BundleUse(
                    pe.namespace, pe.job, _bundle_name(owner), digest, pe.name, pe.uid, pod.launch
                )
            )
        return found

    def _named(self, name: str) -> list[BundleUse]:
        """The Jobs that name a bundle."""
        return [
            BundleUse(entry.namespace, entry.name, *self._bundle_of(entry))
            for entry in jobs_of_bundle(self._table, name)
        ]

    def _bundle_of(self, entry: Entry | None) -> tuple[str, str]:
        job = job_of(entry) if entry is not None else None
        return job.bundle if job is not None else ("", "")

    async def _tell(self, use: BundleUse, refusal: Refused) -> None:
        """Create the Event; an answer does not fail for it."""
        effect = no_bundle_event(use, refusal)
        if effect is None:
            return
        try:
            await self._carry_out.run(use.namespace, effect)
        except (NotAllowed, Rejected, Superseded, Transient) as problem:
            log_of("bundle_requests").warning("event_failed", pe=use.pe, why=str(problem))


def _bundle_name(pe: Entry) -> str:
    """The name by which the pods of a PE ask (`STREAMS_SAB_NAME`)."""
    spec = pe.data["spec"]
    return str(spec.get("sabName") or spec.get("bundleName") or "")
