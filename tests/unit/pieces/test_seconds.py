"""Thresholds of folders and suites: what has grown by more than a fifth is named."""

from __future__ import annotations

from pathlib import Path

from tests.pieces.seconds import Baseline, grown, read, recorded, unlike, write
from tests.pieces.suites import SUITES, pieces
from tests.places import ROOT

BASELINE = Baseline({"tests/unit/cli": 50.0}, {"tests/unit/cli": 60.0})


def test_what_has_grown_by_more_than_a_fifth_is_named_with_its_seconds() -> None:
    assert list(grown(BASELINE, {"tests/unit/cli": 60.0})) == []
    (line,) = grown(BASELINE, {"tests/unit/cli": 61.0})
    assert line == ("tests/unit/cli has grown: 61 s; 50 s were recorded, the threshold is 60 s")


def test_seconds_of_a_faster_or_a_slower_machine_are_not_compared() -> None:
    assert [bool(unlike(known_s)) for known_s in (0.06, 0.18, 0.2, 0.23, 0.5)] == [
        *(True, False, False, False, True)
    ]
    assert "here it takes 0.06 s" in unlike(0.06)


def test_a_folder_without_a_threshold_is_named_unless_it_takes_next_to_nothing() -> None:
    (line,) = grown(BASELINE, {"tests/unit/new": 12.0, "tests/unit/small": 1.0})
    assert line == "tests/unit/new takes 12 s and has no threshold in seconds.json"


def test_a_measurement_is_kept_with_a_threshold_a_fifth_above_it(tmp_path: Path) -> None:
    write(recorded({"tests/unit/new": 10.0}, {"pair/a": 3.0}), tmp_path / "seconds.json")
    assert read(tmp_path / "seconds.json") == Baseline(
        {"tests/unit/new": 10.0}, {"tests/unit/new": 12.0}, {"pair/a": 3.0}
    )
    assert read(tmp_path / "none") == Baseline()


def test_what_is_kept_in_git_has_each_suite_and_no_piece_that_is_gone() -> None:
    kept = read()
    assert {f"suite {suite.name}" for suite in SUITES} <= kept.thresholds.keys()
    assert kept.pieces.keys() <= {piece.name for piece in pieces(ROOT)}
