"""A share of all plans of faults, chosen by a rule: every class of every scenario is among them.

`make sim` plays all of them. A failure here prints the line that plays its plan again. Where only
some scenarios are selected (tests/pieces), the plans of the others are not played.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import orjson
import pytest

from tests.patience import patient
from tests.pieces import selecting
from tests.places import ROOT
from tests.simulation.effects import Mishap
from tests.simulation.scenarios import BY_TOPIC, SCENARIOS

ONE_IN = 90
SECONDS_MAX = 3600
"""Against hanging: on a machine with much else to do the share takes a quarter of an hour."""

pytestmark = pytest.mark.timeout(patient(SECONDS_MAX))


@dataclass(frozen=True)
class Report:
    """What the simulation printed, and how it ended."""

    text: str
    code: int
    reached: Mapping[str, str]

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


def selected() -> list[str]:
    """The topics whose scenarios are played here."""
    selection = selecting.selection()
    return [
        topic for topic in BY_TOPIC if selection is None or f"plans/{topic}" in selection.pieces
    ]


Reports = Callable[[str], Report]
"""The report of each topic."""


@pytest.fixture(scope="module", name="report_of")
def reports_of_a_share(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    """Each topic is played once, on every core, in an interpreter of its own."""
    folder = tmp_path_factory.mktemp("share")
    return cache(lambda topic: _played(topic, folder / f"{topic}.json"))


def _played(topic: str, reached: Path) -> Report:
    words = ["--one-in", str(ONE_IN), "--reach", str(reached)]
    words += [word for name in BY_TOPIC[topic] for word in ("--scenario", name)]
    played = subprocess.run(
        [sys.executable, "-m", "tests.simulation", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return Report(
        played.stdout + played.stderr, played.returncode, orjson.loads(reached.read_bytes())
    )


@pytest.mark.parametrize(
    ("topic", "scenario"),
    [
        pytest.param(topic, name, id=name, marks=pytest.mark.piece(f"plans/{topic}"))
        for topic, scenarios in BY_TOPIC.items()
        for name in scenarios
    ],
)
def test_a_scenario_ends_as_it_does_undisturbed(
    report_of: Reports, topic: str, scenario: str
) -> None:
    """Under a plan of each class that it has."""
    report = report_of(topic)
    assert report.count_of(scenario) > 0, report.text
    assert report.failures_of(scenario) == [], report.text


@pytest.mark.piece("plans/*")
@pytest.mark.parametrize("mishap", list(Mishap))
def test_a_class_of_faults_changes_nothing_in_the_end(report_of: Reports, mishap: Mishap) -> None:
    """Same objects, same creations and deletions, then silence; invariants all the way."""
    reports = [report_of(topic) for topic in selected()]
    scenarios = sum(len(BY_TOPIC[topic]) for topic in selected())
    counted = sum(report.count_of(mishap) for report in reports)
    assert counted >= scenarios / 4, _texts(reports)
    assert [line for report in reports for line in report.failures_of(mishap)] == []


@pytest.mark.parametrize(
    "topic",
    [
        pytest.param(topic, marks=pytest.mark.piece(f"plans/{topic}"), id=topic)
        for topic in BY_TOPIC
    ],
)
def test_the_report_ends_with_the_counts(report_of: Reports, topic: str) -> None:
    """And the exit code says the same."""
    report = report_of(topic)
    last = report.text.rstrip().splitlines()[-1]
    found = re.fullmatch(r"(\d+) plans, (\d+) failed", last)
    assert found is not None, last
    assert int(found[1]) >= len(BY_TOPIC[topic]) * 4
    assert (found[2], report.code) == ("0", 0), report.text


@pytest.mark.piece("plans/*")
def test_the_page_of_rules_names_scenarios_that_reach_them(report_of: Reports) -> None:
    """`make reach` writes the file, and the page after it: the first scenario of each rule.

    Where only some scenarios are played, they reach the rules that the file names for them, and no
    rule that it does not know, or names for a later one.
    """
    named = orjson.loads((ROOT / "deploy/reached.json").read_bytes())
    reached: dict[str, str] = {}
    for topic in selected():
        reached = {**report_of(topic).reached, **reached}
    played = [name for topic in selected() for name in BY_TOPIC[topic]]
    assert {
        rule: where for rule, where in named.items() if where in played
    }.items() <= reached.items()
    assert reached.keys() <= named.keys()
    order = list(SCENARIOS)
    for rule, where in reached.items():
        assert named[rule] in order, rule
        assert order.index(named[rule]) <= order.index(where), rule


def _texts(reports: Iterable[Report]) -> str:
    return "\n".join(report.text for report in reports)
