"""A share of all plans of faults, chosen by a rule: every class of every scenario is among them.

`make sim` plays all of them. A failure here prints the line that plays its plan again.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass

import orjson
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
    reached: bytes

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
def report_of_a_share(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Played once for all tests of this module, on every core, in an interpreter of its own."""
    reached = tmp_path_factory.mktemp("share") / "reached.json"
    share = ["--one-in", str(ONE_IN), "--reach", str(reached)]
    played = subprocess.run(
        [sys.executable, "-m", "tests.simulation", *share],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return Report(played.stdout + played.stderr, played.returncode, reached.read_bytes())


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


def test_the_page_of_rules_names_scenarios_that_reach_them(report: Report) -> None:
    """`make reach` writes the file, and the page after it."""
    named = orjson.loads((ROOT / "deploy/reached.json").read_bytes())
    of_scenarios = {rule: where for rule, where in named.items() if where in SCENARIOS}
    assert orjson.loads(report.reached) == of_scenarios
