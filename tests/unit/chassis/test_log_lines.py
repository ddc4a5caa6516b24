"""Log lines: what a line about a crash tells, and what it must not tell."""

from __future__ import annotations

import io

import orjson
import structlog

from services.chassis.log_lines import configure, log_of


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
