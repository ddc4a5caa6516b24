"""A plugin of pytest: which tests were tried once more, and what they failed with at first.

A test that is green at the second try is green, and says nothing of the first. So each is written,
one JSON line a try, into the file that MILLRACE_RERUNS names; `make test-real` tells them last.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

FILE_SETTING = "MILLRACE_RERUNS"
OUTCOME = "rerun"
"""What pytest-rerunfailures calls a try that is followed by another."""
ERROR_MARK = "E "
PLACE_MARK = ">"
"""A line of the source at which a failure passed; that of the test comes first."""
WHY_CHARS_MAX = 1000
_GROUPED = re.compile(r"\s*\|\s(?P<error>[A-Za-z_][\w.]*(?::\s.*)?)$")
"""A line of the traceback of an exception group that names an exception."""


@dataclass(frozen=True, slots=True)
class Rerun:
    """A try that failed and was followed by another."""

    test: str
    why: str

    @property
    def sentence(self) -> str:
        """What people read of it, after everything else."""
        return f"tried twice: {self.test}\n  {self.why}"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write a try down as soon as it is over: what follows may end the process."""
    path = os.environ.get(FILE_SETTING, "")
    if path and report.outcome == OUTCOME:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(Rerun(report.nodeid, why_of(report)))) + "\n")


def why_of(report: pytest.TestReport) -> str:
    """The lines of a failure that say what it is, without the source around them.

    Of a group of exceptions pytest gives the traceback of Python, with each exception in a frame.
    Where no exception has a message, as at the end of a time-out, the line of the test that waited
    follows.
    """
    lines = report.longreprtext.splitlines()
    errors = [line.removeprefix(ERROR_MARK).strip() for line in lines if line[:2] == ERROR_MARK]
    errors += [found["error"].strip() for line in lines if (found := _GROUPED.match(line))]
    if errors and not any(":" in error for error in errors):
        places = [line.removeprefix(PLACE_MARK) for line in lines if line[:1] == PLACE_MARK]
        errors += [f"at: {place.strip()}" for place in places[:1]]
    return " / ".join(errors or lines[-1:])[:WHY_CHARS_MAX]


def reruns_in(path: Path) -> Sequence[Rerun]:
    """What was written; nothing where no test was tried twice."""
    if not path.exists():
        return ()
    lines = path.read_text(encoding="utf-8").splitlines()
    return tuple(Rerun(**json.loads(line)) for line in lines)
