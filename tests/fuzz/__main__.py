"""Floods a simulated world with bad objects and records, and holds what must be so afterwards.

Sent, half and half, while every service works and a good job runs beside it:
  objects   requests to the API server: custom resources that fit their schemas at the limits or are
            damaged, pods, ConfigMaps, Services and nodes with false claims, patches, garbage bytes
  records   appends to the log: noise, damaged and misplaced records, and well-made ones that lie

Asserted at the end:
  * no service has ended, and no exception came out of one
  * the good job is resized as quickly as before the flood, and is right
  * nobody wrote to an object that is not millrace's
  * every Job of the flood says in its status where it stands, and why if it failed
  * no key's code crashed, where objects alone were sent (--only); a record may say what no API
    server ever says, so crashes by records are counted, and delay only their own key

The last line says how many of what. Exit code: 0 where all of this holds, 1 where something does
not (each on a line WRONG, then the line that floods the same way again), 2 for a command line that
means nothing. A run is made of its seed, in virtual time: 10,000 take some minutes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cli.showing import answer, answer_lines
from tests.fuzz.flooding import Report, flood, ways_to_do_harm


def main(arguments: Sequence[str]) -> int:
    """Run one flood; the exit code."""
    options = _read(arguments)
    with tempfile.TemporaryDirectory(prefix="millrace-fuzz-") as folder:
        report = flood(
            Path(folder), count=options.count, seed=options.seed, only=frozenset(options.only)
        )
    _tell(report, options)
    return 1 if report.problems else 0


def _read(arguments: Sequence[str]) -> argparse.Namespace:
    ways = ways_to_do_harm()
    listed = "\n".join(f"  {name:24} {says}" for name, says in ways.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description=__doc__,
        epilog=f"WAY is one of:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--count", type=_count, default=10_000, help="so many objects and records (%(default)s)")
    add("--seed", type=int, default=1, help="what the flood is made of (%(default)s)")
    add("--crashes", action="store_true", help="show the traceback of every key that crashed")
    add(
        *("--only",),
        action="append",
        default=[],
        choices=ways,
        metavar="WAY",
        help="send nothing but this; may be repeated (all)",
    )
    return parser.parse_args(arguments)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of objects and records")
    return int(text)


def _tell(report: Report, options: argparse.Namespace) -> None:
    for crash in report.crashes if options.crashes else ():
        answer_lines(str(crash))
    for problem in report.problems:
        answer(f"WRONG: {problem}")
    if report.problems:
        only = "".join(f" --only {each}" for each in options.only)
        again = f"python -m tests.fuzz --count {options.count} --seed {options.seed}{only}"
        answer(f"again: {again} --crashes")
    answer(f"seed {options.seed}: {report.text()}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
