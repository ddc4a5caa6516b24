"""Metrics of a PE: the names, kinds and labels of the original, read when they are scraped."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from aiohttp import ClientSession
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from millrace.runtime.endings import PortInUse
from millrace.runtime.metrics import (
    Connection,
    Custom,
    MetricsServer,
    OperatorInput,
    OperatorOutput,
    PeCollector,
    PeInput,
    PeOutput,
    Snapshot,
    exposition,
)

SNAPSHOT = Snapshot(
    inputs=(PeInput(0, tuples_processed=5, tuple_bytes_processed=50),),
    outputs=(
        PeOutput(1, tuples_submitted=7, connections=(Connection(3, 0, congestion_factor=40),)),
        PeOutput(2),
    ),
    operator_inputs=(OperatorInput(4, "Counted[1]", "Counted", 0, tuples_dropped=2, queue_size=8),),
    operator_outputs=(OperatorOutput(4, "Counted[1]", "Counted", 0, tuples_submitted=9),),
    custom=(Custom("nOrders", "Counted[1]", "Counter", 3), Custom("age", "Counted[1]", "Gauge", 1)),
    relative_costs={"Counted[1]": 12},
    lost={"Killed": 17},
    skipped={"Counted[1]": 2},
    refused={"Sealed": 1},
    hand_over_s=0.5,
    checkpoint_s=0.25,
    checkpoint_bytes=1024,
    waiting_bytes={"Counted[1]": 2048, "output port 1": 512},
)


def text(snapshot: Snapshot = SNAPSHOT) -> str:
    return exposition(PeCollector("shop", 4, lambda: snapshot).collect()).decode()


SPECIFIED = """
pe_input_n_tuples_processed counter
pe_input_n_tuple_bytes_processed counter
pe_input_n_window_puncts_processed counter
pe_input_n_final_puncts_processed counter
pe_output_n_tuples_submitted counter
pe_output_n_tuple_bytes_submitted counter
pe_output_n_window_puncts_submitted counter
pe_output_n_final_puncts_submitted counter
pe_output_n_broken_connections counter
pe_output_n_tuples_transmitted counter
pe_output_n_tuple_bytes_transmitted counter
pe_output_n_required_connecting gauge
pe_output_n_optional_connecting gauge
pe_output_n_connections gauge
pe_output_congestion_factor gauge
pe_n_tuples_filtered_out counter
op_input_n_tuples_processed counter
op_input_n_tuples_dropped counter
op_input_n_window_puncts_processed counter
op_input_n_final_puncts_processed counter
op_input_n_enqueue_waits counter
op_input_n_tuples_queued gauge
op_input_n_window_puncts_queued gauge
op_input_n_final_puncts_queued gauge
op_input_queue_size gauge
op_input_max_items_queued gauge
op_input_recent_max_items_queued gauge
op_input_recent_max_items_queued_interval gauge
op_output_n_tuples_submitted counter
op_output_n_window_puncts_submitted counter
op_output_n_final_puncts_submitted counter
op_system_relative_operator_cost gauge
"""


def test_names_and_kinds_are_those_of_the_original_and_ours() -> None:
    kinds = dict(
        line.removeprefix("# TYPE ").split()
        for line in text().splitlines()
        if line.startswith("# TYPE ")
    )
    expected = dict(line.split() for line in SPECIFIED.strip().splitlines())
    ours = {
        "millrace_tuples_lost_total": "counter",
        "millrace_tuples_skipped_total": "counter",
        "millrace_reports_refused_total": "counter",
        "millrace_hand_over_seconds": "gauge",
        "millrace_checkpoint_seconds": "gauge",
        "millrace_checkpoint_bytes": "gauge",
        "millrace_waiting_bytes": "gauge",
    }
    assert kinds == expected | ours | {"nOrders": "counter", "age": "gauge"}


@pytest.mark.parametrize(
    "line",
    [
        'pe_input_n_tuples_processed{job="shop",pe="4",pe_port="0"} 5.0',
        'pe_output_n_tuples_submitted{job="shop",pe="4",pe_port="1"} 7.0',
        'pe_output_n_connections{job="shop",pe="4",pe_port="1"} 1.0',
        'pe_output_n_connections{job="shop",pe="4",pe_port="2"} 0.0',
        'pe_output_congestion_factor{connection="(3:0)",job="shop",pe="4",pe_port="1"} 40.0',
        'op_input_n_tuples_dropped{job="shop",logical_name="Counted",name="Counted[1]",op="4",'
        'op_port="0",pe="4"} 2.0',
        'op_input_queue_size{job="shop",logical_name="Counted",name="Counted[1]",op="4",'
        'op_port="0",pe="4"} 8.0',
        'op_system_relative_operator_cost{job="shop",name="Counted[1]",pe="4"} 12.0',
        'nOrders{job="shop",name="Counted[1]",pe="4"} 3.0',
        'millrace_tuples_lost_total{cause="Killed",job="shop",pe="4"} 17.0',
        'millrace_checkpoint_bytes{job="shop",pe="4"} 1024.0',
        'millrace_waiting_bytes{job="shop",name="Counted[1]",pe="4"} 2048.0',
        'millrace_reports_refused_total{job="shop",kind="Sealed",pe="4"} 1.0',
        "# HELP millrace_tuples_lost_total Tuples that were lost, by cause.",
    ],
)
def test_samples_have_the_labels_of_the_original(line: str) -> None:
    assert line in text().splitlines()


def test_all_samples_of_a_name_are_together() -> None:
    assert text().count("# TYPE pe_output_n_tuples_submitted ") == 1
    families = list(text_string_to_metric_families(text()))
    assert len(families) == len({each.name for each in families})


def test_what_never_happened_has_no_metric() -> None:
    assert text(Snapshot()) == ""


def test_metrics_of_the_application_do_not_disturb_others() -> None:
    hostile = (
        Custom("pe_input_n_tuples_processed", "A", "Gauge", 1),
        Custom("8 ball\n# TYPE x gauge", 'A"\n\\', "Counter", 2, 'a\n# TYPE "x" gauge \\'),
        Custom("both", "A", "Counter", 3),
        Custom("both", "A", "Gauge", 4),
        Custom("both", "A", "Counter", 5),
        Custom("x_total", "A", "Gauge", 6, "# TYPE x_total_total counter"),
        Custom("y_total", "A", "Time", 7, "y_total "),
        Custom("", "A", "Gauge", float("nan")),
    )
    found = text(replace(SNAPSHOT, custom=hostile))
    assert 'pe_input_n_tuples_processed{job="shop",pe="4",pe_port="0"} 5.0' in found
    assert "custom_gauge_pe_input_n_tuples_processed{" in found
    assert '_8_ball___TYPE_x_gauge{job="shop",name="A\\"\\n\\\\",pe="4"} 2.0' in found
    assert 'both{job="shop",name="A",pe="4"} 3.0' in found
    assert 'custom_gauge_both{job="shop",name="A",pe="4"} 4.0' in found
    assert "} 5.0" not in found.split("both{")[1]
    assert "# TYPE x_total gauge\n" in found
    assert "# TYPE y_total counter\n" in found
    families = list(text_string_to_metric_families(found))
    assert len(families) == len({each.name for each in families})


async def test_metrics_are_read_when_they_are_scraped() -> None:
    reads = 0

    def snapshot() -> Snapshot:
        nonlocal reads
        reads += 1
        return replace(SNAPSHOT, hand_over_s=float(reads))

    server = MetricsServer(PeCollector("shop", 4, snapshot), "127.0.0.1", 0)
    await server.start()
    assert reads == 0
    async with ClientSession(f"http://127.0.0.1:{server.port}") as session:
        for each in (1, 2):
            async with session.get("/metrics") as answer:
                assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
                shown = await answer.text()
                assert f'millrace_hand_over_seconds{{job="shop",pe="4"}} {each}.0' in shown
        async with session.get("/other") as answer:
            assert answer.status == 404
    await server.stop()
    assert reads == 2


async def test_the_text_is_made_outside_of_the_thread_that_counts() -> None:
    threads: dict[str, int] = {}

    class Watched(PeCollector):
        def families(self, snapshot: Snapshot) -> Iterator[Metric]:
            threads["text"] = threading.get_ident()
            return super().families(snapshot)

    def snapshot() -> Snapshot:
        threads["snapshot"] = threading.get_ident()
        return SNAPSHOT

    server = MetricsServer(Watched("shop", 4, snapshot), "127.0.0.1", 0)
    await server.start()
    async with (
        ClientSession(f"http://127.0.0.1:{server.port}") as session,
        session.get("/metrics") as answer,
    ):
        assert answer.status == 200
    await server.stop()
    assert threads["snapshot"] == threading.get_ident() != threads["text"]


async def test_a_snapshot_that_fails_is_an_error_of_the_scrape_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def snapshot() -> Snapshot:
        raise RuntimeError("broken")

    server = MetricsServer(PeCollector("shop", 4, snapshot), "127.0.0.1", 0)
    await server.start()
    async with (
        ClientSession(f"http://127.0.0.1:{server.port}") as session,
        session.get("/metrics") as answer,
    ):
        assert answer.status == 500
    await server.stop()
    assert "broken" in caplog.text


async def test_a_port_that_is_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = MetricsServer(PeCollector("shop", 4, Snapshot), "127.0.0.1", port)
        with pytest.raises(PortInUse, match=f"127.0.0.1:{port} of metrics is in use"):
            await server.start()
        await server.stop()
