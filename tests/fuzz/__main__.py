"""Floods a simulated world: `python -m tests.fuzz --count 10000 --seed 1`.

The last line says how many of what; exit code 1 where something is not as it must be.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.fuzz.flooding import flood


def main() -> int:
    """Run one flood."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--crashes", action="store_true", help="show tracebacks of crashes")
    parser.add_argument("--only", action="append", default=[], help="a way to do harm, by name")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="millrace-fuzz-") as folder:
        report = flood(
            Path(folder), count=options.count, seed=options.seed, only=frozenset(options.only)
        )
    for crash in report.crashes if options.crashes else ():
        sys.stdout.write(f"{crash}\n")
    for problem in report.problems:
        sys.stdout.write(f"WRONG: {problem}\n")
    if report.problems:
        again = f"python -m tests.fuzz --count {options.count} --seed {options.seed} --crashes"
        sys.stdout.write(f"again: {again}\n")
    sys.stdout.write(f"seed {options.seed}: {report.text()}\n")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
