"""The report of a benchmark: medians over runs, ratios against the floor of the same run.

Seconds are until the last pod is created (submit, resize) or gone (delete).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median

from loadtest.measuring import Measured
from loadtest.profiles import (
    WRITE_RATIO_AT,
    WRITE_RATIO_MAX,
    Profile,
    resize_floor_writes,
    submit_floor_writes,
)


@dataclass(frozen=True, slots=True)
class Row:
    """One run of one size; the floors are in seconds."""

    profile: Profile
    submitted: Measured
    resized: Measured
    deleted_s: float
    submit_floor_s: float
    resize_floor_s: float
    delete_floor_s: float

    @property
    def submit_write_ratio(self) -> float:
        """Our writes until phase Submitted over the floor's."""
        return self.submitted.writes / submit_floor_writes(self.profile.pes)

    @property
    def resize_write_ratio(self) -> float:
        """Our writes of the resize over the floor's."""
        return self.resized.writes / resize_floor_writes(self.resized.added, self.resized.changed)


_HEAD = (
    "| step | PEs | seconds | floor s | time ratio | writes | floor | write ratio |\n"
    "|---|---|---|---|---|---|---|---|"
)


def render(rows: Iterable[Row]) -> str:
    """A table in Markdown, one line a step and size, medians over the runs."""
    rows = list(rows)
    lines = [_HEAD]
    for pes in sorted({row.profile.pes for row in rows}):
        runs = [row for row in rows if row.profile.pes == pes]
        lines.append(_submit_line(pes, runs))
        lines.append(_resize_line(pes, runs))
        lines.append(_delete_line(pes, runs))
    return "\n".join(lines)


def _middle(runs: list[Row], figure: Callable[[Row], float]) -> float:
    return median(figure(row) for row in runs)


def _submit_line(pes: int, runs: list[Row]) -> str:
    time_s = _middle(runs, lambda r: r.submitted.pods_created_s)
    floor_s = _middle(runs, lambda r: r.submit_floor_s)
    ratio = _middle(runs, lambda r: r.submitted.pods_created_s / r.submit_floor_s)
    writes = _middle(runs, lambda r: r.submitted.writes)
    write_ratio = _middle(runs, lambda r: r.submit_write_ratio)
    return (
        f"| submit | {pes} | {time_s:.2f} | {floor_s:.2f} | {ratio:.2f} | {writes:.0f} "
        f"| {submit_floor_writes(pes)} | {write_ratio:.2f} |"
    )


def _resize_line(pes: int, runs: list[Row]) -> str:
    time_s = _middle(runs, lambda r: r.resized.pods_created_s)
    floor_s = _middle(runs, lambda r: r.resize_floor_s)
    ratio = _middle(runs, lambda r: r.resized.pods_created_s / r.resize_floor_s)
    writes = _middle(runs, lambda r: r.resized.writes)
    floor = _middle(runs, lambda r: resize_floor_writes(r.resized.added, r.resized.changed))
    write_ratio = _middle(runs, lambda r: r.resize_write_ratio)
    changed, added = runs[0].resized.changed, runs[0].resized.added
    return (
        f"| resize (+{added}, {changed} changed) | {pes} | {time_s:.2f} | {floor_s:.2f} "
        f"| {ratio:.2f} | {writes:.0f} | {floor:.0f} | {write_ratio:.2f} |"
    )


def _delete_line(pes: int, runs: list[Row]) -> str:
    time_s = _middle(runs, lambda r: r.deleted_s)
    floor_s = _middle(runs, lambda r: r.delete_floor_s)
    ratio = _middle(runs, lambda r: r.deleted_s / r.delete_floor_s)
    return f"| delete | {pes} | {time_s:.2f} | {floor_s:.2f} | {ratio:.2f} | | | |"


def exceeded(rows: Iterable[Row]) -> list[Row]:
    """The runs that write more than their threshold allows."""
    return [
        row
        for row in rows
        if row.profile.pes == WRITE_RATIO_AT and row.submit_write_ratio > WRITE_RATIO_MAX
    ]
