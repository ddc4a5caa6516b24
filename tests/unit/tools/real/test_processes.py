"""A process is identified by more than its pid; a reused pid is another process."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.private import open_to_others
from tools.real.processes import (
    ProcessId,
    identify,
    is_running,
    marked,
    parse_stat,
    send,
    spawn,
    stop,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the real pair needs Linux")

TAIL = "1 1 1 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 1 0 {ticks} 1000 {pages} 0 0"
WAITS = "import sys; print('here', flush=True); sys.stdin = open('/dev/null'); "
FOREVER = WAITS + "import signal; signal.pause()"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + WAITS + "signal.pause()"


def line(name: str, state: str, *, ticks: int = 77, pages: int = 3) -> str:
    return f"12 ({name}) {state} {TAIL.format(ticks=ticks, pages=pages)}\n"


@pytest.mark.parametrize("name", ["etcd", "a b", "a) R 9 9", "((("])
def test_a_processs_name_cannot_forge_its_other_fields(name: str) -> None:
    stat = parse_stat(line(name, "S"), page_bytes=4096)
    assert (stat.state, stat.started_ticks, stat.resident_bytes) == ("S", 77, 3 * 4096)


def test_a_later_process_with_the_same_number_is_another_one() -> None:
    ours = identify(os.getpid())
    assert ours is not None
    assert is_running(ours)
    assert not is_running(replace(ours, started_ticks=ours.started_ticks - 1))
    assert not is_running(replace(ours, boot="before the reboot"))


def test_no_signal_goes_to_a_process_that_only_has_the_number() -> None:
    ours = identify(os.getpid())
    assert ours is not None
    recycled = replace(ours, started_ticks=ours.started_ticks + 1)
    assert not send(recycled, signal.SIGKILL)  # or this test would not be here any more


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[ProcessId]]:
    """Processes that a test appends are stopped at its end."""
    processes: list[ProcessId] = []
    yield processes
    stop(processes, grace_s=0)


def run(code: str, folder: Path) -> ProcessId:
    process = spawn([sys.executable, "-c", code], folder / "log", marker=str(folder))
    assert process is not None
    return process


def test_a_process_is_found_by_its_marker_if_its_pid_was_not_recorded(
    tmp_path: Path, started: list[ProcessId]
) -> None:
    started.append(run(FOREVER, tmp_path))
    until_logged(tmp_path)
    assert marked(str(tmp_path)) == started
    assert marked(f"{tmp_path}-other") == []


def test_a_process_that_becomes_another_program_is_found_in_between(
    tmp_path: Path, started: list[ProcessId]
) -> None:
    """Its environment is empty for a moment; a process that was missed then kept running."""
    restless = tmp_path / "restless"
    restless.write_text(f"#!/bin/sh\nexec {restless}\n")
    restless.chmod(0o755)
    process = spawn([str(restless)], tmp_path / "log", marker=str(tmp_path))
    assert process is not None
    started.append(process)
    assert [marked(str(tmp_path)) for _ in range(100)] == [started] * 100


@pytest.mark.parametrize("code", [FOREVER, DEAF])
def test_a_stopped_process_is_gone_also_if_it_ignores_sigterm(
    code: str, tmp_path: Path, started: list[ProcessId]
) -> None:
    started.append(run(code, tmp_path))
    until_logged(tmp_path)
    stop(started, grace_s=0.1)
    assert not is_running(started[0])


def test_a_paused_process_can_be_stopped(tmp_path: Path, started: list[ProcessId]) -> None:
    started.append(run(FOREVER, tmp_path))
    until_logged(tmp_path)
    assert send(started[0], signal.SIGSTOP)
    stop(started)
    assert not is_running(started[0])


def test_a_process_has_a_session_of_its_own(tmp_path: Path, started: list[ProcessId]) -> None:
    """Ctrl-C in our terminal reaches a whole session; the pair outlives it."""
    started.append(run(FOREVER, tmp_path))
    assert os.getsid(started[0].pid) == started[0].pid


def test_files_of_a_process_are_private_to_its_owner(
    tmp_path: Path, started: list[ProcessId]
) -> None:
    """Also with an open umask, which is restored."""
    (tmp_path / "data").mkdir(mode=0o700)
    before = os.umask(0)
    try:
        started.append(run(f"open({str(tmp_path / 'data' / 'f')!r}, 'w'); {FOREVER}", tmp_path))
        assert os.umask(0) == 0
    finally:
        os.umask(before)
    until_logged(tmp_path)
    assert (tmp_path / "data" / "f").exists()
    assert open_to_others(tmp_path) == []


def until_logged(folder: Path) -> None:
    """Wait until the process has logged that it is up."""
    while "here" not in (folder / "log").read_text():
        os.sched_yield()
