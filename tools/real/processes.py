"""Processes that outlive the command that started them, identified by more than their pid.

A pid alone is not an identity: the kernel reuses it. A process is ours if it has the recorded pid
*and* started in the recorded tick of the recorded boot. Every process also has the folder of its
pair in its environment, so that one whose pid was never recorded is found.

Reads /proc: Linux only; `commands.py` refuses other systems.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cli.private import FILE_MODE, OTHERS

MARKER = "MILLRACE_REAL_PAIR"
STOP_GRACE_S = 8.0
KILL_GRACE_S = 5.0
STOP_POLL_S = 0.02
EXEC_PAUSE_S = 0.005
EXEC_LOOKS_MAX = 100
GOGC = "200"
"""Servers written in Go collect when their heap is three times what it was after the last time, not
twice: a pair has memory, and its cores are busy."""
INHERITED = ("PATH", "HOME", "LANG", "JAVA_HOME", "TZ")
_PROC = Path("/proc")
_STATE, _PARENT, _START_TICKS, _RSS_PAGES = 0, 1, 19, 21  # of /proc/PID/stat, after the name


@dataclass(frozen=True, slots=True)
class ProcessId:
    """The identity of a process: pid, start time and boot."""

    pid: int
    started_ticks: int
    boot: str


@dataclass(frozen=True, slots=True)
class ProcessStat:
    """State, start time, memory and parent of a process."""

    state: str
    started_ticks: int
    resident_bytes: int
    parent: int = 0


def parse_stat(text: str, page_bytes: int) -> ProcessStat:
    """The line of /proc/PID/stat. The name in it may hold spaces and parentheses."""
    fields = text.rpartition(")")[2].split()
    ticks, pages = int(fields[_START_TICKS]), int(fields[_RSS_PAGES])
    return ProcessStat(fields[_STATE], ticks, pages * page_bytes, int(fields[_PARENT]))


def stat_of(pid: int) -> ProcessStat | None:
    """The state of a process; None if it does not exist or is a zombie."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    stat = parse_stat(text, os.sysconf("SC_PAGE_SIZE"))
    return None if stat.state in "ZX" else stat


def boot_id() -> str:
    """An id that changes with every boot."""
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


def identify(pid: int) -> ProcessId | None:
    """The identity of a running process; None if it does not run."""
    stat = stat_of(pid)
    return ProcessId(pid, stat.started_ticks, boot_id()) if stat else None


def is_running(process: ProcessId) -> bool:
    """Whether this very process runs, and not a later one with the same pid."""
    return identify(process.pid) == process


def environment(marker: str) -> dict[str, str]:
    """The environment of a part; `marked` finds the process by the marker in it."""
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return inherited | {"GOGC": GOGC, MARKER: marker}


def spawn(
    command: Sequence[str], log: Path, *, marker: str, path: str = "", umask: int = OTHERS
) -> ProcessId | None:
    """Start a process in a session of its own, its output in `log`; None if it ended at once.

    It outlives us and gets no Ctrl-C of our terminal. Its files are private to their owner, unless
    `umask` says otherwise. It looks for programs in `path`, or else where we do.
    """
    before = os.umask(umask)
    try:
        pid = _spawn(command, log, environment(marker) | ({"PATH": path} if path else {}))
    finally:
        os.umask(before)
    return identify(pid)


def _spawn(command: Sequence[str], log: Path, variables: Mapping[str, str]) -> int:
    return os.posix_spawn(
        command[0],
        list(command),
        variables,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, FILE_MODE),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )


def marked(marker: str) -> list[ProcessId]:
    """Every process of ours that was started for this pair, recorded or not."""
    wanted = f"{MARKER}={marker}".encode()
    found = []
    for entry in _PROC.iterdir():
        if not entry.name.isdecimal():
            continue
        # A process may end meanwhile, and those of other users cannot be read.
        with contextlib.suppress(OSError):
            if wanted in _environment_of(entry).split(b"\0"):
                found.append(identify(int(entry.name)))
    return [process for process in found if process is not None]


def _environment_of(entry: Path) -> bytes:
    """The environment of a process. Waits while it is empty, as it is for a moment during exec.

    Kernel threads and ended processes have no environment and no program. Raises OSError.
    """
    for _ in range(EXEC_LOOKS_MAX):
        environment = (entry / "environ").read_bytes()
        if environment:
            return environment
        (entry / "exe").readlink()
        time.sleep(EXEC_PAUSE_S)
    return b""


def stop(processes: Iterable[ProcessId], *, grace_s: float = STOP_GRACE_S) -> None:
    """Send SIGTERM to all, and SIGKILL after `grace_s`. Blocks until none of them runs."""
    left = [process for process in processes if is_running(process)]
    for number, patience_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, KILL_GRACE_S)):
        for process in left:
            send(process, number)
            send(process, signal.SIGCONT)  # a paused process handles SIGTERM only after SIGCONT
        left = _left_after(left, patience_s)


def send(process: ProcessId, number: signal.Signals) -> bool:
    """Send a signal; False if the process does not run any more."""
    if not is_running(process):
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, number)
        return True
    return False


def _left_after(processes: list[ProcessId], patience_s: float) -> list[ProcessId]:
    end_s = time.monotonic() + patience_s
    left = processes
    while left and time.monotonic() < end_s:
        for process in left:
            # Reap it if it is our child; init reaps the others.
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)
        left = [process for process in left if is_running(process)]
        if left:
            time.sleep(STOP_POLL_S)
    return left


def age_s(process: ProcessId) -> float:
    """Seconds since a running process started."""
    up_s = float((_PROC / "uptime").read_text().split()[0])
    return up_s - process.started_ticks / os.sysconf("SC_CLK_TCK")


def resident_bytes(process: ProcessId) -> int:
    """The resident memory of a process; 0 if it does not run."""
    stat = stat_of(process.pid) if is_running(process) else None
    return stat.resident_bytes if stat else 0
