"""`make everything` goes on where it was interrupted, and says what has grown."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.patience import patient
from tests.pieces import noting
from tests.pieces.choosing import QUARTERS
from tests.pieces.everything import (
    FAILED,
    LEFT_OUT,
    PASSED,
    NotKept,
    Outcome,
    Part,
    Results,
    line_of,
    measured,
    parts_of,
    play_all,
    slowest,
)
from tests.pieces.noting import Durations
from tests.pieces.suites import pieces
from tests.places import ROOT

MAKEFILE = """
good bad:
\t@echo "$@ $(ARGS)" >> played
\t@echo '["tests/e2e/test_a.py::b", "pair/a", "call", "passed", 2.5]' >> $$MILLRACE_DURATIONS
\t@cat $$MILLRACE_SHARE >> shares; echo >> shares
\t@test $@ = good || { echo what went wrong; exit 1; }
"""
PARTS = (Part("one 1/2", "good", "-x", ("pair/a",)), Part("two", "bad", always=True))


def yes() -> bool:
    """The checkout has not changed."""
    return True


def played(root: Path) -> list[str]:
    return (root / "played").read_text().splitlines()


def test_what_passed_is_not_played_again_and_what_failed_is(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    kept, lines = Results(tmp_path / "kept"), list[str]()
    play_all(PARTS, kept, tmp_path, yes, lines.append)
    assert played(tmp_path) == ["good -x", "bad "]
    assert "what went wrong" in lines[-1]
    outcomes = kept.outcomes()
    assert [outcomes[part.name].result for part in PARTS] == [PASSED, FAILED]
    assert outcomes["one 1/2"].durations.pieces == {"pair/a": 2.5}
    play_all(PARTS, Results(tmp_path / "kept"), tmp_path, yes, lines.append)
    assert played(tmp_path) == ["good -x", "bad ", "bad "]


def test_an_interruption_lets_the_part_end_and_the_next_run_goes_on(tmp_path: Path) -> None:
    """What a suite has brought up it takes down before another one begins."""
    makefile = """
