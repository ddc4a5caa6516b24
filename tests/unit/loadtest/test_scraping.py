"""Figures that the benchmark reads from the metrics of services."""

from __future__ import annotations

import pytest

from loadtest.scraping import Reading, merged, samples_of, times_in, writes_in
from services.chassis.process.metrics import Metrics


def test_writes_are_counted_without_reads_and_leases() -> None:
    metrics = Metrics()
    for verb, resource, code in [
        ("POST", "pods", "201"),
        ("POST", "pods", "409"),
        ("PATCH", "streamspes/status", "200"),
        ("DELETECOLLECTION", "pods", "200"),
        ("GET", "pods", "200"),
        ("PATCH", "leases", "200"),
    ]:
        metrics.count("millrace_api_requests_total", verb=verb, resource=resource, code=code)
    assert writes_in(samples_of(metrics.text(), "a")) == 4


def test_a_step_is_what_was_counted_since_it_began() -> None:
    metrics = Metrics()
    metrics.count("millrace_api_requests_total", 5, verb="POST", resource="pods", code="201")
    before = Reading(samples_of(metrics.text(), "a"), {"a": 1.5})
    metrics.count("millrace_api_requests_total", 2, verb="POST", resource="pods", code="201")
    took = Reading(samples_of(metrics.text(), "a"), {"a": 4.0}).since(before)
    assert took.writes == 2
    assert took.cpu_s == {"a": 2.5}


def test_percentiles_are_interpolated_in_their_bucket() -> None:
    """90 observations between 1 and 2 ms, 10 between 0.1 and 0.2 s."""
    metrics = Metrics()
    for value in [0.0015] * 90 + [0.15] * 10:
        metrics.observe("millrace_stage_seconds", value, stage="read")
    times = times_in(samples_of(metrics.text(), "a"), "millrace_stage_seconds", "stage")["read a"]
    assert times.count == 100
    assert times.mean_s == pytest.approx(0.01635)
    assert times.percentile_s(0.45) == pytest.approx(0.0015)
    assert times.percentile_s(0.95) == pytest.approx(0.15)


def test_services_are_kept_apart_and_runs_are_added_up() -> None:
    metrics = Metrics()
    metrics.observe("millrace_stage_seconds", 0.1, stage="read")
    samples = merged([samples_of(metrics.text(), name) for name in ("a", "b", "b")])
    counts = {
        name: times.count
        for name, times in times_in(samples, "millrace_stage_seconds", "stage").items()
    }
    assert counts == {"read a": 1, "read b": 2}
