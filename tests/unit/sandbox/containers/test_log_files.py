"""A log has the lines of a process with their times, and is of bounded size."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.containers.log_files import LINE_BYTES_MAX, Line, LogFile, lines_of, remove_older


@pytest.fixture
def log(tmp_path: Path) -> Iterator[LogFile]:
    """A log whose files have at most 1,000 bytes each, if lines are short."""
    made = LogFile(tmp_path / "log" / "0.log", lambda: 0.0, file_bytes_max=1_000)
    yield made
    made.close()


def lines(log: LogFile) -> list[Line]:
    found, offset = b"", log.begin
    while True:
        data, offset = log.read(offset, 1_000_000)
        if not data:
            return lines_of(found)
        found += data


def texts(log: LogFile) -> list[bytes]:
    return [line.text for line in lines(log)]


def test_a_line_is_there_when_it_is_complete_and_the_last_one_at_the_end(log: LogFile) -> None:
    log.write(b"one\ntw")
    assert texts(log) == [b"one"]
    log.write(b"o\nthree")
    log.close()
    assert texts(log) == [b"one", b"two", b"three"]
    assert log.read(0, 40)[0] == b"1970-01-01T00:00:00.000000000Z stdout F "


def test_a_long_line_is_kept_in_pieces(log: LogFile) -> None:
    log.write(b"x" * (LINE_BYTES_MAX + 5))
    log.write(b"y\nz\n")
    assert [(line.is_whole, len(line.text)) for line in lines(log)] == [
        (False, LINE_BYTES_MAX),
        (True, 6),
        (True, 1),
    ]


def test_a_full_log_forgets_its_older_half(log: LogFile, tmp_path: Path) -> None:
    for number in range(200):
        log.write(b"%d\n" % number)
    kept = texts(log)
    assert kept[-1] == b"199"
    assert kept == [b"%d" % number for number in range(200 - len(kept), 200)]
    assert sum(path.stat().st_size for path in (tmp_path / "log").iterdir()) <= 2_000


def test_who_reads_slower_than_it_is_written_goes_on_with_what_is_kept(
    log: LogFile, tmp_path: Path
) -> None:
    for number in range(200):
        log.write(b"%d\n" % number)
    data, after = log.read(0, 100)
    assert lines_of(data)
    assert after == log.begin + len(data)


async def test_waiting_for_more_ends_with_a_line_or_with_the_log(log: LogFile) -> None:
    waiting = asyncio.create_task(log.changed(0))
    await asyncio.sleep(0)
    assert not waiting.done()
    log.write(b"a\n")
    await waiting
    _, offset = log.read(0, 1_000)
    waiting = asyncio.create_task(log.changed(offset))
    await asyncio.sleep(0)
    log.close()
    await waiting


def test_the_end_of_a_log_is_text_without_times(log: LogFile) -> None:
    log.write(b"a\nb\n")
    assert log.last_text(3) == "a\nb"


def test_logs_of_runs_before_the_previous_one_are_removed(tmp_path: Path) -> None:
    for name in ("0.log", "0.log.1", "1.log", "2.log"):
        (tmp_path / name).touch()
    remove_older(tmp_path, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.log", "2.log"]
