"""Plants every mutant in a copy of the project and runs the tests that have to catch it.

Several at a time, each worker in a copy of its own. The table at the end says which test killed
which mutant; exit code 1 where one survives or can no longer be planted. Arguments are words: only
mutants with one of them in their name are planted.
"""

from __future__ import annotations

import os
import queue
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tests.mutants.planted import MUTANTS
from tests.mutants.planting import Mutant, Verdict, copy_project, judge

WORKERS = max(1, min(4, os.cpu_count() or 1))


def main(words: list[str]) -> int:
    """Plant them all; say which test killed each, and which survive."""
    chosen = [each for each in MUTANTS if not words or any(word in each.name for word in words)]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="millrace-mutants-") as folder:
        verdicts = _judged(chosen, Path(folder))
    for verdict in sorted(verdicts, key=lambda each: each.mutant.path):
        sys.stdout.write(_line(verdict) + "\n")
    survivors = sum(not each.is_well for each in verdicts)
    took_s = time.monotonic() - began
    sys.stdout.write(f"{len(verdicts)} mutants, {survivors} not killed, {took_s:.0f} s\n")
    return 1 if survivors else 0


def _judged(chosen: list[Mutant], folder: Path) -> list[Verdict]:
    """All verdicts; the longest wait is for the slowest tests, so a line says how far we are."""
    copies: queue.Queue[Path] = queue.Queue()
    for number in range(WORKERS):
        copy_project(folder / f"{number}")
        copies.put(folder / f"{number}")

    def run(mutant: Mutant) -> Verdict:
        copy = copies.get()
        try:
            return judge(mutant, copy)
        finally:
            copies.put(copy)

    verdicts: list[Verdict] = []
    with ThreadPoolExecutor(WORKERS) as pool:
        for done in as_completed([pool.submit(run, each) for each in chosen]):
            verdicts.append(done.result())
            word = "killed" if verdicts[-1].is_well else "NOT KILLED"
            name = verdicts[-1].mutant.name
            sys.stderr.write(f"{len(verdicts)} of {len(chosen)}: {word}: {name}\n")
    return verdicts


def _line(verdict: Verdict) -> str:
    by = verdict.problem or verdict.killed_by or "SURVIVES"
    return f"{verdict.mutant.name:<76} {verdict.took_s:5.1f} s  {by}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
