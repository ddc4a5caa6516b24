"""The metrics of one service: a registry of prometheus_client, by the names of a catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from contracts.metrics import METRICS, Metric

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
BUCKETS_S: Final = (
    *(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5),
    *(1.0, 2.0, 5.0, 10.0, 20.0, 60.0),
)
SERIES_MAX: Final = 5_000

M = TypeVar("M", Counter, Gauge, Histogram)

disable_created_metrics()  # type: ignore[no-untyped-call]
_MAKE: Final[Mapping[str, Callable[[Metric, str, CollectorRegistry], Any]]] = {
    "counter": lambda of, name, to: Counter(name, of.help, of.labels, registry=to),
    "gauge": lambda of, name, to: Gauge(name, of.help, of.labels, registry=to),
    "histogram": lambda of, name, to: Histogram(
        name, of.help, of.labels, registry=to, buckets=BUCKETS_S
    ),
}


class Metrics:
    """A registry; a metric is exposed from its first use on.

    Raises KeyError for a name that the catalogue lacks, ValueError for other labels than it has.
    Beyond `SERIES_MAX` series new ones are not kept.
    """

    def __init__(self, catalogue: Mapping[str, Metric] = METRICS) -> None:
        self._catalogue = catalogue
        self._registry = CollectorRegistry()
        self._found: dict[str, Counter | Gauge | Histogram] = {}
        self._series: set[tuple[str, tuple[tuple[str, str], ...]]] = set()

    def add_process(self) -> None:
        """Expose CPU time, memory, open files and the version of Python, too."""
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)

    def count(self, name: str, /, amount: float = 1, **labels: str) -> None:
        """Increment a counter."""
        if self._has_room(name, labels):
            counter = self._of(name, Counter)
            (counter.labels(**labels) if labels else counter).inc(amount)

    def set_gauge(self, name: str, value: float, /, **labels: str) -> None:
        """Set a gauge."""
        if self._has_room(name, labels):
            gauge = self._of(name, Gauge)
            (gauge.labels(**labels) if labels else gauge).set(value)

    def observe(self, name: str, value: float, /, **labels: str) -> None:
        """Add one observation (seconds) to a histogram."""
        if self._has_room(name, labels):
            histogram = self._of(name, Histogram)
            (histogram.labels(**labels) if labels else histogram).observe(value)

    def value(self, name: str, /, **labels: str) -> float:
        """The value of a counter or gauge, 0 if it was never used."""
        return self._registry.get_sample_value(name, labels) or 0.0

    def text(self) -> str:
        """Everything in the text format of Prometheus."""
        return generate_latest(self._registry).decode()

    def _of(self, name: str, type_: type[M]) -> M:
        found = self._found.get(name)
        if found is None:
            metric = self._catalogue[name]
            found = self._found[name] = _MAKE[metric.type](metric, name, self._registry)
        assert isinstance(found, type_), f"{name} is a {self._catalogue[name].type}"
        return found

    def _has_room(self, name: str, labels: Mapping[str, str]) -> bool:
        series = (name, tuple(labels.items()))
        if series not in self._series:
            if len(self._series) >= SERIES_MAX:
                return False
            self._series.add(series)
        return True
