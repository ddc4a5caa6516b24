"""Recordings are decided today as they were then, but for what is meant to differ.

A recording that fails is no reason to make it again: it shows whom an upgrade would decide
otherwise for. README.md says what to do.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from history.accepting import FILE, accepted_beside
from history.breaking import names_of
from history.comparing import Verdict
from history.recordings import RecordingSource
from history.replaying import Wanted, replayed
from history.tallying import replay_file, tally_of
from services.launching.core import deciding as launch_deciding
from tests.histories import scenes
from tests.histories.listing import README, with_table
from tests.histories.releases import next_release, version
from tests.histories.table import FOLDER, RELEASE, SCENARIOS, kept, path_of, scenario_of
from tests.histories.wording import sentences_of
from tests.mutants.anchoring import replaced
from tests.places import ROOT

BYTES_MAX = 200_000
BYTES_MAX_OF_ALL = 1_500_000
ON_THE_PAIR_MIN = 3
STARTS = 2
"""Of a service that was killed once."""
BUG = path_of(SCENARIOS["planted-bug"])


@pytest.mark.parametrize("path", kept(), ids=[path.stem for path in kept()])
async def test_a_recording_is_decided_today_as_it_was(path: Path) -> None:
    tally = await replay_file(path)
    assert tally.is_equal, "\n".join([f"{path.name}:", *sentences_of(tally)])
    assert tally.equal.total() > 0


def test_each_scenario_has_its_recording_and_each_recording_its_scenario() -> None:
    missing = [name for name, each in SCENARIOS.items() if not path_of(each).exists()]
    again = f'make histories ARGS="record {" ".join(missing)}"'
    assert not missing, f"without a recording: run `{again}`"
    strangers = [path.name for path in kept() if scenario_of(path) is None]
    assert not strangers, f"no scenario makes {strangers}"
    on_the_pair = [path for path in kept() if (found := scenario_of(path)) and found.is_real]
    assert len(on_the_pair) >= ON_THE_PAIR_MIN


def test_this_release_has_a_recording_of_its_own() -> None:
    assert problem_of(version()) == ""


def test_a_release_without_a_recording_gets_the_command_that_makes_it() -> None:
    found = problem_of(next_release(version()))
    assert found.startswith(f"release {next_release(version())} has no recording of its own")
    assert found.endswith(
        f'run `make histories ARGS="record release"` and commit release-'
        f"{next_release(version())}.recording"
    )


def problem_of(release: str) -> str:
    """What is wrong with the recording of a release; empty if nothing is."""
    path = path_of(SCENARIOS[RELEASE], release)
    if path.exists() and RecordingSource(path).manifest.releases == (release,):
        return ""
    return (
        f"release {release} has no recording of its own, so that no later release is held to it:"
        f' run `make histories ARGS="record {RELEASE}"` and commit {path.name}'
    )


def test_the_page_lists_every_recording_as_it_is() -> None:
    page = README.read_text()
    assert page == with_table(page), "run `make histories ARGS=table`"


def test_recordings_are_text_and_small() -> None:
    sizes = {path.name: len(path.read_text(encoding="ascii")) for path in kept()}
    assert {name: size for name, size in sizes.items() if size > BYTES_MAX} == {}
    assert sum(sizes.values()) <= BYTES_MAX_OF_ALL


def test_what_is_accepted_is_of_a_recording_that_is_there() -> None:
    """Of one that was renamed, nobody would notice that its differences are listed no more."""
    text = (FOLDER / FILE).read_text()
    names = {line.split(": ")[1] for line in text.splitlines() if "recording: " in line}
    assert names <= {path.name for path in kept()}
    assert text.count("decision: ") == text.count("recording: "), "each says which recording"


# --------------------------------------------------------------------------- what they show


async def test_a_bug_of_then_is_named_as_the_first_decision_that_differs() -> None:
    """The services that were recorded had it; both sides have the same inputs."""
    tally = await tally_of(RecordingSource(BUG))
    (accepted,) = accepted_beside(BUG)
    first = tally.first
    assert first is not None
    assert (str(first.place), tally.different.total()) == (accepted.decision, 1)
    assert scenes.WRONG_RULE in first.recorded.decision.rules.values()
    assert first.compared.verdict is Verdict.DIFFERENT
    assert first.again is not None
    assert scenes.WRONG_RULE not in first.again.rules.values()
    assert first.recorded.decision.objects == first.again.objects
    assert "the snapshot has the same objects" in "\n".join(sentences_of(tally))


async def test_with_that_bug_nothing_differs_and_a_search_stops_at_the_wrong_decision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on the real pair, where `make histories ARGS=bug` shows it with the services' own code."""
    source = (ROOT / scenes.BUG.path).read_text()
    planted = replaced(source, scenes.BUG.definition, scenes.BUG.pattern, scenes.BUG.new)
    module = ModuleType("planted")
    exec(compile(planted, scenes.BUG.path, "exec"), module.__dict__)
    monkeypatch.setattr(launch_deciding, "RULES", module.RULES)
    async with replayed(RecordingSource(BUG), Wanted(has_changes=False)) as replay:
        steps = [step async for step in replay.steps()]
    assert {step.compared.verdict for step in steps} == {Verdict.EQUAL}
    (accepted,) = accepted_beside(BUG)
    stopped = next(step for step in steps if scenes.WRONG_RULE in names_of(step))
    assert str(stopped.place) == accepted.decision


def test_three_services_were_killed_in_the_middle_of_the_resize() -> None:
    starts = RecordingSource(path_of(SCENARIOS["resize-with-kills"])).manifest.starts
    counts = Counter(each.service for each in starts)
    assert counts["fusion-backend"] == counts["pod-state-machine"] == 2


def test_two_releases_decided_in_the_rolling_upgrade() -> None:
    first, then = RecordingSource(path_of(SCENARIOS["rolling-upgrade"])).manifest.releases
    assert then == next_release(first)
