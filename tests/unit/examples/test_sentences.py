"""The sentences of the demo: what the application counts is what its arithmetic says."""

from __future__ import annotations

import runpy

import pytest

from cli.demo_job import counts_in, truth_of
from cli.resources import SENTENCES
from millrace.loading import load_file

COUNT = 300


async def test_the_job_counts_what_the_demo_compares_it_with(
    capsys: pytest.CaptureFixture[str],
) -> None:
    app = load_file(SENTENCES / "app.py")
    await app.run_async({"count": COUNT, "rate": 1_000_000, "width": 3})
    assert counts_in(capsys.readouterr().out) == truth_of(COUNT)


def test_each_sentence_has_four_words_of_the_text() -> None:
    truth = truth_of(COUNT)
    assert sum(truth.values()) == 4 * COUNT
    text: str = runpy.run_path(str(SENTENCES / "app.py"))["TEXT"]
    assert truth.keys() == set(text.split())


def test_other_lines_of_a_log_are_no_counts() -> None:
    assert counts_in("started\n    1866  and\n2026-01-01 4  words\n     934  flow\n") == {
        "and": 1_866,
        "flow": 934,
    }
