"""How long tests take, alone on a machine of two cores: measured, kept in git, held by a threshold.

`seconds.json` has the seconds of each folder of tests and of each suite with its threshold, and
those of each piece, by which pieces are dealt into quarters. `make everything` measures them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.patience import QUIET_S

FILE = Path(__file__).with_name("seconds.json")
GROWTH_MAX = 1.2
"""What grows by more than a fifth is named."""
ALIKE = 1.2
"""A machine that is faster or slower than that says nothing of growth: waits are no computation."""
LEAST_S = 5.0
"""What takes less is noise, however much it grows."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What `seconds.json` has; `thresholds` are of folders and suites.

    It is of a machine on which the known computation of `tests/patience.py` takes `QUIET_S`.
    """

    folders: Mapping[str, float] = field(default_factory=dict)
    thresholds: Mapping[str, float] = field(default_factory=dict)
    pieces: Mapping[str, float] = field(default_factory=dict)


def read(path: Path = FILE) -> Baseline:
    """What is kept; empty where there is no file."""
    if not path.exists():
        return Baseline()
    return Baseline(**json.loads(path.read_text(encoding="utf-8")))


def write(baseline: Baseline, path: Path = FILE) -> None:
    """Keep it, in an order that a person can compare."""
    content = {
        name: {key: round(value, 1) for key, value in sorted(getattr(baseline, name).items())}
        for name in ("folders", "thresholds", "pieces")
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def grown(baseline: Baseline, measured: Mapping[str, float]) -> Iterator[str]:
    """A sentence for each folder or suite that is over its threshold, or has none."""
    for name, takes_s in sorted(measured.items()):
        if takes_s < LEAST_S:
            continue
        if name not in baseline.thresholds:
            yield f"{name} takes {takes_s:.0f} s and has no threshold in seconds.json"
        elif takes_s > baseline.thresholds[name]:
            yield (
                f"{name} has grown: {takes_s:.0f} s; {baseline.folders.get(name, 0.0):.0f} s were"
                f" recorded, the threshold is {baseline.thresholds[name]:.0f} s"
            )


def unlike(known_s: float) -> str:
    """Why seconds of a machine cannot be compared with these; empty where they can.

    `known_s`: how long the known computation takes there.
    """
    if QUIET_S / ALIKE <= known_s <= QUIET_S * ALIKE:
        return ""
    return (
        f"seconds.json is of a machine where the known computation takes {QUIET_S:.2f} s; here it"
        f" takes {known_s:.2f} s, so it does not show what has grown"
    )


def recorded(measured: Mapping[str, float], pieces: Mapping[str, float]) -> Baseline:
    """What is kept of a measurement of all: a threshold is a fifth above what was measured."""
    thresholds = {name: takes_s * GROWTH_MAX for name, takes_s in measured.items()}
    return Baseline(measured, thresholds, pieces)
