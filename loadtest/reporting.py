"""The report of a benchmark: medians over runs, ratios against the floor of the same run, JSON.

Seconds are until the last pod is created (submit, resize) or gone (delete). A ratio is the median
of the ratios of the runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from loadtest import counting
from loadtest.counting import Tally
from loadtest.hops import Hops
from loadtest.measuring import Measured
from loadtest.profiles import (
    ORIGINAL_S,
    WRITE_RATIO_AT,
    WRITE_RATIO_MAX,
    Profile,
    resize_floor_writes,
    submit_floor_writes,
)
from loadtest.scraping import Times, merged, times_in

DELETE = "delete"
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


@dataclass(frozen=True, slots=True)
class Row:
    """One run of one step of one size; `measured` is None for the deletion."""

    step: str
    profile: Profile
    seconds: float
    floor_s: float
    measured: Measured | None = None
    floor_cpu_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def floor_writes(self) -> int:
        """The writes that this step needs."""
        if self.measured is None:
            return 0
        if self.step == "submit":
            return submit_floor_writes(self.profile.pes)
        return resize_floor_writes(self.measured.added, self.measured.changed)

    @property
    def write_ratio(self) -> float:
        """Our writes until phase Submitted over the floor's."""
        return self.measured.writes / self.floor_writes if self.measured else 0.0

    def to_json(self) -> dict[str, Any]:
        """The figures of this run."""
        found: dict[str, Any] = {
            "step": self.step,
            "pes": self.profile.pes,
            "bundle": self.profile.application.bundle,
            "seconds": self.seconds,
            "floor_s": self.floor_s,
            "time_ratio": self.seconds / self.floor_s,
        }
        if self.measured is None:
            return found
        took = self.measured.took
        return found | {
            "writes": self.measured.writes,
            "server_writes": self.measured.server_writes,
            "floor_writes": self.floor_writes,
            "write_ratio": self.write_ratio,
            "added": self.measured.added,
            "changed": self.measured.changed,
            "everybody": {
                " ".join(write): count for write, count in self.measured.tally.writes.items()
            },
            "cpu_s": dict(took.cpu_s),
            "floor_cpu_s": dict(self.floor_cpu_s),
            "stages": {name: _summary(times) for name, times in _stages([self]).items()},
        }


def _summary(times: Times) -> dict[str, float]:
    shares = {f"{name}_s": times.percentile_s(share) for name, share in SHARES.items()}
    return {"count": times.count, "mean_s": times.mean_s, **shares}


def _stages(rows: Iterable[Row]) -> dict[str, Times]:
    """Times of the stages, then of the requests by verb."""
    samples = merged(row.measured.took.samples for row in rows if row.measured)
    requests = times_in(samples, "millrace_api_request_seconds", "verb")
    named = {f"request {verb}": times for verb, times in requests.items()}
    return times_in(samples, "millrace_stage_seconds", "stage") | named


def to_json(rows: Sequence[Row], hops: Hops | None) -> dict[str, Any]:
    """The whole benchmark."""
    return {"runs": [row.to_json() for row in rows], "hops_s": asdict(hops) if hops else None}


def render(rows: Iterable[Row], hops: Hops | None = None) -> str:
    """Tables in Markdown, with medians over the runs; stages only if hops were measured."""
    grouped: dict[tuple[int, str], list[Row]] = {}
    for row in rows:
        grouped.setdefault((row.profile.pes, row.step), []).append(row)
    is_real = hops is not None
    parts = [
        _steps_table(grouped, beaten=is_real),
        counting.render(_tallies(grouped)),
        _cpu_table(grouped),
    ]
    if hops is not None:
        parts += [_stages_table(grouped), _hops_table(hops)]
    return "\n\n".join(parts)


Grouped = dict[tuple[int, str], list[Row]]


def _tallies(grouped: Grouped) -> Iterator[tuple[str, int, Tally]]:
    """Step, its new and changed PEs, and everybody's writes."""
    for (_, step), rows in grouped.items():
        for row in rows:
            if row.measured:
                yield step, row.measured.added + row.measured.changed, row.measured.tally


