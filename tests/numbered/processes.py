"""The processes of a job's PEs on the sandbox: which is whose, killed, frozen and woken."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from xml.etree import ElementTree

from tests.e2e.watching import JobObjects
from tests.patience import patient

OPERATOR = "{http://www.ibm.com/xmlns/prod/streams/application}operInstance"
PROCESS = "process://"
CATCH_S = patient(60.0)
LOOK_S = 0.0005
STOPS_S = 0.01
"""A process that gets SIGSTOP has stopped after so long."""


def operators_of(job: JobObjects) -> dict[str, list[str]]:
    """The names of the operators in each PE, such as `Counting[1].Passed`, by name of the PE."""
    found = {}
    for name, pe in job.of("pes").items():
        pack = pe["spec"]["pack"]
        text = job.of("config_maps")[pack["name"]]["data"][pack["key"]]
        instances = ElementTree.fromstring(text).iter(OPERATOR)
        found[name] = [str(each.get("name")) for each in instances]
    return found


def pes_of(job: JobObjects, operator: str) -> list[str]:
    """The PEs that have an operator: one for each channel, in their order."""
    found = {
        each: name
        for name, operators in operators_of(job).items()
        for each in operators
        if each.rpartition(".")[2] == operator
    }
    return [found[each] for each in sorted(found)]


def id_of(pe: str) -> int:
    """The id of a PE by its name."""
    return int(pe.rpartition("-")[2])


def pid_of(job: JobObjects, pe: str) -> int:
    """The process of a PE; 0 if it has none now."""
    for pod in job.of("pods").values():
        if pod["metadata"]["ownerReferences"][0]["name"] != pe:
            continue
        for each in pod["status"].get("containerStatuses") or ():
            container = str(each.get("containerID", ""))
            if container.startswith(PROCESS) and "running" in (each.get("state") or {}):
                return int(container.removeprefix(PROCESS))
    return 0


def pids_of(job: JobObjects, pes: Iterable[str]) -> list[int]:
    """The processes of PEs; each has one."""
    pids = [pid_of(job, pe) for pe in pes]
    assert all(pids), f"{pes} have processes {pids}"
    return pids


def kill(pids: Iterable[int]) -> None:
    """SIGKILL, to all of them at once."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    """Whether a process is there, and is no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


async def until_over(pid: int, wait_s: float) -> float:
    """Return when a process has ended: after how many seconds."""
    began = time.monotonic()
    while is_alive(pid):
        assert time.monotonic() < began + wait_s, f"process {pid} goes on after {wait_s:g} s"
        await asyncio.sleep(0.05)
    return time.monotonic() - began


@asynccontextmanager
async def frozen(pid: int) -> AsyncIterator[None]:
    """A process does nothing until the end of the block."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        if is_alive(pid):
            os.kill(pid, signal.SIGCONT)


async def caught(pid: int, is_in_it: Callable[[], bool], wait_s: float = CATCH_S) -> None:
    """Stop a process in the middle of something that takes it milliseconds; it stays stopped."""
    await asyncio.to_thread(_catch, pid, is_in_it, wait_s)


def _catch(pid: int, is_in_it: Callable[[], bool], wait_s: float) -> None:
    end = time.monotonic() + wait_s
    while time.monotonic() < end:
        if is_in_it():
            os.kill(pid, signal.SIGSTOP)
            time.sleep(STOPS_S)
            if is_in_it():
                return
            os.kill(pid, signal.SIGCONT)
        time.sleep(LOOK_S)
    raise AssertionError(f"process {pid} was not caught in {wait_s:g} s")
