"""Makes every decision of many simulated runs again, each log in a process that knows no more."""

from __future__ import annotations

import asyncio
import multiprocessing
import pickle
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from history.tallying import Tally, tally_of
from tests.simulation.remaking import STAGES, Log

SHOWN_MAX = 5
MISSING = "is missing"


@dataclass
class Total:
    """What came of the logs of some runs; `gaps` are starts that lost a record."""

    runs: int = 0
    starts: Counter[str] = field(default_factory=Counter)
    equal: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    observations: Counter[str] = field(default_factory=Counter)
    different: list[str] = field(default_factory=list)

    def add(self, name: str, tally: Tally) -> None:
        """Count what came of one run."""
        self.runs += 1
        for each in ("starts", "equal", "unknown", "observations"):
            getattr(self, each).update(getattr(tally, each))
        if tally.first is not None:
            step = tally.first
            service = step.recorded.decision.service
            self.different.append(f"{name} {service}: {step.place}: {step.compared.sentence}")
        self.different += [f"{name} {gap}" for gap in tally.gaps if MISSING not in gap]


def keep(log: Log, folder: Path, name: str) -> None:
    """Put the log of a run into a file."""
    (folder / f"{name}.log").write_bytes(pickle.dumps(log))


def replay(path: Path) -> tuple[str, Tally]:
    """Make every decision in a file again."""
    log: Log = pickle.loads(path.read_bytes())
    return path.stem, asyncio.run(tally_of(log))


def replay_all(folder: Path, jobs: int, print_line: Callable[[str], None]) -> bool:
    """Replay the files of a folder and show what came of them; whether all came out equal."""
    paths, total = sorted(folder.glob("*.log")), Total()
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for name, tally in pool.imap_unordered(replay, paths):
            total.add(name, tally)
    for line in _report(total):
        print_line(line)
    return not total.different


def _report(total: Total) -> Iterable[str]:
    yield f"\n{total.runs} runs made again in processes of their own"
    yield f"  {'service':20} {'starts':>7} {'equal':>7} {'behind a gap':>13}"
    for service in STAGES:
        yield (
            f"  {service:20} {total.starts[service]:7} {total.equal[service]:7}"
            f" {total.unknown[service]:13}"
        )
    seen = ", ".join(f"{count} {what}" for what, count in total.observations.most_common())
    yield f"  observations: {seen}"
    yield f"  {len(total.different)} logs differ"
    yield from (f"    {each}" for each in total.different[:SHOWN_MAX])
