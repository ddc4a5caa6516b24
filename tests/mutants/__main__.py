"""Plants every mutant in a copy of the project and runs the tests that have to catch it.

Several at a time, each worker in a copy of its own. The table at the end says which test killed
which mutant; exit code 1 where one survives or can no longer be planted. Arguments are words: only
mutants with one of them in their name are planted. With `--changed` those are planted whose files,
or whose tests, the last commits touched, the newest first, for `--seconds` at most: so CI notices
that a test has stopped catching.
"""

from __future__ import annotations

import argparse
import os
import queue
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tests.mutants.changed import changed
from tests.mutants.planted import MUTANTS
from tests.mutants.planting import Mutant, Verdict, copy_project, judge

WORKERS = max(1, min(4, os.cpu_count() or 1))


def main(arguments: list[str]) -> int:
    """Plant them all; say which test killed each, and which survive."""
    options = _read(arguments)
    chosen: Sequence[Mutant] = [
        each
        for each in (changed(MUTANTS) if options.changed else MUTANTS)
        if not options.words or any(word in each.name for word in options.words)
    ]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="millrace-mutants-") as folder:
        verdicts = _judged(chosen, Path(folder), options.seconds)
    for verdict in sorted(verdicts, key=lambda each: each.mutant.path):
        sys.stdout.write(_line(verdict) + "\n")
    survivors = sum(not each.is_well for each in verdicts)
    took_s = time.monotonic() - began
    of = f" of {len(chosen)}" if len(verdicts) < len(chosen) else ""
    sys.stdout.write(f"{len(verdicts)}{of} mutants, {survivors} not killed, {took_s:.0f} s\n")
    if chosen and not verdicts:
        sys.stdout.write(f"no mutant could be planted within {options.seconds:g} s\n")
    return 1 if survivors or (chosen and not verdicts) else 0


def _read(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("words", nargs="*", help="words of their names")
    parser.add_argument("--changed", action="store_true", help="of files that commits touched")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="plant no other one after so long"
    )
    return parser.parse_args(arguments)


def _judged(chosen: Sequence[Mutant], folder: Path, seconds: float) -> list[Verdict]:
    """All verdicts; the longest wait is for the slowest tests, so a line says how far we are.

    None is begun after so many seconds. They count from where the copies are made, so that a slow
    machine plants some as well.
    """
    copies: queue.Queue[Path] = queue.Queue()
    for number in range(WORKERS):
        copy_project(folder / f"{number}")
        copies.put(folder / f"{number}")
    end_s = time.monotonic() + seconds

    def run(mutant: Mutant) -> Verdict | None:
        if time.monotonic() > end_s:
            return None
        copy = copies.get()
        try:
            return judge(mutant, copy)
        finally:
            copies.put(copy)

    verdicts: list[Verdict] = []
    with ThreadPoolExecutor(WORKERS) as pool:
        for done in as_completed([pool.submit(run, each) for each in chosen]):
            if (verdict := done.result()) is not None:
                verdicts.append(verdict)
                _tell(verdicts, len(chosen))
    return verdicts


def _tell(verdicts: Sequence[Verdict], of: int) -> None:
    word = "killed" if verdicts[-1].is_well else "NOT KILLED"
    sys.stderr.write(f"{len(verdicts)} of {of}: {word}: {verdicts[-1].mutant.name}\n")


def _line(verdict: Verdict) -> str:
    by = verdict.problem or verdict.killed_by or "SURVIVES"
    return f"{verdict.mutant.name:<76} {verdict.took_s:5.1f} s  {by}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
