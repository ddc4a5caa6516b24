"""A rolling upgrade of the services below `millrace up`: each gets an instance of another release.

The new instance has the environment of the old one, its own name and its own port, and the source
of the other release. It is ready before the old one stops.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp

from cli.controlling import ask
from cli.ports import LOOPBACK, free_ports
from services.roster import BY_NAME
from tests.e2e.killing import running_pids
from tests.e2e.watching import RETRY_S, WAIT_S, System
from tests.histories.releases import Tree
from tests.patience import patient

STOP_S_MAX = patient(20.0)


class Upgrade:
    """The instances of the release that comes."""

    def __init__(self, system: System, to: Tree) -> None:
        self._system, self._to = system, to
        self._started: list[asyncio.subprocess.Process] = []

    async def start(self, service: str) -> None:
        """Start an instance beside the old one, and wait until it is ready."""
        (pid,) = running_pids(self._system, service)
        (port,) = free_ports(1, random.SystemRandom())
        changed = {
            "MILLRACE_INSTANCE": f"{service}-{self._to.release.replace('.', '-')}",
            "MILLRACE_METRICS_PORT": str(port),
        }
        log = self._system.state / "logs" / f"{service}-next.log"
        with log.open("ab") as file:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", f"services.{BY_NAME[service].folder}"),
                cwd=self._to.root,
                env=_environment_of(pid) | changed,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
        self._started.append(process)
        await _until_ready(f"http://{LOOPBACK}:{port}/readyz", process, log)

    async def stop_old(self, service: str) -> None:
        """Stop the old instance as SIGTERM does."""
        answer = await ask(self._system.state, "stop", service)
        assert answer.endswith("ended with code 0"), answer

    @asynccontextmanager
    async def ended_with_block(self) -> AsyncIterator[None]:
        """At the end the new instances stop as well."""
        try:
            yield
        finally:
            for process in self._started:
                if process.returncode is None:
                    process.terminate()
            async with asyncio.timeout(STOP_S_MAX):
                await asyncio.gather(*(process.wait() for process in self._started))


def _environment_of(pid: int) -> dict[str, str]:
    settings = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    pairs = (os.fsdecode(each).partition("=") for each in settings if each)
    return {name: value for name, _, value in pairs}


async def _until_ready(url: str, process: asyncio.subprocess.Process, log: Path) -> None:
    async with asyncio.timeout(WAIT_S), aiohttp.ClientSession() as session:
        while True:
            assert process.returncode is None, f"it ended with {process.returncode}: {log}"
            with suppress(aiohttp.ClientError):
                async with session.get(url) as answer:
                    if answer.ok:
                        return
            await asyncio.sleep(RETRY_S)