good:
\t@trap 'sleep 0.3; touch ended; exit 1' INT; touch began; while :; do sleep 0.05; done
"""
    (tmp_path / "Makefile").write_text(makefile)
    program = (
        # A shell ignores SIGINT in what it runs in the background, and its children inherit that.
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import sys; from pathlib import Path\n"
        "from tests.pieces.everything import Part, Results, play_all\n"
        "here = Path(sys.argv[1])\n"
        "play_all([Part('a', 'good')], Results(here / 'kept'), here, lambda: True, print)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    until(lambda: (tmp_path / "began").exists())
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(patient(20)) != 0
    assert (tmp_path / "ended").exists()
    assert Results(tmp_path / "kept").outcomes() == {}


def until(holds: Callable[[], bool]) -> None:
    end_s = time.monotonic() + patient(20)
    while not holds():
        assert time.monotonic() < end_s
        time.sleep(0.02)


def test_a_second_run_for_the_same_commit_is_refused_while_the_first_one_runs(
    tmp_path: Path,
) -> None:
    with (
        Results(tmp_path).locked(),
        pytest.raises(NotKept, match="another make everything runs for this commit"),
        Results(tmp_path).locked(),
    ):
        raise AssertionError("two runs write the same logs")
    with Results(tmp_path).locked():
        pass


def test_what_a_changed_checkout_passed_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    results = Results(tmp_path / "kept")
    with pytest.raises(NotKept, match=r"one 1/2 is not kept: the checkout has changed meanwhile"):
        play_all(PARTS, results, tmp_path, lambda: False, list[str]().append)
    assert results.outcomes() == {}


def test_a_part_of_which_a_piece_had_no_test_has_not_passed(tmp_path: Path) -> None:
    """Without root a real node is left out, and on a cluster of others the faults are."""
    (tmp_path / "Makefile").write_text(MAKEFILE)
    results, lines = Results(tmp_path / "kept"), list[str]()
    play_all([Part("one", "good", "", ("pair/a", "pair/b"))], results, tmp_path, yes, lines.append)
    assert results.outcomes()["one"].result == LEFT_OUT
    assert "  no test of pair/b was played" in lines


def test_a_piece_whose_tests_were_all_skipped_was_not_played(tmp_path: Path) -> None:
    lines = [
        ["tests/e2e/test_a.py::a", "pair/a", "setup", "skipped", 0.0],
        ["tests/e2e/test_b.py::a", "pair/b", "setup", "skipped", 0.0],
        ["tests/e2e/test_b.py::b", "pair/b", "call", "passed", 1.0],
    ]
    path = tmp_path / "durations"
    text = "".join(json.dumps(line) + "\n" for line in lines)
    path.write_text(f'{text}["tests/e2e/test_b.py::b", "pa')
    found = noting.read(path)
    assert found.not_played(["pair/a", "pair/b", "pair/c"]) == ["pair/a", "pair/c"]


def test_results_that_are_damaged_are_played_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "outcomes.json").write_text('[{"part": ')
    assert Results(tmp_path).outcomes() == {}
    assert "outcomes.json cannot be read, so every part is played" in capsys.readouterr().out


def test_a_part_that_outlives_its_run_keeps_the_lock(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("good:\n\t@touch began; sleep 1.5\n")
    program = (
        "import sys; from pathlib import Path\n"
        "from tests.pieces.everything import Part, Results, play_all\n"
        "here = Path(sys.argv[1]); results = Results(here / 'kept')\n"
        "with results.locked():\n"
        "    play_all([Part('a', 'good')], results, here, lambda: True, print)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, stdout=subprocess.DEVNULL
    )
    until(lambda: (tmp_path / "began").exists())
    process.kill()
    process.wait(patient(20))
    with pytest.raises(NotKept), Results(tmp_path / "kept").locked():
        pass
    until(lambda: is_free(tmp_path / "kept"))


def is_free(folder: Path) -> bool:
    try:
        with Results(folder).locked():
            return True
    except NotKept:
        return False


def test_the_slowest_tests_of_all_parts_are_listed() -> None:
    one = Durations(tests={f"a{number}": float(number) for number in range(15)})
    two = Durations(tests={f"b{number}": number + 0.5 for number in range(15)})
    outcomes = [Outcome("1", "t", PASSED, 1.0, one), Outcome("2", "t", PASSED, 1.0, two)]
    lines = list(slowest(outcomes))
    assert lines[:2] == ["  14.5 s  b14", "  14.0 s  a14"]
    assert len(lines) == 20


def test_a_part_plays_its_pieces_and_the_tests_of_none_only_where_it_is_for_them(
    tmp_path: Path,
) -> None:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    play_all(PARTS, Results(tmp_path / "kept"), tmp_path, yes, list[str]().append)
    shares = [json.loads(line) for line in (tmp_path / "shares").read_text().splitlines()]
    assert shares == [{"pieces": ["pair/a"], "always": False}, {"pieces": [], "always": True}]


def test_all_pieces_are_in_one_part_each() -> None:
    found = pieces(ROOT)
    parts = parts_of(found, {})
    assert sorted(name for part in parts for name in part.pieces) == sorted(
        piece.name for piece in found
    )
    assert len({part.name for part in parts}) == len(parts)
    assert sum(part.name.startswith("pair ") for part in parts) == QUARTERS


def test_the_table_has_seconds_result_and_tests_of_a_part() -> None:
    durations = Durations(outcomes={"passed": 1200, "skipped": 3})
    line = line_of(Outcome("pair 1/4", "test-real", PASSED, 431.4, durations))
    assert " ".join(line.split()) == "pair 1/4 431 s passed 1,200 passed, 3 skipped"


def test_seconds_are_of_folders_of_suites_of_targets_and_of_pieces() -> None:
    one = Durations({"tests/unit/cli": 3.0}, {"pair/a": 1.0, "pair/b": 2.0})
    two = Durations({}, {"pair/b": 4.0})
    outcomes = [Outcome("1", "test", PASSED, 10.0, one), Outcome("2", "test", PASSED, 5.0, two)]
    assert measured(outcomes) == (
        {"make test": 15.0, "tests/unit/cli": 3.0, "suite pair": 7.0},
        {"pair/a": 1.0, "pair/b": 6.0},
    )


def test_a_test_counts_for_its_piece_or_else_for_its_folder(tmp_path: Path) -> None:
    lines = [
        ["tests/unit/cli/deep/test_a.py::a", "", "setup", "passed", 0.5],
        ["tests/unit/cli/deep/test_a.py::a", "", "call", "passed", 1.0],
        ["tests/e2e/test_b.py::b", "sandbox/b", "call", "failed", 2.0],
        ["tests/e2e/test_b.py::c", "sandbox/b", "setup", "skipped", 0.0],
    ]
    path = tmp_path / "durations"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = noting.read(path)
    assert found.folders == {"tests/unit/cli": 1.5}
    assert found.pieces == {"sandbox/b": 2.0}
    assert found.outcomes == {"passed": 1, "failed": 1, "skipped": 1}
    assert noting.read(tmp_path / "none") == Durations()
