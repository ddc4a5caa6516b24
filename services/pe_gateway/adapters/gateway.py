"""Answers requests of PEs from the table; writes are effects that `carry_out.py` carries out.

A request that reads costs the API server nothing, but for the review of a token that nobody has
seen for a minute and for AADLs that `/api/state` shows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from contracts.resources import Connectivity
from contracts.unreadable import ObjectUnreadable
from services.chassis.process.errors import NotAllowed, Rejected, Superseded, Transient
from services.chassis.running.wiring import Wiring
from services.pe_gateway.adapters.bundle_files import BundleFiles
from services.pe_gateway.adapters.bundle_requests import BundleRequests
from services.pe_gateway.adapters.carry_out import CarryOut
from services.pe_gateway.adapters.contents import Contents
from services.pe_gateway.adapters.lookups import Lookups
from services.pe_gateway.adapters.reporting import Reports
from services.pe_gateway.adapters.reviewing import Tokens
from services.pe_gateway.adapters.runtime_answers import RuntimeAnswers
from services.pe_gateway.adapters.watching import Watching
from services.pe_gateway.core import answers, endpoints, requests, widths
from services.pe_gateway.core.answers import Answer, Refused, bad_request, not_found, unavailable
from services.pe_gateway.core.effects import Effect
from services.pe_gateway.core.endpoints import host_of, ports_of
from services.pe_gateway.core.requests import request_of
from services.pe_gateway.core.runtime_requests import ReadBundle, ReadRuntime, ReportRuntime
from services.pe_gateway.core.snapshot import Report
from services.pe_gateway.core.trusting import (
    Departed,
    Sender,
    anonymous_sender,
    require_newest,
    require_own,
    require_own_job,
    token_in,
    token_required,
)
from services.pe_gateway.settings import PeGatewaySettings

WRITES_MAX: Final = 5
"""How often a write is decided on again because its object changed."""
NO_BROKER: Final = "exported and imported streams of running jobs are not connected yet"


def _nothing() -> None:
    """Nobody waits for it."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it came in; `authorization`, `host` and `if_none_match` are headers.

    `on_known` is called as soon as it is known that a PE sends it.
    """

    method: str
    path: str
    body: bytes = b""
    authorization: str = ""
    host: str = ""
    query: str = ""
    if_none_match: str = ""
    on_known: Callable[[], object] = field(default=_nothing, compare=False)


class Gateway:
    """The answers of one instance."""

    def __init__(
        self,
        wiring: Wiring,
        settings: PeGatewaySettings,
        reports: Reports,
        carry_out: CarryOut,
        watching: Watching,
    ) -> None:
        runtime = wiring.runtime
        self._clock = runtime.clock
        self._metrics = runtime.metrics
        self._namespaces = runtime.namespaces
        self._anonymous = settings.anonymous
        self._table = Lookups(wiring.table)
        self._tokens = Tokens(runtime.kube, runtime.clock, settings.token_audience)
        self._contents = Contents(runtime.kube)
        self._reports = reports
        self._carry_out = carry_out
        self._endpoints_change = asyncio.Lock()
        bundles = BundleFiles(settings.bundle_store, settings.bundle_root)
        self.bundle_requests = BundleRequests(wiring, settings, bundles, carry_out)
        ours = RuntimeAnswers(self._table, runtime.clock, reports, watching, bundles, self._write)
        self._runtime = ours
        self._answers: Mapping[type, Callable[[Sender, Any], Awaitable[Answer]]] = {
            ReadRuntime: ours.read,
            ReportRuntime: ours.report,
            ReadBundle: ours.bundle,
            requests.ReadState: self._read_state,
            requests.FindJobName: self._find_job_name,
            requests.ReadConnectivity: self._read_connectivity,
            requests.ReportConnectivity: self._report,
            requests.ReadWidth: self._read_width,
            requests.RequestWidth: self._request_width,
            requests.ReadPorts: self._read_ports,
            requests.FindEndpoint: self._find_endpoint,
            requests.AddEndpoint: self._add_endpoint,
            requests.RemoveEndpoint: self._remove_endpoint,
            requests.ReadSubscriptions: self._read_subscriptions,
            requests.UsePort: self._use_port,
        }

    async def answer(self, sent: Sent) -> Answer:
        """The answer to a request, whatever it is."""
        what = "unknown"
        try:
            request = request_of(sent.method, sent.path, sent.body, sent.query)
            what = type(request).__name__
            answer = await self._answer(await self._sender_of(sent), request)
            if answer.etag and answer.etag in sent.if_none_match:
                answer = answers.unchanged(answer.etag)
        except Refused as refused:
            answer = refused.answer()
        except ObjectUnreadable as problem:
            answer = unavailable(f"an object cannot be read: {problem}").answer()
        self._metrics.count("pe_gateway_requests_total", request=what, code=str(int(answer.status)))
        return answer

    async def _answer(self, sender: Sender | Departed, request: object) -> Answer:
        if isinstance(sender, Departed):
            return await self._runtime.of_departed(sender, request)
        if not isinstance(request, ReadRuntime | ReportRuntime | ReadBundle):
            require_newest(sender)
        return await self._answers[type(request)](sender, request)

    async def _sender_of(self, sent: Sent) -> Sender | Departed:
        """Who sends a request; a token counts also where none is needed."""
        token = token_in(sent.authorization)
        if token:
            sender = self._table.sender(await self._tokens.owner_of(token))
            sent.on_known()
            return sender
        if not self._anonymous:
            raise token_required()
        sent.on_known()
        return anonymous_sender(sent.host, self._namespaces)

    async def _write(self, namespace: str, decide: Callable[[], Effect | None]) -> Answer:
        """Carry out what is decided on the newest objects; 204 when it is done."""
        for _ in range(WRITES_MAX):
            effect = decide()
            if effect is None:
                return answers.done()
            try:
                await self._carry_out.run(namespace, effect)
            except Superseded:
                continue
            except NotAllowed as problem:
                raise unavailable(f"the API server refused it: {problem.message}") from problem
            except Rejected as problem:
                raise bad_request(f"the API server refused it: {problem.message}") from problem
            except Transient as problem:
                raise unavailable(f"the API server does not answer: {problem}") from problem
            return answers.done()
        raise unavailable("the object changes all the time")

    # ------------------------------------------------------------------ state

    async def _read_state(self, sender: Sender, _request: requests.ReadState) -> Answer:
        from services.pe_gateway.core.outlines import PeOutline
        from services.pe_gateway.core.state_xml import JobState, state_xml

        found = []
        for job in self._table.jobs(sender.namespace):
            pes = self._table.pes(sender.namespace, job.name)
            outlines = await self._contents.outlines(pes)
            found.append(
                JobState(
                    job.id,
                    job.name,
                    self._table.application(sender.namespace, job.name),
                    self._table.region_names(sender.namespace, job.name),
                    {pe.id: outlines.get(pe.name, PeOutline()) for pe in pes},
                )
            )
        return answers.xml(state_xml(sender.namespace, found))

    async def _find_job_name(self, sender: Sender, request: requests.FindJobName) -> Answer:
        return answers.text(self._table.job_name(sender.namespace, request.job_id))

    async def _read_connectivity(
        self, sender: Sender, request: requests.ReadConnectivity
    ) -> Answer:
        pe = self._table.pe(sender.namespace, request.job, request.pe)
        return answers.json(pe.connectivity or Connectivity.NONE.value)

    async def _report(self, sender: Sender, request: requests.ReportConnectivity) -> Answer:
        """A report that every connection is up is answered when it is in the status."""
        pe = self._table.pe(sender.namespace, request.job, request.pe)
        require_own(sender, pe)
        is_of_this = sender.launch in (0, pe.launch)
        before = pe.connectivity if is_of_this else ""
        report = Report(pe.uid, request.connectivity, sender.launch, before, self._clock.now())
        self._reports.enter(pe, report)
        if request.connectivity is Connectivity.FULL:
            await self._reports.recorded(pe.key)
        return answers.done()

    async def _read_width(self, sender: Sender, request: requests.ReadWidth) -> Answer:
        region = self._table.region(sender.namespace, request.job, request.alias)
        if region is None:
            raise not_found(f"job {request.job} has no parallel region {request.alias[:80]!r}")
        return answers.json(region.width)

    async def _request_width(self, sender: Sender, request: requests.RequestWidth) -> Answer:
        require_own_job(sender, request.job)

        def decide() -> Effect | None:
            region = self._table.region(sender.namespace, request.job, request.alias)
            if region is None:
                raise bad_request(f"job {request.job} has no region {request.alias[:80]!r}")
            return widths.requested(request, region)

        return await self._write(sender.namespace, decide)

    # ------------------------------------------------------------------ endpoints

    async def _read_ports(self, sender: Sender, request: requests.ReadPorts) -> Answer:
        pe = self._table.pe(sender.namespace, request.job, request.pe)
        service = self._table.service(pe)
        outline = (await self._contents.outlines([pe])).get(pe.name)
        return answers.json(ports_of(service, pe.id, outline.inputs if outline else ()))

    async def _find_endpoint(self, sender: Sender, request: requests.FindEndpoint) -> Answer:
        self._table.require_job(sender.namespace, request.job)
        services = self._table.services(sender.namespace, request.job)
        known = self._table.known_pes(sender.namespace, services)
        for service in services:
            for each in service.endpoints:
                if each.name == request.name and (service.job, each.pe) in known:
                    name = host_of(service, each.pe)
                    found = {"canonicalName": name, "port": each.port, "protocol": each.protocol}
                    return answers.json(found)
        raise not_found(f"job {request.job} has no endpoint {request.name[:80]!r}")

    async def _add_endpoint(self, sender: Sender, request: requests.AddEndpoint) -> Answer:
        pe = self._table.pe(sender.namespace, request.job, request.pe)
        require_own(sender, pe)

        def decide() -> Effect | None:
            service = self._table.service(pe)
            others = [
                each
                for each in self._table.services(sender.namespace)
                if each.scope == service.scope
            ]
            known = self._table.known_pes(sender.namespace, others)
            return endpoints.added(request, service, others, known)

        async with self._endpoints_change:
            return await self._write(sender.namespace, decide)

    async def _remove_endpoint(self, sender: Sender, request: requests.RemoveEndpoint) -> Answer:
        pe = self._table.pe(sender.namespace, request.job, request.pe)
        require_own(sender, pe)
        async with self._endpoints_change:
            return await self._write(
                sender.namespace, lambda: endpoints.removed(request, self._table.service(pe))
            )

    # ------------------------------------------------------------------ subscriptions

    async def _read_subscriptions(
        self, sender: Sender, request: requests.ReadSubscriptions
    ) -> Answer:
        pe = self._table.pe(sender.namespace, request.job, request.pe)
        raise not_found(f"{pe.name} has no exports and imports that are matched")

    async def _use_port(self, sender: Sender, request: requests.UsePort) -> Answer:
        pe = self._table.pe(sender.namespace, request.job, request.pe)
        if request.is_change:
            require_own(sender, pe)
            raise bad_request(f"{request.side} {request.port} of {pe.name}: {NO_BROKER}")
        raise not_found(f"{request.side} {request.port} of {pe.name}: {NO_BROKER}")
