"""Sends spans to an OpenTelemetry collector: OTLP over HTTP, as JSON, in batches.

Nothing waits for it. Spans wait in a bounded queue; what finds no room, and what the collector does
not take, is dropped and counted. At the end of a process the rest gets FLUSH_S.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from itertools import islice
from typing import Any, Final
from urllib.parse import unquote

import aiohttp
import orjson
from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from yarl import URL

from services.chassis.process.log_lines import log_of
from services.chassis.process.metrics import Metrics
from services.chassis.process.spans import Span
from services.chassis.process.tasks import end_tasks

QUEUED_MAX: Final = 20_000
BATCH_MAX: Final = 512
GATHER_S: Final = 1.0
ANSWER_S_MAX: Final = 5.0
FLUSH_S: Final = 2.0
_INTERNAL, _FAILED = 1, 2
_NS: Final = 1_000_000_000
DROPPED: Final = "millrace_spans_dropped_total"
SENT: Final = "millrace_spans_sent_total"


class TracingSettings(BaseSettings):
    """The variables of OpenTelemetry that millrace reads."""

    model_config = SettingsConfigDict(env_prefix="OTEL_", extra="ignore", frozen=True)

    exporter_otlp_endpoint: str = Field(
        default="",
        description="URL of a collector, such as http://collector:4318: spans go to its path "
        "`/v1/traces`; empty: there are none",
    )
    exporter_otlp_traces_endpoint: str = Field(
        default="", description="the whole URL for spans, instead of the one above"
    )
    exporter_otlp_headers: str = Field(
        default="", description="headers of each request, `NAME=VALUE,…`, percent-encoded"
    )

    @field_validator("exporter_otlp_endpoint", "exporter_otlp_traces_endpoint")
    @classmethod
    def is_a_url(cls, value: str) -> str:
        """Refuse early what no request can be sent to."""
        try:
            url = URL(value)
        except ValueError:
            url = URL()
        if value and (url.scheme not in ("http", "https") or not url.host):
            raise ValueError("is not http://HOST:PORT or https://HOST:PORT")
        return value

    @property
    def url(self) -> str:
        """Where spans go; empty: nowhere."""
        if self.exporter_otlp_traces_endpoint or not self.exporter_otlp_endpoint:
            return self.exporter_otlp_traces_endpoint
        return f"{self.exporter_otlp_endpoint.rstrip('/')}/v1/traces"

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a request."""
        pairs = (each.partition("=") for each in self.exporter_otlp_headers.split(",") if each)
        return {name.strip(): unquote(value.strip()) for name, _, value in pairs}


class SpanExport:
    """The spans of one process on their way; `resource` has what all of them share."""

    def __init__(
        self, settings: TracingSettings, resource: Mapping[str, str], metrics: Metrics
    ) -> None:
        self._settings = settings
        self._resource = _attributes(resource)
        self._metrics = metrics
        self._queue: deque[Span] = deque()
        self._news, self._stopping = asyncio.Event(), asyncio.Event()
        self._is_away = False
        self._log = log_of("spans")

    def add(self, span: Span) -> None:
        """Queue a span."""
        if len(self._queue) >= QUEUED_MAX:
            self._metrics.count(DROPPED)
            return
        self._queue.append(span)
        self._news.set()

    async def run(self) -> None:
        """Send what comes until `stop`, and then what is left."""
        async with aiohttp.ClientSession(headers=self._settings.headers) as session:
            while not self._stopping.is_set():
                await self._news.wait()
                self._news.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(GATHER_S):
                        await self._stopping.wait()
                await self._send_all(session)
            await self._send_all(session)

    async def stop(self, running: asyncio.Task[None]) -> None:
        """End `run`; what it has not sent after FLUSH_S is dropped."""
        self._stopping.set()
        self._news.set()
        await asyncio.wait([running], timeout=FLUSH_S)
        await end_tasks([running])
        if self._queue:
            self._metrics.count(DROPPED, len(self._queue))

    async def _send_all(self, session: aiohttp.ClientSession) -> None:
        while self._queue:
            batch = list(islice(self._queue, BATCH_MAX))
            problem = await self._problem_of(session, batch)
            for _ in batch:
                self._queue.popleft()
            self._metrics.count(DROPPED if problem else SENT, len(batch))
            if problem and not self._is_away:
                self._log.warning("spans_dropped", url=self._settings.url, problem=problem)
            self._is_away = bool(problem)

    async def _problem_of(self, session: aiohttp.ClientSession, batch: list[Span]) -> str:
        """Why the collector did not take a batch; empty: it did."""
        body = orjson.dumps(document_of(batch, self._resource))
        limit = aiohttp.ClientTimeout(total=ANSWER_S_MAX)
        headers = {"content-type": "application/json"}
        try:
            async with session.post(
                self._settings.url, data=body, headers=headers, timeout=limit
            ) as answer:
                return "" if answer.status < 300 else f"HTTP {answer.status}"
        except TimeoutError:
            return f"no answer in {ANSWER_S_MAX:g} s"
        except (aiohttp.ClientError, OSError) as problem:
            return str(problem) or type(problem).__name__


@asynccontextmanager
async def exporting(
    settings: TracingSettings, resource: Mapping[str, str], metrics: Metrics
) -> AsyncIterator[SpanExport | None]:
    """An export that runs inside of the block; None where no endpoint is set."""
    if not settings.url:
        yield None
        return
    export = SpanExport(settings, resource, metrics)
    running = asyncio.create_task(export.run())
    try:
        yield export
    finally:
        await export.stop(running)


def document_of(spans: list[Span], resource: list[dict[str, Any]]) -> dict[str, Any]:
    """The body of a request: ExportTraceServiceRequest in the JSON of OTLP."""
    scope = {"scope": {"name": "millrace"}, "spans": [_span(each) for each in spans]}
    return {"resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": [scope]}]}


def _span(span: Span) -> dict[str, Any]:
    status = {"code": _FAILED, "message": span.problem} if span.problem else {}
    return {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "parentSpanId": span.parent_id,
        "name": span.name,
        "kind": _INTERNAL,
        "startTimeUnixNano": str(int(span.began_s * _NS)),
        "endTimeUnixNano": str(int(max(span.began_s, span.ended_s) * _NS)),
        "attributes": _attributes(span.attributes),
        "status": status,
    }


def _attributes(values: Mapping[str, str | int | float]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: str | float) -> dict[str, Any]:
    if isinstance(value, str):
        return {"stringValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"doubleValue": value}
