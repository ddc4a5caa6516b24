"""SIGKILL to a service of a running system, and its next process."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable

from cli.controlling import ask
from services.roster import BY_NAME
from tests.e2e.watching import System


def pids_of(system: System, service: str) -> list[int]:
    """The service's processes below `millrace up`."""
    parent = str(system.process.pid)
    found = subprocess.run(
        ["pgrep", "-P", parent, "-f", f"services.{BY_NAME[service].folder}"],
        capture_output=True,
        text=True,
        check=False,
    )
    return [int(pid) for pid in found.stdout.split()]


def kill(system: System, service: str) -> None:
    """End a service in the middle of whatever it does."""
    end(running_pids(system, service))


def running_pids(system: System, service: str) -> list[int]:
    """The service's processes; there is one."""
    pids = pids_of(system, service)
    assert pids, f"{service} does not run"
    return pids


def end(pids: Iterable[int]) -> None:
    """SIGKILL, at once: looking for the processes takes longer than a small resize."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


async def start_again(system: System, service: str) -> float:
    """Start a killed service, without the pause that grows with every kill, until it is ready.

    Returns when it was started (monotonic, seconds).
    """
    await ask(system.state, "stop", service)
    began_s = time.monotonic()
    await ask(system.state, "start", service)
    return began_s
