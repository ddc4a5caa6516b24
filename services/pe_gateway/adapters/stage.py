"""The stage that the chassis runs: intake, core and carry_out put together, and the answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from services.chassis.running.hosting import Main, stage_main
from services.chassis.running.stage import Decision, EndedWith
from services.chassis.running.wiring import MakeStage, Runtime, Wiring
from services.chassis.table.entries import Change, Index, TableReading
from services.launching.core.pods import launch_ended
from services.pe_gateway.adapters import intake
from services.pe_gateway.adapters.carry_out import CarryOut
from services.pe_gateway.adapters.gateway import Gateway, Sent
from services.pe_gateway.adapters.reading import pe_of
from services.pe_gateway.adapters.redis_serving import ServeBundles, redis_serving
from services.pe_gateway.adapters.reporting import Reports
from services.pe_gateway.adapters.watching import Watching
from services.pe_gateway.core.answers import Answer, unavailable
from services.pe_gateway.core.deciding import decide
from services.pe_gateway.core.effects import Effect, SetReported
from services.pe_gateway.core.snapshot import (
    Key,
    LossesKey,
    LossesSnapshot,
    PeKey,
    PeSnapshot,
)
from services.pe_gateway.service import ROW
from services.pe_gateway.settings import PeGatewaySettings

SERVICE = "pe-gateway"
_UNREADY = unavailable("pe-gateway has not read yet what exists")


class PeGateway:
    """Reports of PEs → the status of PEs; `gateway` answers their requests."""

    name = ROW.name
    kinds = intake.KINDS
    indexes: Mapping[str, Index] = intake.INDEXES

    def __init__(self, wiring: Wiring, settings: PeGatewaySettings) -> None:
        self._table = wiring.table
        self._settle_s = settings.connectivity_settle_s
        self._watching = Watching(wiring.table)
        reports = Reports(wiring.table)
        self._carry_out = CarryOut(wiring.table, wiring.writer, reports)
        self.gateway = Gateway(wiring, settings, reports, self._carry_out, self._watching)

    def keys(self, change: Change, table: TableReading) -> Iterable[Key]:
        """The keys that a change makes dirty; requests that wait for it wake."""
        for entry in change.entries:
            self._watching.note(entry)
            yield from intake.keys_of(entry, table)

    def all_keys(self, table: TableReading) -> Iterable[Key]:
        """Every key, for the reconciliation after a full resync."""
        return intake.all_keys(table)

    def snapshot(self, table: TableReading, key: Key) -> PeSnapshot | LossesSnapshot:
        """Everything that `decide` may look at."""
        if isinstance(key, LossesKey):
            return intake.losses_snapshot_of(table, key)
        return intake.snapshot_of(table, key)

    def decide(self, snapshot: PeSnapshot | LossesSnapshot, now: float) -> Decision[Effect]:
        """The core."""
        return decide(snapshot, now, self._settle_s)

    def fence(self, table: TableReading, key: Key) -> Hashable:
        """The report; a decision on an older one is not carried on.

        What effects on losses take away is what they were decided on, so nothing breaks them: where
        a thousand PEs report at once, none would be carried out.
        """
        return intake.snapshot_of(table, key).report if isinstance(key, PeKey) else None

    async def carry_out(
        self, key: Key, snapshot: PeSnapshot | LossesSnapshot, effect: Effect
    ) -> str:
        """Execute one effect."""
        return await self._carry_out.run(key.namespace, effect)

    def about(self, key: Key, effect: Effect | None) -> Mapping[str, str | int]:
        """The job and the PE of a report."""
        namespace, job = self.subject(key)
        return {"namespace": namespace, "job": job}

    def ended_with(self, key: Key, effect: Effect) -> Sequence[EndedWith]:
        """The launch of a pod, which ends when its PE is recorded as running."""
        if not isinstance(effect, SetReported) or effect.running is None:
            return ()
        return launch_ended(self._table.get(intake.POD, key.namespace, effect.running.pod))

    def subject(self, key: Key) -> tuple[str, str]:
        """(namespace, job) of a PE, or of a Job."""
        if isinstance(key, LossesKey):
            return key.namespace, key.name
        entry = self._table.get(intake.PE, key.namespace, key.name)
        if entry is not None and not entry.unreadable:
            return key.namespace, pe_of(entry).job
        return key.namespace, key.name.rpartition("-")[0]


def stage_maker(settings: PeGatewaySettings) -> MakeStage:
    """A factory of the stage with these settings."""
    return lambda wiring: PeGateway(wiring, settings)


Respond = Callable[[Sent], Awaitable[Answer]]
Serve = Callable[[Respond], AbstractAsyncContextManager[None]]
"""Passes requests on, and their answers back, while the context lasts."""


def gateway_main(
    settings: PeGatewaySettings,
    serve: Serve,
    around: Callable[[MakeStage], MakeStage] = lambda make: make,
    *,
    serve_bundles: ServeBundles | None = None,
) -> Main:
    """The main of the service: the stage, and `serve` for requests; `around` wraps the factory.

    `serve_bundles` is for those who ask for a bundle by its name; None: as the settings say.
    """
    serve_named = serve_bundles or redis_serving(settings.bundle_port, settings.gateway_host)

    async def main(runtime: Runtime) -> None:
        gateways: list[Gateway] = []

        def make(wiring: Wiring) -> PeGateway:
            stage = PeGateway(wiring, settings)
            gateways[:] = [stage.gateway]
            return stage

        async def respond(sent: Sent) -> Answer:
            if not (gateways and runtime.probes.is_ready()):
                return _UNREADY.answer()
            return await gateways[0].answer(sent)

        async def find_bundle(name: str, address: str) -> Answer:
            if not (gateways and runtime.probes.is_ready()):
                return _UNREADY.answer()
            return await gateways[0].bundle_requests.answer(name, address)

        run = stage_main(around(make), settings)
        async with serve(respond), serve_named(find_bundle):
            await run(runtime)

    return main
