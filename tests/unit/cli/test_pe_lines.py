"""Lines of a PE's log, for people: what was logged, and the traceback below it."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

import pytest

from cli.pe_lines import readable_lines
from millrace.runtime.tracing import Lines


def written(*, at_s: float = 1_800_000_000.25, problem: Exception | None = None) -> str:
    """A line as the runtime writes it."""
    what: dict[str, Any] = {"name": "counted", "levelname": "ERROR", "created": at_s}
    what |= {"msg": "a tuple was skipped:\n%s", "args": ("a word",)}
    what |= {"exc_info": (type(problem), problem, problem.__traceback__) if problem else None}
    return Lines({"job": "flow", "pe": 2, "launch": 1}).format(logging.makeLogRecord(what))


def raised() -> Exception:
    """An exception with a traceback."""
    try:
        raise KeyError("word")
    except KeyError as problem:
        return problem


def test_a_line_has_its_time_its_level_its_logger_and_what_was_logged() -> None:
    assert readable_lines(written()) == (
        "2027-01-15 08:00:00.250  error    counted: a tuple was skipped:",
        "    a word",
    )


def test_a_traceback_stands_below_its_line() -> None:
    first, _, *traceback = readable_lines(written(problem=raised()))
    assert first.endswith("counted: a tuple was skipped:")
    assert traceback[0] == "    Traceback (most recent call last):"
    assert any("in raised" in each for each in traceback)
    assert traceback[-1] == "    KeyError: 'word'"


def test_a_moment_without_a_fraction_has_the_same_width() -> None:
    assert datetime.fromtimestamp(1_800_000_000, UTC).isoformat() in written(at_s=1_800_000_000.0)
    first, _ = readable_lines(written(at_s=1_800_000_000.0))
    assert first.startswith("2027-01-15 08:00:00.000  error ")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain words",
        "{",
        "[]",
        "3",
        '{"event":"cut o',
        json.dumps({**json.loads(written()), "order": 5}),
        json.dumps({**json.loads(written()), "exception": None}),
        json.dumps({**json.loads(written()), "timestamp": "yesterday"}),
        json.dumps({**json.loads(written()), "timestamp": 5}),
    ],
)
def test_a_line_of_another_program_is_shown_as_it_is(text: str) -> None:
    assert readable_lines(text) == (text,)
