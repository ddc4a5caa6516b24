"""Counters, gauges and histograms of one service, printed in Prometheus' text format."""

from __future__ import annotations

from bisect import bisect_left

Labels = tuple[tuple[str, str], ...]

BUCKETS_S = (
    *(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5),
    *(1.0, 2.0, 5.0, 10.0, 20.0, 60.0),
)
SERIES_MAX = 5_000


class Metrics:
    """A registry; a metric exists from its first use on.

    Labels are for small sets (kinds, outcomes), never for names of objects: beyond `SERIES_MAX`
    series new ones are not kept.
    """

    def __init__(self) -> None:
        self._counters: dict[str, dict[Labels, float]] = {}
        self._gauges: dict[str, dict[Labels, float]] = {}
        self._histograms: dict[str, dict[Labels, _Histogram]] = {}
        self._series = 0

    def count(self, name: str, /, amount: float = 1, **labels: str) -> None:
        """Raise a counter."""
        series = self._counters.setdefault(name, {})
        key = tuple(sorted(labels.items()))
        if self._has_room(key in series):
            series[key] = series.get(key, 0) + amount

    def set_gauge(self, name: str, value: float, /, **labels: str) -> None:
        """Set a gauge."""
        series = self._gauges.setdefault(name, {})
        key = tuple(sorted(labels.items()))
        if self._has_room(key in series):
            series[key] = value

    def observe(self, name: str, value: float, /, **labels: str) -> None:
        """Add one observation (seconds) to a histogram."""
        series = self._histograms.setdefault(name, {})
        key = tuple(sorted(labels.items()))
        if self._has_room(key in series):
            series.setdefault(key, _Histogram()).add(value)

    def value(self, name: str, /, **labels: str) -> float:
        """The value of a counter or gauge, 0 if it was never used."""
        key = tuple(sorted(labels.items()))
        series = self._counters.get(name) or self._gauges.get(name) or {}
        return series.get(key, 0)

    def text(self) -> str:
        """Everything in Prometheus' text format."""
        lines: list[str] = []
        for kind, metrics in (("counter", self._counters), ("gauge", self._gauges)):
            for name in sorted(metrics):
                lines.append(f"# TYPE {name} {kind}")
                lines += [
                    f"{name}{_in_braces(key)} {value:g}"
                    for key, value in sorted(metrics[name].items())
                ]
        for name in sorted(self._histograms):
            lines.append(f"# TYPE {name} histogram")
            for key, histogram in sorted(self._histograms[name].items()):
                lines += histogram.lines(name, key)
        return "\n".join(lines) + "\n"

    def _has_room(self, known: bool) -> bool:
        if known:
            return True
        if self._series >= SERIES_MAX:
            return False
        self._series += 1
        return True


class _Histogram:
    def __init__(self) -> None:
        self._counts = [0] * (len(BUCKETS_S) + 1)
        self._sum = 0.0

    def add(self, value: float) -> None:
        self._counts[bisect_left(BUCKETS_S, value)] += 1
        self._sum += value

    def lines(self, name: str, labels: Labels) -> list[str]:
        """Prometheus wants counts that include the lower buckets."""
        lines: list[str] = []
        total = 0
        for bound, count in zip((*BUCKETS_S, "+Inf"), self._counts, strict=True):
            total += count
            lines.append(f"{name}_bucket{_in_braces((*labels, ('le', str(bound))))} {total}")
        lines.append(f"{name}_sum{_in_braces(labels)} {self._sum:g}")
        lines.append(f"{name}_count{_in_braces(labels)} {total}")
        return lines


def _in_braces(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{key}="{_escaped(value)}"' for key, value in labels) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
