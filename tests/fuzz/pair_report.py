"""What a flood of the real pair is requested, and what became of it."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass, field

from tests.fuzz.rounds import Round

SLOWER_MAX = 2.0
"""A round beside hostile objects takes at most so many times the slowest one beside the same
objects unwatched; one beside records, and one afterwards, the slowest of those alone."""
FAULTS = ("kill", "hold", "restart")


@dataclass(frozen=True, slots=True)
class FloodRequest:
    """How much of everything; `slower_max` 0 compares no seconds."""

    objects: int = 2_000
    records: int = 2_000
    seed: int = 1
    rounds: int = 6
    faults: tuple[str, ...] = FAULTS
    slower_max: float = SLOWER_MAX
    only: frozenset[str] = frozenset()


@dataclass
class PairReport:
    """What became of it; `rounds` by what was there meanwhile."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    rounds: dict[str, list[Round]] = field(default_factory=dict)

    def text(self) -> str:
        """One line that says how many of what."""
        counts = ", ".join(f"{count:,} {what}" for what, count in sorted(self.counts.items()))
        rounds = "; ".join(
            f"{name}: {len(each)} rounds, median {statistics.median(r.took_s for r in each):.1f} s,"
            f" slowest {max(r.took_s for r in each):.1f} s"
            for name, each in self.rounds.items()
            if each
        )
        return f"{counts}; {rounds}"
