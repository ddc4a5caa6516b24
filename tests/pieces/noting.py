"""Writes down what each test of a run took: a line a phase, into the file of MILLRACE_DURATIONS."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
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

    `folders` has what is in no piece.
    """

    folders: Mapping[str, float] = field(default_factory=dict)
    pieces: Mapping[str, float] = field(default_factory=dict)
    tests: Mapping[str, float] = field(default_factory=dict)
    outcomes: Mapping[str, int] = field(default_factory=dict)


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
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        test, piece, when, outcome, takes_s = json.loads(line)
        tests[test] += takes_s
        if piece:
            pieces[piece] += takes_s
        else:
            folders[folder_of(test)] += takes_s
        if when == "call" or outcome in ("skipped", "failed"):
            outcomes[outcome] += 1
    return Durations(*map(dict, (folders, pieces, tests, outcomes)))


def folder_of(test: str) -> str:
    """The folder of tests that a test counts for: `tests/unit/cli`, `tests/e2e`."""
    folders = PurePosixPath(test.partition("::")[0]).parts[:-1]
    return "/".join(folders[:_FOLDER_PARTS])
