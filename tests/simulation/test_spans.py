"""A collector gets one trace for each action of a person, over all services that act on it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from contracts.envelope import from_headers, root_span_id
from services.chassis.process.metrics import Metrics
from services.chassis.process.span_export import SpanExport, TracingSettings
from services.chassis.process.spans import Span
from tests.collecting import SentSpan, collecting
from tests.simulation.applications import submit_example
from tests.simulation.world import World, simulate

SERVICES = {"watch-ingest", "fusion-backend", "pod-state-machine"}


async def received(spans: list[tuple[str, Span]]) -> list[SentSpan]:
    """What a collector gets of the spans of each service."""
    async with collecting() as collector:
        settings = TracingSettings(exporter_otlp_endpoint=collector.url)
        for service in {name for name, _ in spans}:
            export = SpanExport(settings, {"service.name": service}, Metrics())
            for name, span in spans:
                if name == service:
                    export.add(span)
            await export.stop(asyncio.create_task(export.run()))
    return collector.spans


def resized(folder: Path) -> tuple[list[SentSpan], set[str]]:
    """The spans of a submission and a resize, and the traces of the facts about pods."""
    spans: list[tuple[str, Span]] = []
    traces: set[str] = set()

    async def test(world: World) -> None:
        world.add_span = lambda service, span: spans.append((service, span))
        world.start()
        await world.settle()
        submit_example(world, "j", width=2)
        await world.until("running", lambda: world.is_running("j"))
        await world.settle()
        world.resize("j", "Counted", 3)
        await world.until("resized", lambda: world.is_running("j"))
        await world.settle()
        facts = [from_headers(each.headers) for each in await world.facts()]
        traces.update(each.trace_id for each in facts if each.subject.startswith("Pod/"))

    simulate(folder, test)
    found = asyncio.run(received(spans))
    assert len(found) == len(spans)
    return found, traces


def test_a_resize_is_one_trace_from_the_width_to_pods_that_run(tmp_path: Path) -> None:
    found, traces = resized(tmp_path)
    roots = {each["name"]: each for each in found if not each["parentSpanId"]}
    assert roots.keys() == {"change of Job", "change of ParallelRegion"}
    resize = roots["change of ParallelRegion"]
    assert resize["spanId"] == root_span_id(resize["traceId"])
    assert resize["traceId"] in traces  # that of the facts about its pods, by their headers
    trace = [each for each in found if each["traceId"] == resize["traceId"]]
    assert {each["service"] for each in trace} == SERVICES
    ids = [each["spanId"] for each in trace]
    assert len(ids) == len(set(ids))
    assert {each["parentSpanId"] for each in trace} - {""} <= set(ids)
    for each in trace:
        assert int(each["startTimeUnixNano"]) <= int(each["endTimeUnixNano"])
        assert each["attributes"]["job"] == "j"
    launches = [each for each in trace if each["name"] == "launch"]
    assert {each["attributes"]["pe"] for each in launches} == {"j-1", "j-2", "j-3", "j-5", "j-6"}
    by_id = {each["spanId"]: each for each in trace}
    for launch in launches:
        decided = by_id[launch["parentSpanId"]]
        assert decided["name"] == "decide"
        assert decided["attributes"]["rule.PE"] == "POD_RUNNING"
        assert decided["parentSpanId"] == resize["spanId"]
        assert launch["attributes"]["rule"] == "POD_RUNNING"
        assert int(launch["startTimeUnixNano"]) < int(launch["endTimeUnixNano"])
    created = [each for each in trace if each["name"] == "CreatePod"]
    assert len(created) == len(launches)
    assert {each["attributes"]["outcome"] for each in created} == {"created"}
