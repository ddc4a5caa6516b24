"""The services of a running system as processes: their metrics, their readiness, signals to them.

`millrace up` gives every process a port for its metrics, which is found in its environment.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import aiohttp

from services.roster import NAMES
from tests.e2e.killing import pids_of
from tests.e2e.watching import System
from tests.patience import patient

READERS = tuple(service for service in NAMES if service != "watch-ingest")
STAGES = ("fusion-backend", "pod-state-machine")
"""Readers among whose instances the partitions of jobs are divided."""
READY_S_MAX = patient(240.0)
POLL_S = 0.3
_SAMPLE = re.compile(r"^(?P<name>\w+)(?:\{[^}]*\})? (?P<value>[0-9.e+-]+)$", re.M)


async def metrics_of(pid: int) -> Mapping[str, float]:
    """The metrics of one process, labels added up; empty where it does not answer."""
    text = await _answer(pid, "metrics")
    found: dict[str, float] = {}
    for sample in _SAMPLE.finditer(text):
        found[sample["name"]] = found.get(sample["name"], 0.0) + float(sample["value"])
    return found


async def until_ready(system: System, instances: int = 1) -> None:
    """Wait until every service runs as often as it should, and has finished its restore."""
    async with asyncio.timeout(READY_S_MAX):
        for service in NAMES:
            while True:
                pids = pids_of(system, service)
                ready = [bool(await _answer(pid, "readyz")) for pid in pids]
                if len(ready) == instances and all(ready):
                    break
                await asyncio.sleep(POLL_S)


async def until_resynced(system: System, before: Mapping[int, float]) -> None:
    """Wait until each reader has heard everything once more than `before`, and has looked at it."""
    async with asyncio.timeout(READY_S_MAX):
        for service in READERS:
            for pid in pids_of(system, service):
                while True:
                    metrics = await metrics_of(pid)
                    heard = metrics.get("millrace_resyncs_completed_total", 0.0)
                    if heard > before.get(pid, 0.0) and not metrics["millrace_keys_waiting"]:
                        break
                    await asyncio.sleep(POLL_S)


async def resyncs(system: System) -> dict[int, float]:
    """How often each process of a reader has heard everything."""
    pids = [pid for service in READERS for pid in pids_of(system, service)]
    return {
        pid: (await metrics_of(pid)).get("millrace_resyncs_completed_total", 0.0) for pid in pids
    }


def tracebacks(system: System) -> list[str]:
    """What went wrong with a traceback in any service: the log, and the exception."""
    found = []
    for log in sorted((system.state / "logs").glob("*.log")):
        for line in log.read_text(errors="replace").splitlines():
            if line.startswith("Traceback"):
                found.append(f"{log.name}: a traceback outside of the log")
            elif '"exception"' in line:
                said = json.loads(line)
                chain = [f"{each['exc_type']}: {each['exc_value']}" for each in said["exception"]]
                found.append(f"{log.name}: {said['event']}: {'; '.join(chain)[:500]}")
    return found


async def _answer(pid: int, path: str) -> str:
    port = _port_of(pid)
    if not port:
        return ""
    timeout = aiohttp.ClientTimeout(total=patient(10.0))
    with suppress(aiohttp.ClientError, TimeoutError):
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"http://127.0.0.1:{port}/{path}") as response,
        ):
            return await response.text() if response.status == 200 else ""
    return ""


def instance_of(pid: int) -> str:
    """By which name a process holds a Lease; empty for one that has just ended."""
    return _setting_of(pid, b"MILLRACE_INSTANCE")


def _port_of(pid: int) -> str:
    """The port of a process; empty for one that has just ended."""
    return _setting_of(pid, b"MILLRACE_METRICS_PORT")


def _setting_of(pid: int, wanted: bytes) -> str:
    with suppress(OSError):
        for setting in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            name, _, value = setting.partition(b"=")
            if name == wanted:
                return value.decode()
    return ""
