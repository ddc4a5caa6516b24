"""Child processes of `millrace up`: start, log to a file, restart with back-off, stop in order.

A child is a command that runs until `stop`; `running.py` defines the commands. The kernel ends a
child when `up` ends, and files of a child are private to their owner.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cli.failing import Failure
from cli.private import OTHERS, private_log
from cli.showing import print_lines
from services.chassis.process.settings import EXIT_USAGE

STOP_GRACE_S = 15.0
"""Longer than the grace period of a service (10 s), in which it finishes effects in flight."""
RESTART_DELAY_S = 0.5
RESTART_DELAY_MAX_S = 15.0
RESTART_RESETS_AFTER_S = 60.0
"""A child that ran for longer starts again with the shortest delay."""
_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    """On Linux the kernel sends SIGTERM to the child when we end, even by SIGKILL."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """A command to keep running; if an `essential` one ends, `up` ends."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    essential: bool = False


class ChildEnded(Failure):
    """A child ended and is not restarted; the message names it, its exit code and its log."""


class Child:
    """One running child; `keep_running` restarts it until `stop` is called."""

    def __init__(self, spec: ChildSpec, log: Path) -> None:
        self.spec = spec
        self.log = log
        self.restarts = 0
        self.since_s: float | None = None
        """The Unix time at which its last process began, or ended."""
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = False

    @property
    def pid(self) -> int | None:
        """The process id of its last process, which may have ended."""
        return self._process.pid if self._process else None

    @property
    def state(self) -> str:
        """running, stopping, stopped (by `stop`), or ended: it is started again."""
        has_ended = self._process is None or self.exit_code is not None
        if self.is_stopped():
            return "stopped" if has_ended else "stopping"
        return "ended" if has_ended else "running"

    @property
    def exit_code(self) -> int | None:
        """The exit code of its last process; None while it runs, and before the first start."""
        return self._process.returncode if self._process else None

    async def keep_running(self) -> None:
        """Run the child and restart it with back-off. Raises ChildEnded if an essential one ends.

        Also raises it if a child refuses its settings: a restart would not change them.
        """
        delay_s = RESTART_DELAY_S
        while not self.is_stopped():
            began_s = asyncio.get_running_loop().time()
            code = await self._run_once()
            if self.is_stopped():
                return
            if self.spec.essential or code == EXIT_USAGE:
                raise ChildEnded(
                    f"{self.spec.name} ended with code {code}; the end of its log ({self.log}):",
                    *self.last_lines(),
                )
            if asyncio.get_running_loop().time() - began_s > RESTART_RESETS_AFTER_S:
                delay_s = RESTART_DELAY_S
            print_lines(
                f"{self.spec.name} ended with code {code}; starting it again in {delay_s:g} s"
            )
            self.restarts += 1
            await asyncio.sleep(delay_s)
            delay_s = min(delay_s * 2, RESTART_DELAY_MAX_S)

    def is_stopped(self) -> bool:
        """Whether `stop` was called: the child is not started again."""
        return self._stopping

    async def _run_once(self) -> int:
        with private_log(self.log) as log:
            self._process = await asyncio.create_subprocess_exec(
                *self.spec.command,
                env=dict(self.spec.environment),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                umask=OTHERS,
                preexec_fn=_die_with_parent,
            )
        self.since_s = time.time()
        try:
            return await self._process.wait()
        finally:
            self.since_s = time.time()

    async def stop(self) -> None:
        """Send SIGTERM, then SIGKILL after STOP_GRACE_S."""
        self._stopping = True
        process = self._process
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(STOP_GRACE_S):
                await process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    def last_lines(self, count: int = 15) -> list[str]:
        """The last `count` lines of the child's log."""
        if not self.log.exists():
            return []
        return self.log.read_text(errors="replace").splitlines()[-count:]


class Crew:
    """Children that run side by side; if an essential one ends, `owner` is cancelled."""

    def __init__(self, logs: Path, owner: asyncio.Task[Any] | None) -> None:
        self.children: dict[str, Child] = {}
        self._logs = logs
        self._owner = owner
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, spec: ChildSpec) -> Child:
        """Start a child and keep it running."""
        child = self.children[spec.name] = Child(spec, self._logs / f"{spec.name}.log")
        task = asyncio.create_task(child.keep_running(), name=spec.name)
        task.add_done_callback(self._wake_owner)
        self._tasks[spec.name] = task
        return child

    def _wake_owner(self, done: asyncio.Task[None]) -> None:
        if not done.cancelled() and done.exception() is not None and self._owner is not None:
            self._owner.cancel()

    def first_failure(self) -> BaseException | None:
        """The exception of the first child that failed; None if every child is well."""
        for task in self._tasks.values():
            if task.done() and not task.cancelled() and task.exception() is not None:
                return task.exception()
        return None

    async def stop(self, names: Iterable[str]) -> None:
        """Stop some children, all at once; names that were never started are skipped."""
        started = [name for name in names if name in self.children]
        await asyncio.gather(*(self.children[name].stop() for name in started))
        tasks = [self._tasks[name] for name in started]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
