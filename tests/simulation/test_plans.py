"""A share of all plans of faults, chosen by a rule: every class of every scenario is among them.

`make sim` plays all of them. A failure here prints the line that plays its plan again.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass

import pytest

from tests.places import ROOT
from tests.simulation.effects import Mishap
from tests.simulation.scenarios import SCENARIOS

ONE_IN = 90
SECONDS_MAX = 3600
"""Against hanging: on a machine with much else to do the share takes a quarter of an hour."""

pytestmark = pytest.mark.timeout(SECONDS_MAX)


@dataclass(frozen=True)
class Report:
    """What the simulation printed, and how it ended."""

    text: str
    code: int

    def count_of(self, name: str) -> int:
        """How many plans of a scenario or a class were played."""
        found = re.search(rf"^  {re.escape(name)} +(\d+)", self.text, re.MULTILINE)
        return int(found[1]) if found else 0

    def failures_of(self, name: str) -> list[str]:
        """The lines that play the failed plans of a scenario or a class again."""
        return [
            line
            for line in self.text.splitlines()
            if line.startswith("FAILED")
            and re.search(rf"(scenario|plan) {re.escape(name)}(?![\w-])", line)
        ]


@pytest.fixture(scope="module", name="report")
def report_of_a_share() -> Report:
    """Played once for all tests of this module, on every core, in an interpreter of its own."""
    played = subprocess.run(
        [sys.executable, "-m", "tests.simulation", "--one-in", str(ONE_IN)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return Report(played.stdout + played.stderr, played.returncode)


@pytest.mark.parametrize("mishap", list(Mishap))
def test_a_class_of_faults_changes_nothing_in_the_end(report: Report, mishap: Mishap) -> None:
    """Same objects, same creations and deletions, then silence; invariants all the way."""
    assert report.count_of(mishap) >= len(SCENARIOS) / 4, report.text
    assert report.failures_of(mishap) == []


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_ends_as_it_does_undisturbed(report: Report, scenario: str) -> None:
    """Under a plan of each class that it has."""
    assert report.count_of(scenario) > 0, report.text
    assert report.failures_of(scenario) == [], report.text


def test_the_report_ends_with_the_counts(report: Report) -> None:
    """And the exit code says the same."""
    last = report.text.rstrip().splitlines()[-1]
    found = re.fullmatch(r"(\d+) plans, (\d+) failed", last)
    assert found is not None, last
    assert int(found[1]) >= len(SCENARIOS) * 4
    assert (found[2], report.code) == ("0", 0), report.text
