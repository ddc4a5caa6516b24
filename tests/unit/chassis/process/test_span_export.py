"""Spans go to a collector in batches; nothing waits for one that is away or slow."""

from __future__ import annotations

import asyncio
import time

import pytest
from pydantic import ValidationError

from services.chassis.process import span_export
from services.chassis.process.metrics import Metrics
from services.chassis.process.span_export import (
    DROPPED,
    SENT,
    SpanExport,
    TracingSettings,
    exporting,
)
from services.chassis.process.spans import Span
from tests.collecting import collecting
from tests.patience import patient


def a_span(number: int = 0, problem: str = "") -> Span:
    return Span("CreatePod", "ab" * 16, f"{number:016x}", "cd" * 8, 1.5, 2.0, {"n": 1}, problem)


def export_to(url: str, metrics: Metrics) -> SpanExport:
    settings = TracingSettings(exporter_otlp_endpoint=url)
    return SpanExport(settings, {"service.name": "small"}, metrics)


async def sent_by(export: SpanExport) -> None:
    """Send what is queued, as at the end of a process."""
    await export.stop(asyncio.create_task(export.run()))


async def test_a_span_arrives_with_its_times_and_its_problem() -> None:
    metrics = Metrics()
    async with collecting() as collector:
        export = export_to(collector.url, metrics)
        export.add(a_span(problem="rejected"))
        await sent_by(export)
    [span] = collector.spans
    assert (span["startTimeUnixNano"], span["endTimeUnixNano"]) == ("1500000000", "2000000000")
    assert span["status"] == {"code": 2, "message": "rejected"}
    assert (span["service"], span["attributes"]) == ("small", {"n": "1"})
    assert metrics.value(SENT) == 1


async def test_spans_are_sent_while_the_process_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(span_export, "GATHER_S", 0.01)
    async with collecting() as collector:
        settings = TracingSettings(exporter_otlp_endpoint=f"{collector.url}/")
        async with exporting(settings, {"service.name": "small"}, Metrics()) as export:
            assert export is not None
            export.add(a_span())
            await collector.news.wait()
    assert len(collector.spans) == 1


async def test_what_a_collector_refuses_is_dropped_and_counted() -> None:
    metrics = Metrics()
    async with collecting() as collector:
        collector.answers = 503
        export = export_to(collector.url, metrics)
        for number in range(3):
            export.add(a_span(number))
        await sent_by(export)
    assert (metrics.value(DROPPED), metrics.value(SENT)) == (3, 0)


async def test_a_collector_that_is_away_costs_what_is_sent_to_it() -> None:
    metrics = Metrics()
    export = export_to("http://127.0.0.1:9", metrics)
    export.add(a_span())
    await sent_by(export)
    assert metrics.value(DROPPED) == 1


async def test_the_end_of_a_process_waits_for_no_slow_collector(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(span_export, "FLUSH_S", 0.05)
    metrics = Metrics()
    async with collecting() as collector:
        collector.delay_s = patient(5.0)
        export = export_to(collector.url, metrics)
        export.add(a_span())
        began_s = time.monotonic()
        await sent_by(export)
        assert time.monotonic() - began_s < patient(2.0)
    assert metrics.value(DROPPED) == 1


def test_the_queue_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(span_export, "QUEUED_MAX", 2)
    metrics = Metrics()
    export = export_to("http://127.0.0.1:9", metrics)
    for number in range(5):
        export.add(a_span(number))
    assert metrics.value(DROPPED) == 3


async def test_without_an_endpoint_there_is_no_export() -> None:
    async with exporting(TracingSettings(), {}, Metrics()) as export:
        assert export is None


def test_the_variables_are_those_of_opentelemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4318/base/")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x, team=a")
    settings = TracingSettings()
    assert settings.url == "https://collector:4318/base/v1/traces"
    assert settings.headers == {"authorization": "Bearer x", "team": "a"}
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://other/spans")
    assert TracingSettings().url == "http://other/spans"


@pytest.mark.parametrize("url", ["collector:4318", "grpc://collector:4317", "http://"])
def test_an_endpoint_that_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="is not http://HOST:PORT"):
        TracingSettings(exporter_otlp_endpoint=url)
