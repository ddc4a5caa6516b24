"""A system that does not come up is waited for no longer than said, and its words are shown."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.e2e.running import LOG_LINES_SHOWN, ended, first_line, logs_of

FOREVER_S = 600.0


def child(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)


def test_the_wait_for_a_silent_child_ends_at_its_deadline() -> None:
    """Half a line is what there is, and no `ready`."""
    silent = child("import time; print('rea', end='', flush=True); time.sleep(600)")
    try:
        assert first_line(silent, 0.2) in (b"", b"rea")
        assert silent.poll() is None
    finally:
        ended(silent)


def test_a_child_that_ends_is_not_waited_for() -> None:
    gone = child("pass")
    try:
        assert first_line(gone, FOREVER_S) == b""
    finally:
        ended(gone)


def test_the_first_line_leaves_the_rest_to_others() -> None:
    talking = child("print('ready'); print('more')")
    assert talking.stdout is not None
    try:
        assert first_line(talking, FOREVER_S) == b"ready\n"
        assert talking.stdout.read() == b"more\n"
    finally:
        ended(talking)


def test_the_message_of_a_failure_shows_what_everybody_said_last(tmp_path: Path) -> None:
    (tmp_path / "state" / "logs").mkdir(parents=True)
    (tmp_path / "up.log").write_text("starting the Kubernetes API\n")
    lines = [f"line {number}" for number in range(100)]
    (tmp_path / "state" / "logs" / "watch-ingest.log").write_text("\n".join(lines))
    shown = logs_of(tmp_path).splitlines()
    assert shown[:3] == ["--- up.log", "starting the Kubernetes API", "--- watch-ingest.log"]
    assert shown[3:] == lines[-LOG_LINES_SHOWN:]
