"""The benchmark of recorded decisions makes each one again, and says what it is made of."""

from __future__ import annotations

from loadtest.deciding import Cost, lines_of, measured
from tests.places import ROOT


def test_every_decision_of_a_recording_is_measured() -> None:
    found = {each.service: each for each in measured(ROOT / "tests/histories/submission.recording")}
    assert found.keys() >= {"fusion-backend", "pod-state-machine"}
    for each in found.values():
        assert each.decisions > 0
        assert min(each.recorded_ratio, each.replayed_ratio) > 1


def test_ratios_are_of_decide_alone() -> None:
    cost = Cost("s", 2, decide_s=1.0, snapshot_s=5.0, record_s=0.1, compare_s=0.25, before_s=7.0)
    (line,) = lines_of([cost])
    assert "2 decisions, recorded 1.10 and compared 1.25 times of decide alone (aim: 1.2)" in line
