"""Makes every decision of many simulated runs again, each log in a process that knows no more."""

from __future__ import annotations

import multiprocessing
import pickle
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from services.chassis.running.replaying import ReplayFailed
from tests.simulation.remaking import STAGES, Difference, Log, made_again

SHOWN_MAX = 5


@dataclass
class Tally:
    """What came of the logs of some runs; `gaps` are starts that lost a record."""

    runs: int = 0
    starts: Counter[str] = field(default_factory=Counter)
    equal: Counter[str] = field(default_factory=Counter)
    different: list[str] = field(default_factory=list)
    gaps: Counter[str] = field(default_factory=Counter)
    behind_gaps: Counter[str] = field(default_factory=Counter)
    observations: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Count what came of other runs, too."""
        self.runs += other.runs
        for name in ("starts", "equal", "gaps", "behind_gaps", "observations"):
            getattr(self, name).update(getattr(other, name))
        self.different += other.different


def keep(log: Log, folder: Path, name: str) -> None:
    """Put the log of a run into a file."""
    (folder / f"{name}.log").write_bytes(pickle.dumps(log))


def replay(path: Path) -> Tally:
    """Make every decision in a file again."""
    log: Log = pickle.loads(path.read_bytes())
    tally = Tally(runs=1)
    for start, decisions in log.decisions.items():
        service = start[0]
        tally.starts[service] += 1
        for observation in log.observations[start].values():
            tally.observations[observation.what] += 1
        made = 0
        try:
            for difference in made_again(log, start):
                made += 1
                if difference is None:
                    tally.equal[service] += 1
                else:
                    tally.different.append(f"{path.stem} {service}: {_line_of(difference)}")
        except ReplayFailed as failed:
            tally.gaps[service] += 1
            tally.behind_gaps[service] += len(decisions) - made
            if "is missing" not in str(failed):
                tally.different.append(f"{path.stem} {service}: {failed}")
    return tally


def replay_all(folder: Path, jobs: int, print_line: Callable[[str], None]) -> bool:
    """Replay the files of a folder and show what came of them; whether all came out equal."""
    paths, total = sorted(folder.glob("*.log")), Tally()
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for tally in pool.imap_unordered(replay, paths):
            total.add(tally)
    for line in _report(total):
        print_line(line)
    return not total.different


def _report(total: Tally) -> Iterable[str]:
    yield f"\n{total.runs} runs made again in processes of their own"
    yield f"  {'service':20} {'starts':>7} {'equal':>7} {'starts with a gap':>18} {'behind it':>10}"
    for service in STAGES:
        yield (
            f"  {service:20} {total.starts[service]:7} {total.equal[service]:7}"
            f" {total.gaps[service]:18} {total.behind_gaps[service]:10}"
        )
    seen = ", ".join(f"{count} {what}" for what, count in total.observations.most_common())
    yield f"  observations: {seen}"
    yield f"  {len(total.different)} decisions differ"
    yield from (f"    {each}" for each in total.different[:SHOWN_MAX])


def _line_of(difference: Difference) -> str:
    decision, found = difference.decision, difference.found
    parts = [
        f"{name} was {decision[name]} and is {found[name]}"
        for name in found
        if decision[name] != found[name]
    ]
    return f"{decision['key']} at {decision['position']}: {'; '.join(parts)}"
