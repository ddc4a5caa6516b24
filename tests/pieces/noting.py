"""Writes down what each test of a run took: a line a phase, into the file of MILLRACE_DURATIONS."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from tests.pieces import environment

if TYPE_CHECKING:  # it is read before there is an environment
    import pytest

PIECE = "piece"
"""The user property of a test that names its piece."""
_FOLDER_PARTS = 3


@dataclass(frozen=True, slots=True)
class Durations:
    """What tests took, in seconds one after another: those of each piece, and each test.

    `folders` has what is in no piece, `skipped` the pieces without a played test.
    """

    folders: Mapping[str, float] = field(default_factory=dict)
    pieces: Mapping[str, float] = field(default_factory=dict)
    tests: Mapping[str, float] = field(default_factory=dict)
    outcomes: Mapping[str, int] = field(default_factory=dict)
    skipped: Sequence[str] = ()

    def not_played(self, pieces: Sequence[str]) -> Sequence[str]:
        """Those of these pieces that have no test, or whose tests were all skipped."""
        return [each for each in pieces if each not in self.pieces or each in self.skipped]


def note(report: pytest.TestReport) -> None:
    """Append a phase of a test; workers of xdist leave that to their controller."""
    path = os.environ.get(environment.DURATIONS, "")
    if not path or "PYTEST_XDIST_WORKER" in os.environ:
        return
    piece = dict(report.user_properties).get(PIECE, "")
    line = [report.nodeid, piece, report.when, str(report.outcome), round(report.duration, 4)]
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def read(path: Path) -> Durations:
    """What was written down; nothing where no test ran."""
    folders, pieces = Counter[str](), Counter[str]()
    tests, outcomes = Counter[str](), Counter[str]()
    played: set[str] = set()
    for line in path.read_text(encoding="utf-8").splitlines(True) if path.exists() else ():
        if not line.endswith("\n"):  # the machine stopped while it was written
            continue
        test, piece, when, outcome, takes_s = json.loads(line)
        if when == "call" and outcome != "skipped":
            played.add(piece)
        tests[test] += takes_s
        if piece:
            pieces[piece] += takes_s
        else:
            folders[folder_of(test)] += takes_s
        if when == "call" or outcome in ("skipped", "failed"):
            outcomes[outcome] += 1
    skipped = tuple(pieces.keys() - played)
    return Durations(dict(folders), dict(pieces), dict(tests), dict(outcomes), skipped)


def folder_of(test: str) -> str:
    """The folder of tests that a test counts for: `tests/unit/cli`, `tests/e2e`."""
    folders = PurePosixPath(test.partition("::")[0]).parts[:-1]
    return "/".join(folders[:_FOLDER_PARTS])
