"""What a service tells of itself: metrics and log lines."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterator

import pytest
import structlog

from contracts.metrics import METRICS as CATALOGUE
from contracts.metrics import Metric
from services.chassis.process.log_lines import configure, log_of
from services.chassis.process.metrics import BUCKETS_S, SERIES_MAX, Metrics
from services.chassis.process.tracing import Cause, caused_by, current_cause, new_trace_id

METRICS = {
    "seen_total": Metric("counter", "What was seen.", ("kind",)),
    "lag": Metric("gauge", "How late."),
    "took_seconds": Metric("histogram", "How long."),
}


class TestMetrics:
    """The text format of Prometheus, by the names of a catalogue."""

    def test_counters_and_gauges_are_printed_with_help_and_labels(self) -> None:
        metrics = Metrics(METRICS)
        metrics.count("seen_total", kind="Pod")
        metrics.count("seen_total", 2, kind="Pod")
        metrics.set_gauge("lag", 1.5)
        assert metrics.text() == (
            "# HELP seen_total What was seen.\n# TYPE seen_total counter\n"
            'seen_total{kind="Pod"} 3.0\n'
            "# HELP lag How late.\n# TYPE lag gauge\nlag 1.5\n"
        )
        assert metrics.value("seen_total", kind="Pod") == 3
        assert metrics.value("lag") == 1.5
        assert metrics.value("unknown") == 0

    def test_histograms_count_what_is_at_most_each_bound(self) -> None:
        metrics = Metrics(METRICS)
        for value in (0.001, 0.02, 1e9):
            metrics.observe("took_seconds", value)
        lines = metrics.text().splitlines()
        assert 'took_seconds_bucket{le="0.001"} 1.0' in lines
        assert 'took_seconds_bucket{le="0.05"} 2.0' in lines
        assert f'took_seconds_bucket{{le="{BUCKETS_S[-1]}"}} 2.0' in lines
        assert 'took_seconds_bucket{le="+Inf"} 3.0' in lines
        assert "took_seconds_count 3.0" in lines
        assert not [line for line in lines if "_created" in line]

    def test_series_are_bounded(self) -> None:
        metrics = Metrics(METRICS)
        for number in range(SERIES_MAX + 10):
            metrics.count("seen_total", kind=str(number))
        metrics.count("seen_total", kind="0")
        assert len(metrics.text().splitlines()) == SERIES_MAX + len(("HELP", "TYPE"))
        assert metrics.value("seen_total", kind="0") == 2

    def test_a_name_without_a_description_is_not_counted(self) -> None:
        with pytest.raises(KeyError, match="guessed_total"):
            Metrics(METRICS).count("guessed_total")

    def test_a_process_exposes_its_memory_and_its_python(self) -> None:
        metrics = Metrics(METRICS)
        metrics.add_process()
        assert metrics.value("process_resident_memory_bytes") > 0
        assert "python_info{" in metrics.text()

    def test_every_metric_has_a_sentence_and_the_ending_of_its_type(self) -> None:
        endings = {"counter": ("_total",), "histogram": ("_seconds",)}
        assert len(CATALOGUE) > 20
        for name, metric in CATALOGUE.items():
            assert metric.help.endswith("."), name
            assert name.endswith(endings.get(metric.type, ("",))), name


class TestLogLines:
    """One JSON object a line, with the trace it belongs to."""

    @pytest.fixture(autouse=True)
    def as_before(self) -> Iterator[None]:
        yield
        structlog.reset_defaults()
        structlog.contextvars.clear_contextvars()

    def test_a_line_says_who_what_and_because_whose_trace(self) -> None:
        out = io.StringIO()
        configure("probe", "INFO", out)
        log = log_of("reading")
        with caused_by(Cause("event-1", "ab" * 16)):
            log.info("fact_seen", kind="Pod", where=("ns", "a"))
        log.debug("too quiet")
        [line] = out.getvalue().splitlines()
        said = json.loads(line)
        assert said["event"] == "fact_seen"
        assert said["service"] == "probe"
        assert said["part"] == "reading"
        assert said["trace"] == "ab" * 16
        assert said["level"] == "info"

    def test_a_traceback_is_data(self) -> None:
        out = io.StringIO()
        configure("probe", "INFO", out)
        try:
            raise ValueError("bad")
        except ValueError:
            log_of("x").exception("crashed")
        [line] = out.getvalue().splitlines()
        assert json.loads(line)["exception"][0]["exc_type"] == "ValueError"


class TestTracing:
    """A trace goes on from its cause, or begins again."""

    def test_what_has_no_cause_begins_a_trace(self) -> None:
        randomness = random.Random(1)
        assert current_cause() == Cause()
        new = new_trace_id(randomness)
        assert len(new) == 32
        assert int(new, 16) > 0
        assert new != new_trace_id(randomness)

    def test_causes_nest(self) -> None:
        outer, inner = Cause("1", "a"), Cause("2", "b")
        with caused_by(outer):
            with caused_by(inner):
                assert current_cause() == inner
            assert current_cause() == outer
