"""Reads what the services say of themselves: Prometheus text from /metrics, CPU from /proc.

A `Reading` of all services is a value; the difference of two says what happened in between.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

METRICS_PORT = "MILLRACE_METRICS_PORT"
_SAMPLE = re.compile(r"^(?P<name>\w+)(?:\{(?P<labels>.*)\})? (?P<value>[0-9.e+-]+)$", re.M)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
REQUESTS = "millrace_api_requests_total"
WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE", "DELETECOLLECTION"})
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

Series = tuple[str, tuple[tuple[str, str], ...]]


def samples_of(text: str, service: str) -> Mapping[Series, float]:
    """Every sample of a service's Prometheus text by name and labels, the service among them."""
    samples: defaultdict[Series, float] = defaultdict(float)
    for found in _SAMPLE.finditer(text):
        pairs = [*_LABEL.findall(found["labels"] or ""), ("service", service)]
        labels = tuple(sorted(pairs))
        samples[found["name"], labels] += float(found["value"])
    return samples


def merged(many: Iterable[Mapping[Series, float]]) -> Mapping[Series, float]:
    """Samples added up."""
    total: defaultdict[Series, float] = defaultdict(float)
    for samples in many:
        for series, value in samples.items():
            total[series] += value
    return total


def writes_in(samples: Mapping[Series, float]) -> int:
    """Writes that services counted, Leases excepted."""
    return int(
        sum(
            value
            for (name, labels), value in samples.items()
            if name == REQUESTS
            and dict(labels)["verb"] in WRITES
            and dict(labels)["resource"] != "leases"
        )
    )


@dataclass(frozen=True, slots=True)
class Times:
    """A histogram: counts at most each bound (seconds), and the sum."""

    count: int
    sum_s: float
    at_most: tuple[tuple[float, float], ...]

    @property
    def mean_s(self) -> float:
        """The mean, 0 where nothing was observed."""
        return self.sum_s / self.count if self.count else 0.0

    def percentile_s(self, share: float) -> float:
        """The value below which a share of the observations is, interpolated in its bucket."""
        wanted, below, lower_s = share * self.count, 0.0, 0.0
        for bound_s, count in self.at_most:
            if count >= wanted and count > below:
                if bound_s == float("inf"):
                    return lower_s
                return lower_s + (bound_s - lower_s) * (wanted - below) / (count - below)
            below, lower_s = count, bound_s
        return lower_s


def times_in(samples: Mapping[Series, float], metric: str, label: str) -> dict[str, Times]:
    """The histograms of a metric by the value of a label and the service."""
    bounds: dict[str, defaultdict[float, float]] = {}
    sums: defaultdict[str, float] = defaultdict(float)
    for (name, pairs), value in samples.items():
        labels = dict(pairs)
        series = f"{labels.get(label, '')} {labels['service']}"
        if name == f"{metric}_bucket":
            found = bounds.setdefault(series, defaultdict(float))
            found[float(labels["le"])] += value
        elif name == f"{metric}_sum":
            sums[series] += value
    return {
        each: Times(int(found[float("inf")]), sums[each], tuple(sorted(found.items())))
        for each, found in sorted(bounds.items())
        if found[float("inf")]
    }


@dataclass(frozen=True, slots=True)
class Reading:
    """What services and processes had done at one moment."""

    samples: Mapping[Series, float] = field(default_factory=dict)
    cpu_s: Mapping[str, float] = field(default_factory=dict)

    def since(self, before: Reading) -> Reading:
        """What was done since an earlier reading."""
        return Reading(
            {key: value - before.samples.get(key, 0.0) for key, value in self.samples.items()},
            {name: value - before.cpu_s.get(name, 0.0) for name, value in self.cpu_s.items()},
        )

    @property
    def writes(self) -> int:
        """Writes of our services, Leases excepted."""
        return writes_in(self.samples)


def cpu_s_of(pid: int) -> float:
    """CPU seconds of a process and the children that it has waited for; 0 where it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0.0
    fields = text.rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS_PER_S


def cpu_s_with_children(pid: int) -> float:
    """CPU seconds of a process and of its children, those that run and those that have ended."""
    return sum(map(cpu_s_of, (pid, *_children_of(pid))))


def resident_bytes(pid: int) -> int:
    """Memory that a process and its children have resident; 0 where it is gone.

    Pages that they share count for each.
    """
    return sum(map(_resident_bytes_of, (pid, *_children_of(pid))))


def _resident_bytes_of(pid: int) -> int:
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except OSError:
        return 0
    return int(pages) * _PAGE_BYTES


def _children_of(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(each) for each in text.split()]


class Gauges:
    """Where to read: the metrics ports of the services, and processes by name."""

    def __init__(self, ports: Mapping[str, int], processes: Mapping[str, int]) -> None:
        self._ports = ports
        self._processes = {**processes, "benchmark": os.getpid()}

    async def read(self, session: aiohttp.ClientSession) -> Reading:
        """All of them now; a service's workers count as the service."""
        texts = await asyncio.gather(*(_text(session, port) for port in self._ports.values()))
        samples = merged(map(samples_of, texts, self._ports))
        cpu_s: dict[str, float] = {}
        for name, pid in self._processes.items():
            is_service = name in self._ports
            cpu_s[name] = cpu_s_with_children(pid) if is_service else cpu_s_of(pid)
        return Reading(samples, cpu_s)


async def _text(session: aiohttp.ClientSession, port: int) -> str:
    async with session.get(f"http://127.0.0.1:{port}/metrics", ssl=False) as response:
        return await response.text()