def _steps_table(grouped: Grouped, *, beaten: bool) -> str:
    """`beaten`: with the columns of the original, which was measured on the real pair only."""
    lines = [
        "| step | PEs | seconds | floor s | time ratio | writes | floor | write ratio "
        "| original s | times faster |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (pes, step), rows in grouped.items():
        seconds = median(row.seconds for row in rows)
        floor_s = median(row.floor_s for row in rows)
        ratio = median(row.seconds / row.floor_s for row in rows)
        original_s = ORIGINAL_S.get((step, pes)) if beaten else None
        faster = f"{original_s:g} | {original_s / seconds:.1f}" if original_s else " | "
        lines.append(
            f"| {_named(step, rows)} | {pes} | {seconds:.2f} | {floor_s:.2f} | {ratio:.2f} "
            f"| {_writes(rows)} | {faster} |"
        )
    return "\n".join(lines)


def _named(step: str, rows: list[Row]) -> str:
    measured = rows[0].measured
    if measured is None or step == "submit":
        return step
    return f"{step} (+{measured.added}, {measured.changed} changed)"


def _writes(rows: list[Row]) -> str:
    counted = [row.measured.writes for row in rows if row.measured]
    if not counted:
        return " | | "
    floor = median(row.floor_writes for row in rows)
    ratio = median(row.write_ratio for row in rows)
    return f"{median(counted):.0f} | {floor:.0f} | {ratio:.2f}"


def _cpu_table(grouped: Grouped) -> str:
    """CPU seconds of each process, in our steps and in those of the floor."""
    spent: dict[str, list[Mapping[str, float]]] = {}
    for (pes, step), rows in grouped.items():
        for row in rows:
            if row.measured:
                spent.setdefault(f"{step} | {pes}", []).append(row.measured.took.cpu_s)
                spent.setdefault(f"{step}: floor | {pes}", []).append(row.floor_cpu_s)
    names = sorted({name for each in spent.values() for one in each for name in one})
    lines = [f"| CPU s | PEs | {' | '.join(names)} |", f"|---|---|{'---|' * len(names)}"]
    for line, each in spent.items():
        figures = (median(one.get(name, 0.0) for one in each) for name in names)
        lines.append(f"| {line} | {' | '.join(f'{cpu_s:.2f}' for cpu_s in figures)} |")
    return "\n".join(lines)


def _stages_table(grouped: Grouped) -> str:
    """Percentiles are interpolated within the buckets of the services' histograms."""
    lines = ["| stage (ms) | step | PEs | count | mean | p50 | p90 | p99 |", "|---" * 8 + "|"]
    for (pes, step), rows in grouped.items():
        for stage, times in _stages(rows).items():
            shares = (times.percentile_s(share) for share in SHARES.values())
            figures = " | ".join(f"{1000 * each:.1f}" for each in (times.mean_s, *shares))
            lines.append(f"| {stage} | {step} | {pes} | {times.count} | {figures} |")
    return "\n".join(lines)


def _hops_table(hops: Hops) -> str:
    lines = ["| one record, idle (ms) | p50 | p90 | p99 |", "|---|---|---|---|"]
    names = {
        "write answered → watch event seen": hops.seen,
        "watch event seen → handed to the log": hops.produced,
        "handed to the log → read": hops.read,
        "**hop**: watch event seen → read elsewhere": hops.hop,
        "bare aiokafka round trip": hops.bare,
    }
    for name, samples in names.items():
        shares = " | ".join(f"{1000 * _percentile(samples, s):.2f}" for s in SHARES.values())
        lines.append(f"| {name} | {shares} |")
    ratio = _percentile(hops.hop, 0.5) / _percentile(hops.bare, 0.5)
    lines.append(f"| hop / bare | {ratio:.2f} | | |")
    return "\n".join(lines)


def _percentile(samples: Sequence[float], share: float) -> float:
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def exceeded(rows: Iterable[Row]) -> list[Row]:
    """The submissions that write more than their threshold allows."""
    return [
        row
        for row in rows
        if row.step == "submit"
        and row.profile.pes == WRITE_RATIO_AT
        and row.write_ratio > WRITE_RATIO_MAX
    ]


def miscounted(rows: Iterable[Row]) -> list[Row]:
    """The runs in which the services and the API server counted different numbers of writes."""
    return [
        row
        for row in rows
        if row.measured
        and row.measured.server_writes is not None
        and row.measured.server_writes != row.measured.writes
    ]
