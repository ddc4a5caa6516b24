"""Counters, gauges and histograms of one service, printed in Prometheus' text format."""

from __future__ import annotations


class Metrics:
    """A registry; a metric exists from its first use on."""

    def count(self, name: str, amount: float = 1, **labels: str) -> None:
        """Raise a counter."""
        raise NotImplementedError

    def set_gauge(self, name: str, value: float, **labels: str) -> None:
        """Set a gauge."""
        raise NotImplementedError

    def observe(self, name: str, value: float, **labels: str) -> None:
        """Add one observation (seconds) to a histogram."""
        raise NotImplementedError

    def value(self, name: str, **labels: str) -> float:
        """The value of a counter or gauge, 0 if it was never used."""
        raise NotImplementedError

    def text(self) -> str:
        """Everything in Prometheus' text format."""
        raise NotImplementedError
