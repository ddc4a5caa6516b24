"""Counts the tests of running systems that pass at their second try; CI fails above 1 in 100.

    MILLRACE_TRIES=FILE pytest …          each try of such a test is a line of FILE
    python -m tests.tries FILE            prints the count, and what each waited for at its first
                                          try; exit code 1 above the limit

A running system has processes, sockets and a clock, and its machine may stand still for seconds, so
one more try is fair. A test that needs it often has found a defect, or is one.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.pieces.environment import TRIES
from tests.real.rerunning import OUTCOME, Rerun, why_of

SHARE_MAX = 0.01
_MARKERS = frozenset({"e2e", "real"})
_COMPARISONS = "tests/real/differential"
"""Requests that are sent twice and compared: thousands that would hide the others."""


@dataclass(frozen=True, slots=True)
class Tries:
    """How many tests ran, and those that were tried more than once."""

    tests: int
    tried_again: tuple[Rerun, ...]

    @property
    def is_too_many(self) -> bool:
        """Whether more than 1 in 100 needed another try."""
        return len(self.tried_again) > SHARE_MAX * self.tests

    @property
    def lines(self) -> Sequence[str]:
        """The count for people, and each test that was tried again with what it waited for."""
        head = f"{len(self.tried_again)} of {self.tests} tests of running systems were tried again"
        limit = f" (at most 1 in {round(1 / SHARE_MAX)} may be)" if self.is_too_many else ""
        each = (f"  {rerun.test}\n    {rerun.why}" for rerun in self.tried_again)
        return [head + limit, *each]


def note(report: pytest.TestReport) -> None:
    """Append a try to the file of the setting; workers of xdist leave that to their controller."""
    path = os.environ.get(TRIES, "")
    is_again = str(report.outcome) == OUTCOME  # a fixture can fail, too
    is_end = report.when == "call" or is_again
    if not path or not is_end or "PYTEST_XDIST_WORKER" in os.environ:
        return
    if _MARKERS & set(report.keywords) and not report.nodeid.startswith(_COMPARISONS):
        why = why_of(report) if is_again else ""
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps([report.nodeid, report.outcome, why]) + "\n")


def read(path: Path) -> Tries:
    """The tries in a file; raises FileNotFoundError where no test of a running system ran."""
    tries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    again = [Rerun(test, why) for test, outcome, why in tries if outcome == OUTCOME]
    tests = sum(outcome != OUTCOME for _, outcome, _ in tries)
    return Tries(tests, tuple(sorted(again, key=lambda rerun: rerun.test)))


def main(path: str) -> int:
    """Print the count; the exit code."""
    tries = read(Path(path))
    sys.stdout.write("\n".join(tries.lines) + "\n")
    return int(tries.is_too_many)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
