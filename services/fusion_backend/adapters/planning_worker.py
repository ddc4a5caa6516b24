"""Warm worker processes that plan, each behind two pipes.

A bundle is untrusted and a plan can be large, so planning happens where memory and CPU time have
limits, and where a crash takes down one task. A worker that dies, or does not answer in time, is
replaced; its task is Transient trouble and tried again later, other tasks go on.

Every task is first tried with little CPU time. One that needs more goes on among the slow ones,
which never have all workers: however many large jobs there are, small ones wait for short tasks
only. There it has all the CPU time that there is for a task, and a process of its own, whose memory
no other task has used. What exceeds a limit there would exceed it again, so it is refused.

A frame is a length (8 bytes, big-endian) and that many bytes. A task is one of JSON, an answer
several and an empty one. CPU time is limited by
task: RLIMIT_CPU counts a whole life, so it is set to what was used so far plus the budget.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import struct
import sys
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, BinaryIO

import orjson

from contracts.reasons import Reason
from planner.planning import PlanResult
from planner.refusals import PlanRefused, shown
from services.chassis.process.errors import Transient
from services.fusion_backend.adapters.answer_frames import from_frames, to_frames
from services.fusion_backend.adapters.planner import Applications, PlanTask, run_task

_LENGTH = struct.Struct(">Q")
ANSWER_BYTES_MAX = 512 * 1024 * 1024
STOP_GRACE_S = 2.0
SLOW_TASKS_KEPT_MAX = 1000
EXIT_OUT_OF_MEMORY = 77
"""The exit code of a worker whose task used up its memory; no signal and no traceback has it."""


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """What one worker may use; CPU seconds and wall seconds count for one task.

    `first_cpu_s_max` is the first try's; what exceeds it is slow and has `cpu_s_max`.
    """

    memory_bytes_max: int = 4 * 1024 * 1024 * 1024
    first_cpu_s_max: int = 5
    cpu_s_max: int = 120
    answer_s_max: float = 240.0


_CRASHES = frozenset({-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS})
"""Exit codes of a process that broke."""

# --------------------------------------------------------------------------- the service's side


class _Worker:
    """One process; a worker that failed once is not used again."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @staticmethod
    async def start(limits: WorkerLimits) -> _Worker:
        """A process that has imported everything by the time its first task arrives."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "services.fusion_backend.adapters.planning_worker",
            str(limits.memory_bytes_max),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        return _Worker(process)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process.returncode is None

    async def ask(self, message: bytes) -> list[bytes]:
        """The answer to a task. Raises ConnectionError or EOFError where the process died."""
        writer, reader = self._process.stdin, self._process.stdout
        assert writer is not None
        assert reader is not None
        writer.write(_LENGTH.pack(len(message)) + message)
        await writer.drain()
        frames: list[bytes] = []
        total = 0
        while (length := _LENGTH.unpack(await reader.readexactly(_LENGTH.size))[0]) > 0:
            total += length
            if total > ANSWER_BYTES_MAX:
                raise EOFError(f"an answer of more than {ANSWER_BYTES_MAX} bytes")
            frames.append(await reader.readexactly(length))
        return frames

    async def stop(self) -> None:
        """Close its input, which ends it; kill it if it works on something."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(STOP_GRACE_S):
                await self._process.wait()
        except TimeoutError:
            await self.kill()

    async def kill(self) -> None:
        """End it at once, and learn how it ended."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()

    @property
    def is_out_of_cpu(self) -> bool:
        """Whether it ended because its task used up its CPU time."""
        return self._process.returncode == -signal.SIGXCPU

    @property
    def is_out_of_memory(self) -> bool:
        """Whether it ended because its task used up its memory."""
        return self._process.returncode == EXIT_OUT_OF_MEMORY

    @property
    def has_crashed(self) -> bool:
        """Whether it broke, as libraries in C do that run out of memory: nobody else ended it."""
        return self._process.returncode in _CRASHES

    @property
    def epitaph(self) -> str:
        """How it ended, for people."""
        code = self._process.returncode
        return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


class WorkerPlanner:
    """Plans in worker processes, as many tasks at a time as there are workers.

    async with WorkerPlanner(workers=2) as planner: …

    One worker is warm from the start; others are started when tasks meet, so that a bundle that
    takes long to plan holds up nobody else. Of two or more, one is never given to a slow task.
    """

    def __init__(self, *, workers: int = 2, limits: WorkerLimits | None = None) -> None:
        self._limits = limits or WorkerLimits()
        self._slots = asyncio.Semaphore(workers)
        self._slow_slots = asyncio.Semaphore(max(1, workers - 1))
        self._slow: OrderedDict[str, None] = OrderedDict()
        self._idle: list[_Worker] = []

    async def __aenter__(self) -> WorkerPlanner:
        self._idle.append(await _Worker.start(self._limits))
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(worker.stop() for worker in self._idle))
        self._idle.clear()

    async def plan(self, task: PlanTask) -> PlanResult:
        """The plan. Raises PlanRefused, and Transient where a worker died or did not answer."""
        digest = task.inputs.digest
        if digest not in self._slow:
            try:
                return await self._planned(
                    task, min(self._limits.first_cpu_s_max, self._limits.cpu_s_max)
                )
            except _LimitReached:
                self._slow[digest] = None
                if len(self._slow) > SLOW_TASKS_KEPT_MAX:
                    self._slow.popitem(last=False)
        async with self._slow_slots:
            try:
                return await self._planned(task, self._limits.cpu_s_max, alone=True)
            except _LimitReached as limit:
                source = task.inputs.bundle
                raise PlanRefused(
                    Reason.PLANNING_LIMIT_EXCEEDED,
                    field=source.field,
                    value=source.value,
                    message=f"{source.field}: {shown(source.value)}: planning it takes {limit}",
                ) from limit

    async def _planned(self, task: PlanTask, cpu_s_max: int, *, alone: bool = False) -> PlanResult:
        async with self._slots:
            worker = await (_Worker.start(self._limits) if alone else self._take())
            is_reusable = False
            try:
                result = _read(await self._ask(worker, task, cpu_s_max))
                is_reusable = not alone
            except PlanRefused:
                is_reusable = not alone
                raise
            finally:
                # Also when cancelled: a worker in the middle of a task would answer the next.
                if is_reusable:
                    self._idle.append(worker)
                else:
                    await asyncio.shield(worker.kill())
        return result

    async def _take(self) -> _Worker:
        while self._idle:
            worker = self._idle.pop()
            if worker.is_alive:
                return worker
        return await _Worker.start(self._limits)

    async def _ask(self, worker: _Worker, task: PlanTask, cpu_s_max: int) -> list[bytes]:
        message = orjson.dumps({"cpuSecondsMax": cpu_s_max, "task": task.to_json()})
        try:
            async with asyncio.timeout(self._limits.answer_s_max):
                return await worker.ask(message)
        except TimeoutError as problem:
            why = f"the planner did not answer within {self._limits.answer_s_max:g} s"
            raise _trouble(why) from problem
        except (EOFError, ConnectionError) as problem:
            # Not killed: a signal to a process that is over reaps it, and how it ended is lost.
            await worker.stop()
            if worker.is_out_of_cpu:
                why = f"more than {cpu_s_max} s of CPU time"
                raise _LimitReached(why, "MILLRACE_PLANNER_CPU_S_MAX") from problem
            if worker.is_out_of_memory:
                why = f"more than {self._limits.memory_bytes_max // 1024**2} MiB of memory"
                raise _LimitReached(why, "MILLRACE_PLANNER_MEMORY_BYTES_MAX") from problem
            if worker.has_crashed:
                most = f"{self._limits.memory_bytes_max // 1024**2} MiB"
                why = f"more than {most} of memory, or else it crashes: it died with"
                setting = "MILLRACE_PLANNER_MEMORY_BYTES_MAX"
                raise _LimitReached(f"{why} {worker.epitaph}", setting) from problem
            raise _trouble(f"the planner died with {worker.epitaph}") from problem


class _LimitReached(Exception):
    """A task used up what its try may use; the message says how much that is."""

    def __init__(self, why: str, setting: str) -> None:
        super().__init__(f"{why}, and no planning worker may use more ({setting})")


def _read(answer: list[bytes]) -> PlanResult:
    """The plan. Raises PlanRefused, and Transient for what is no answer: its worker is broken."""
    try:
        return from_frames(answer)
    except (StopIteration, LookupError, ValueError) as problem:
        raise _trouble(
            f"the planner's answer cannot be read ({type(problem).__name__}: {problem})"
        ) from problem


def _trouble(what: str) -> Transient:
    return Transient(f"{Reason.PLANNING_FAILED.value}: {what}", outcome_unknown=False)


# --------------------------------------------------------------------------- the worker's side


def _work(memory_bytes_max: int) -> None:
    """Answer tasks until the input ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a stray print must not look like an answer
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes_max, memory_bytes_max))
    applications = Applications()
    while (message := _read_message(sys.stdin.buffer)) is not None:
        order = orjson.loads(message)
        _allow_cpu(order["cpuSecondsMax"])
        try:
            for frame in to_frames(_outcome(order["task"], applications)):
                answers.write(_LENGTH.pack(len(frame)))
                answers.write(frame)
        except MemoryError:
            os._exit(EXIT_OUT_OF_MEMORY)  # what is left may not do for an orderly end
        answers.write(_LENGTH.pack(0))
        answers.flush()


def _outcome(task: dict[str, Any], applications: Applications) -> PlanResult | PlanRefused:
    try:
        return run_task(PlanTask.from_json(task), applications)
    except PlanRefused as refusal:
        return refusal


def _read_message(source: BinaryIO) -> bytes | None:
    head = source.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    return source.read(_LENGTH.unpack(head)[0])


def _allow_cpu(budget_s: int) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(used.ru_utime + used.ru_stime) + budget_s + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


if __name__ == "__main__":
    _work(int(sys.argv[1]))
