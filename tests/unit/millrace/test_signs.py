"""What a PE shows: exit codes, the liveness file, the termination message, and its logs."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.errors import LoadError, OperatorFailed, ParameterError
from millrace.runtime.endings import Ending, PortInUse, ending_of
from millrace.runtime.signs import (
    MESSAGE_BYTES_MAX,
    LiveFile,
    live,
    termination_message,
    write_termination_message,
)
from millrace.runtime.tracing import (
    LINE_CHARS_MAX,
    Lines,
    TraceLevel,
    begin_logging,
    more_verbose,
    set_levels,
)
from tests.places import ROOT

# ---------------------------------------------------------------- endings


def test_exit_codes_differ_and_stay_below_those_of_shells_and_signals() -> None:
    codes = [each.code for each in Ending]
    assert len(set(codes)) == len(codes)
    assert [each for each in Ending if each.code == 0] == [Ending.COMPLETED], "never by a signal"
    assert all(each.code < 126 for each in Ending if each is not Ending.STOPPED)


def test_reasons_are_single_words_and_sentences_end() -> None:
    assert Ending.PORT_IN_USE.reason == "PortInUse"
    assert all(each.sentence.endswith(".") for each in Ending)


def test_the_docs_list_each_ending_in_its_order() -> None:
    page = (ROOT / "docs/applications.md").read_text(encoding="utf-8")
    rows = [f"| {each.code} | `{each.reason}` | {each.sentence} |" for each in Ending]
    assert "\n".join(rows) in page


@pytest.mark.parametrize(
    ("problem", "ending"),
    [
        (PortInUse("10000"), Ending.PORT_IN_USE),
        (OperatorFailed("A", 1, ValueError()), Ending.OPERATOR_FAILED),
        (LoadError("no module"), Ending.IMPORT_FAILED),
        (ParameterError("n is no number"), Ending.VALUE_REFUSED),
        (ValueError(), Ending.CRASHED),
        (ExceptionGroup("", [ExceptionGroup("", [PortInUse("1")])]), Ending.PORT_IN_USE),
    ],
)
def test_an_error_gives_the_ending_that_it_means(problem: Exception, ending: Ending) -> None:
    assert ending_of(problem) is ending


# ---------------------------------------------------------------- the liveness file


async def test_the_file_exists_while_the_loop_runs(tmp_path: Path) -> None:
    path = tmp_path / "tmp" / "live"
    assert not path.exists()
    with live(LiveFile(path)):
        await asyncio.sleep(0)
        assert path.exists()


def test_a_loop_that_does_not_move_loses_the_file_and_gets_it_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "live"
    file = LiveFile(path, stalled_looks=3)
    file.beat()
    file.look()
    file.look()
    assert path.exists()
    file.look()
    assert not path.exists()
    assert "test_a_loop_that_does_not_move" in caplog.text
    file.beat()
    assert path.exists()


def test_a_loop_that_moves_between_looks_keeps_the_file(tmp_path: Path) -> None:
    file = LiveFile(tmp_path / "live", stalled_looks=2)
    for _ in range(10):
        file.beat()
        file.look()
    assert (tmp_path / "live").exists()


def test_a_pe_that_is_given_up_does_not_make_the_file_again(tmp_path: Path) -> None:
    file = LiveFile(tmp_path / "live")
    file.beat()
    file.give_up()
    file.beat()
    assert not (tmp_path / "live").exists()


def test_a_folder_that_cannot_be_written_is_logged_and_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "tmp").write_text("a file")
    LiveFile(tmp_path / "tmp" / "live").beat()
    assert "cannot be made" in caplog.text


# ---------------------------------------------------------------- the termination message


def test_the_termination_message_begins_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "log"
    write_termination_message(path, Ending.PORT_IN_USE, "port 10000 of 10.0.0.7 is in use")
    assert path.read_text() == "PortInUse: port 10000 of 10.0.0.7 is in use"
    assert termination_message(Ending.STOPPED) == f"Stopped: {Ending.STOPPED.sentence}"
    assert termination_message(Ending.CRASHED, "a\n  b\r\nc") == "Crashed: a b c"


def test_a_long_message_is_cut_between_characters() -> None:
    text = termination_message(Ending.CRASHED, "é" * MESSAGE_BYTES_MAX)
    assert MESSAGE_BYTES_MAX - 2 <= len(text.encode()) <= MESSAGE_BYTES_MAX
    assert text.endswith("é…")


def test_text_that_is_no_unicode_still_becomes_a_message() -> None:
    assert "\\udcff" in termination_message(Ending.CRASHED, "a\udcff")


def test_a_message_that_cannot_be_written_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_termination_message(tmp_path / "none" / "log", Ending.CRASHED)
    assert "termination message cannot be written" in caplog.text


# ---------------------------------------------------------------- logs


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """What is logged; logging is as before after the test."""
    root, runtime = logging.getLogger(), logging.getLogger("millrace.runtime")
    before = (root.handlers[:], root.level, runtime.level)
    found = io.StringIO()
    begin_logging(TraceLevel.INFO, TraceLevel.ERROR, stream=found, job="shop", pe=4)
    yield found
    logging.captureWarnings(False)
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    runtime.setLevel(before[2])


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_each_line_is_json_with_job_and_pe(stream: io.StringIO) -> None:
    logging.getLogger("shop.orders").info("order %s\nis late", 7)
    (line,) = lines(stream)
    assert line["event"] == "order 7\nis late"
    assert (line["level"], line["logger"], line["job"], line["pe"]) == (
        "info",
        "shop.orders",
        "shop",
        4,
    )


def test_the_levels_of_application_and_runtime_are_apart_and_change(stream: io.StringIO) -> None:
    app, runtime = logging.getLogger("shop"), logging.getLogger("millrace.runtime.gateway")
    app.info("1")
    runtime.warning("2")
    set_levels(TraceLevel.OFF, TraceLevel.TRACE)
    app.critical("3")
    runtime.log(5, "4")
    assert [(line["event"], line["level"]) for line in lines(stream)] == [
        ("1", "info"),
        ("4", "trace"),
    ]


def test_a_traceback_is_part_of_its_line(stream: io.StringIO) -> None:
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("shop").exception("failed")
    (line,) = lines(stream)
    assert str(line["exception"]).endswith("ValueError: broken")


def test_hostile_values_do_not_end_the_program_or_fill_the_log() -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    def event(message: str, *values: object) -> str:
        record = logging.LogRecord("shop", logging.ERROR, "", 1, message, values, None)
        line = Lines({}).format(record)
        assert "\n" not in line
        return str(json.loads(line)["event"])

    assert len(event("%s", "x" * 1_000_000)) < LINE_CHARS_MAX + 100
    assert event("%r", Hostile()) == "%r (its arguments cannot be shown)"
    assert event("%d", "no number") == "%d (its arguments cannot be shown)"
    assert event("a\udcff") == "a\\udcff"


def test_trace_levels_are_parsed_and_compared() -> None:
    assert TraceLevel.parsed("Warn") is TraceLevel.WARN
    assert more_verbose(TraceLevel.ERROR, TraceLevel.DEBUG) is TraceLevel.DEBUG
    assert more_verbose(TraceLevel.OFF, TraceLevel.ERROR) is TraceLevel.ERROR
    with pytest.raises(ValueError, match="off, error, warn"):
        TraceLevel.parsed("loud")
