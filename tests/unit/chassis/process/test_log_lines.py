"""Log lines: what a line about a crash tells, and what it must not tell."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
import structlog

from services.chassis.process.log_lines import (
    LOG_LINE_CHARS_MAX,
    LOGGED_CHARS_MAX,
    configure,
    log_of,
)
from tests.hostile import HOSTILE, harm


def _fail(token: str) -> None:
    raise ValueError(f"a token of {len(token)} characters was refused")


def test_the_line_of_a_crash_names_its_frames_and_none_of_their_values() -> None:
    """A frame of the transport holds the token of the service."""
    stream = io.StringIO()
    before = structlog.get_config()
    configure("a-service", "INFO", stream)
    try:
        try:
            _fail("secret-of-a-frame")
        except ValueError:
            log_of("a-part").exception("crashed")
    finally:
        structlog.configure(**before)
        structlog.contextvars.clear_contextvars()
    line = stream.getvalue()
    assert "secret-of-a-frame" not in line
    (told,) = orjson.loads(line)["exception"]
    assert told["exc_value"] == "a token of 17 characters was refused"
    assert [frame["name"] for frame in told["frames"]][-1] == "_fail"


@pytest.fixture(name="stream")
def configured() -> Iterator[io.StringIO]:
    stream, before = io.StringIO(), structlog.get_config()
    handlers = logging.root.handlers[:]
    logging.root.handlers.clear()
    configure("a-service", "INFO", stream)
    yield stream
    logging.root.handlers[:] = handlers
    structlog.configure(**before)
    structlog.contextvars.clear_contextvars()


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_value_is_one_harmless_line_that_programs_read(
    text: str, stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a name, in an object, as a key, in an exception, and in the line of a library."""
    log = log_of(text)
    log.info("seen", name=text, object={text: [text, {"x": text}]}, **{text or "x": 1})
    try:
        raise ValueError(text)
    except ValueError as problem:
        log.exception(text, problem=repr(problem))
    seen, crashed = stream.getvalue().splitlines()
    assert harm(seen + crashed) == ""
    assert orjson.loads(crashed)["exception"][0]["exc_type"] == "ValueError"
    said = orjson.loads(seen)
    if len(text) <= LOGGED_CHARS_MAX and text != HOSTILE["surrogate"]:
        assert said["name"] == text
    # What the test runner captures it sends to another process, which takes no lone surrogate.
    ours = [each for each in logging.root.handlers if getattr(each, "stream", None) is stream]
    assert ours
    monkeypatch.setattr(logging.root, "handlers", ours)
    logging.getLogger("a-library").error("about %s", text)
    assert harm(stream.getvalue()) == ""


def test_a_megabyte_does_not_flood_the_log(stream: io.StringIO) -> None:
    """Nor do many keys, a deep value, or a line of many long fields."""
    deep: object = "x" * 1_000_000
    for _ in range(5_000):
        deep = [deep]
    wide = {f"{number}": "y" * 1_000 for number in range(50_000)}
    log = log_of("a-part")
    log.info("seen", name="x" * 1_000_000)
    log.info("seen", deep=deep, wide=wide, many=list(wide), digits=10**5_000, ours=1 << 80)
    short, long = stream.getvalue().splitlines()
    assert len(short) < LOGGED_CHARS_MAX + 300
    assert orjson.loads(short)["name"].endswith("… and 998000 characters more")
    assert len(long) < LOG_LINE_CHARS_MAX
    assert orjson.loads(long)["event"] == "seen"
    assert orjson.loads(long)["lineChars"] > LOG_LINE_CHARS_MAX
    logging.getLogger("a-library").error("x" * 1_000_000)
    assert len(stream.getvalue().splitlines()[-1]) < LOG_LINE_CHARS_MAX + 100


def test_values_keep_their_types(stream: io.StringIO) -> None:
    log_of("a-part").info(
        "seen", n=1, f=0.5, b=True, none=None, t=(1, 2), path=Path("/x"), k={1: 2}
    )
    said = orjson.loads(stream.getvalue())
    assert [said[name] for name in ("n", "f", "b", "none", "t", "path", "k")] == [
        1,
        0.5,
        True,
        None,
        [1, 2],
        "/x",
        {"1": 2},
    ]


def test_a_service_starts_without_what_only_consoles_need() -> None:
    """Imports are most of a start; another import still finds the package."""
    listed = (
        "import sys, services.chassis.process.log_lines;"
        "assert 'rich' not in sys.modules; import rich; print(rich.__name__)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", listed], capture_output=True, text=True, check=True
    )
    assert shown.stdout == "rich\n"
