"""The rounds of `make test-real` say whether all was green."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.real.rerunning import FILE_SETTING, Rerun, reruns_in, why_of
from tests.real.rounds import (
    FAILED,
    NOTHING_SELECTED,
    OPTIONS,
    RoundEnd,
    exit_code_of,
    lines_of,
)


@pytest.mark.parametrize(
    ("codes", "selecting", "expected"),
    [
        ((0, 0, 0), False, 0),
        ((0, 1, 0), False, FAILED),
        ((0, 2, 0), True, FAILED),
        ((0, NOTHING_SELECTED), False, FAILED),
        ((0, NOTHING_SELECTED), True, 0),
        ((NOTHING_SELECTED, NOTHING_SELECTED), True, NOTHING_SELECTED),
        ((NOTHING_SELECTED,), False, NOTHING_SELECTED),
    ],
)
def test_a_run_is_green_only_where_something_was_selected_and_all_of_it_was_green(
    codes: tuple[int, ...], selecting: bool, expected: int
) -> None:
    """Words that select nothing anywhere are a mistake; a folder without tests is one, too."""
    ends = [RoundEnd("tests/real", code, 1.0) for code in codes]
    assert exit_code_of(ends, selecting=selecting) == expected


def test_a_round_says_its_folder_its_time_and_its_outcome() -> None:
    """One line a round is what people read of a run of many minutes."""
    assert "tests/e2e" in RoundEnd("tests/e2e", 0, 12.4).sentence
    assert RoundEnd("tests/e2e", 0, 12.4).sentence.endswith("12 s  green")
    assert RoundEnd("tests/e2e", 1, 2.0).sentence.endswith("failed (exit code 1)")


def test_tests_that_were_tried_twice_are_reported_last_and_counted_in_their_round() -> None:
    """What is green at the second try only would be read as green."""
    rerun = Rerun("tests/e2e/test_a.py::test_b", "KeyError: 'c'")
    ends = [RoundEnd("tests/e2e", 0, 12.4, [rerun]), RoundEnd("tests/real/faults", 0, 1.0)]
    first, second, last = lines_of(ends)
    assert first.endswith("green, 1 tried twice")
    assert second.endswith("green")
    assert last == "tried twice: tests/e2e/test_a.py::test_b\n  KeyError: 'c'"


_FLAKY = """
from pathlib import Path

def test_green_at_the_second_try(request):
    marker = Path(request.config.rootpath) / "tried"
    tried = marker.exists()
    marker.touch()
    assert tried, "not yet"

def test_green():
    pass
"""


def test_what_a_test_failed_with_at_its_first_try_is_written_down(tmp_path: Path) -> None:
    """By a pytest of its own, with the options of every round."""
    (tmp_path / "test_flaky.py").write_text(_FLAKY)
    file = tmp_path / "reruns.jsonl"
    command = [sys.executable, "-m", "pytest", *OPTIONS, f"--rootdir={tmp_path}", str(tmp_path)]
    environment = dict(os.environ) | {FILE_SETTING: str(file), "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout
    (rerun,) = reruns_in(file)
    assert rerun.test == "test_flaky.py::test_green_at_the_second_try"
    assert "not yet" in rerun.why
    assert reruns_in(tmp_path / "none.jsonl") == ()


_GROUPS = """
    async def test_a():
        async with asyncio.TaskGroup() as group:
>           group.create_task(fail())

  + Exception Group Traceback (most recent call last):
  |   File "/x/runner.py", line 341, in from_call
  |     result = func()
  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/x/test_a.py", line 9, in fail
    |     raise ValueError("no width")
    | ValueError: no width
    +---------------- 2 ----------------
    | AssertionError
    +------------------------------------
"""


def test_the_exceptions_of_a_group_are_named() -> None:
    report = pytest.TestReport("t", ("t", 1, "t"), {}, "failed", longrepr=_GROUPS, when="call")
    assert why_of(report) == (
        "ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)"
        " / ValueError: no width / AssertionError"
    )


_TIMED_OUT = """
    async def test_a():
        async with asyncio.timeout(5):
>           await job.until(runs)

tests/test_a.py:4:
_ _ _ _
>       await self.changed.wait()
E   asyncio.exceptions.CancelledError

The above exception was the direct cause of the following exception:
    async def test_a():
>       async with asyncio.timeout(5):
E   TimeoutError
"""


def test_a_time_out_without_words_is_shown_with_the_line_that_waited() -> None:
    report = pytest.TestReport("t", ("t", 1, "t"), {}, "failed", longrepr=_TIMED_OUT, when="call")
    assert why_of(report) == (
        "asyncio.exceptions.CancelledError / TimeoutError / at: await job.until(runs)"
    )
