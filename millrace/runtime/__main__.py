"""The process of a PE: `python -m millrace.runtime`, without arguments.

All it needs is in the environment and the files of its pod (`environment.py`). It ends with a code
of `endings.py`, whose reason and sentence stand in the termination message.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

from millrace import __version__
from millrace.channels import begin_job, begin_launch
from millrace.graph import Graph
from millrace.protocol import Trouble
from millrace.runtime.bundle import load, unpack
from millrace.runtime.endings import Ending, LaunchOver, ending_of
from millrace.runtime.environment import Environment, EnvironmentRefused, Paths, read_environment
from millrace.runtime.exiting import end_process, guard
from millrace.runtime.gateway import Gateway
from millrace.runtime.hanging import REASON as HANGS
from millrace.runtime.launch import Launch, Surroundings
from millrace.runtime.metrics import MetricsServer, PeCollector
from millrace.runtime.network import tls_of
from millrace.runtime.observing import Taps, snapshot_of
from millrace.runtime.pe import Pe
from millrace.runtime.racing import unless
from millrace.runtime.reading import (
    Description,
    DescriptionMissing,
    DescriptionRefused,
    description_of,
)
from millrace.runtime.repositories import open_store
from millrace.runtime.signs import LiveFile, live, write_termination_message
from millrace.runtime.state_stores import StateStore
from millrace.runtime.tracing import TraceLevel, begin_logging, more_verbose

LOG = logging.getLogger("millrace.runtime")
STOPS: Final = (signal.SIGTERM, signal.SIGINT)
HANGING_REPORT_S: Final = 10.0
"""How long it may take to report that the event loop hangs."""
GOODBYE_S: Final = 2.0
"""How long the last reports of a PE may take."""
STOP_S_MIN: Final = 22.0
"""Kubernetes allows 30 s where nobody says otherwise; goodbyes take the rest."""


def main() -> int:
    """Run the PE; ends the process with its exit code."""
    begin_logging(TraceLevel.INFO, TraceLevel.INFO)
    try:
        environment = read_environment(os.environ)
    except EnvironmentRefused as problem:
        LOG.error("%s", problem)
        paths = Paths(Path(os.environ.get("MILLRACE_ROOT") or "/"))
        write_termination_message(paths.termination_log, problem.ending, str(problem))
        return problem.ending.code
    guard(partial(_ended_elsewhere, environment.paths.termination_log))
    return _runner()(_run_and_exit(environment))


async def _run_and_exit(environment: Environment) -> NoReturn:
    """End the process here: threads may wait for ever, for their input or for a hung disk."""
    message = ""
    try:
        ending = await _run(environment)
    except BaseException as problem:
        ending, message = ending_of(problem), _sentence(problem)
        LOG.error("%s: %s", ending.reason, message, exc_info=problem)
    write_termination_message(environment.paths.termination_log, ending, message)
    sys.stdout.flush()
    end_process(ending.code)


def _ended_elsewhere(termination_log: Path, code: int) -> int:
    """Write where code of the application ends the process. Returns the exit code of a failure."""
    what = f"code of the application ended the process with os._exit({code!r})"
    LOG.error("%s, here: %s", what, "".join(traceback.format_stack(limit=8)))
    write_termination_message(termination_log, Ending.EXITED, what)
    return Ending.EXITED.code


def _runner() -> Callable[[Coroutine[Any, Any, NoReturn]], NoReturn]:
    try:
        import uvloop
    except ImportError:
        return asyncio.run
    return uvloop.run


def _sentence(problem: BaseException) -> str:
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return str(problem) or type(problem).__name__


async def _run(environment: Environment) -> Ending:
    paths = environment.paths
    description = _description(environment)
    begin_logging(
        _app_level(environment, description),
        environment.runtime_trace,
        job=environment.job,
        pe=environment.pe,
        launch=environment.launch,
    )
    begin_launch(environment.launch)
    begin_job(environment.job_uid)
    gateway = _gateway(environment)
    stopping = _stopping()
    hangs = partial(report_hanging, environment)
    file = LiveFile(paths.live, hangs=hangs, termination_log=paths.termination_log)
    with live(file):
        async with gateway, _store(environment) as store:
            graph = await unless(stopping.wait(), _graph(gateway, paths, description))
            if graph is None:
                return Ending.STOPPED
            around = Surroundings(
                gateway,
                store,
                tls=tls_of(paths.certificate, paths.key) if environment.is_secure else None,
            )
            pe = Pe(_launch(environment), description, graph, around)
            ending = await _run_pe(environment, gateway, pe, stopping)
    if ending is Ending.STOPPED_LATE:
        file.give_up()
    return ending


def _gateway(environment: Environment) -> Gateway:
    url, token = environment.gateway_url, environment.paths.token
    return Gateway(url, environment.job, environment.pe, environment.launch, token)


def report_hanging(environment: Environment, who: str) -> None:
    """Report who holds up the event loop, in a thread beside it."""

    async def report() -> None:
        async with _gateway(environment) as gateway, asyncio.timeout(HANGING_REPORT_S):
            gateway.report(Trouble(HANGS, who))
            await gateway.deliver(until_empty=True)

    try:
        asyncio.run(report())
    except (TimeoutError, LaunchOver) as problem:
        LOG.warning("that is not reported: %s", _sentence(problem))


def _stopping() -> asyncio.Event:
    """Set by SIGTERM and SIGINT, also by one that came while the image's bootstrap blocked them."""
    stopping = asyncio.Event()
    for each in STOPS:
        asyncio.get_running_loop().add_signal_handler(each, stopping.set)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    return stopping


async def _run_pe(
    environment: Environment, gateway: Gateway, pe: Pe, stopping: asyncio.Event
) -> Ending:
    """Run it to its end, and show its metrics and its streams meanwhile."""

    async def stop() -> None:
        await stopping.wait()
        pe.stop()

    stopper = asyncio.create_task(stop())
    collector = PeCollector(environment.job, environment.pe, lambda: snapshot_of(pe))
    metrics = MetricsServer(collector, environment.pod_ip, others={"/tap": Taps(pe).serve})
    await metrics.start()
    try:
        return await _until_end(pe, gateway)
    finally:
        stopper.cancel()
        await metrics.stop()


def _launch(environment: Environment) -> Launch:
    return Launch(
        environment.pe,
        environment.launch,
        environment.pod_ip,
        stop_s=max(environment.hand_over_s - 3, STOP_S_MIN),
        hands_over=environment.hand_over_s > 0,
        generation=environment.generation,
        version=f"millrace {__version__}",
    )


async def _until_end(pe: Pe, gateway: Gateway) -> Ending:
    delivering = asyncio.create_task(gateway.deliver())
    running = asyncio.create_task(pe.run())
    try:
        await asyncio.wait((running, delivering), return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            over = delivering.exception()
            if not isinstance(over, LaunchOver):
                raise over or RuntimeError("reports are delivered no more")
            pe.end(over)
        return await running
    finally:
        for task in (running, delivering):
            task.cancel()
        await asyncio.gather(running, delivering, return_exceptions=True)
        with contextlib.suppress(TimeoutError, LaunchOver):
            async with asyncio.timeout(GOODBYE_S):
                await gateway.say_goodbye()


async def _graph(gateway: Gateway, paths: Paths, description: Description) -> Graph:
    await gateway.fetch_bundle(paths.bundle)
    assets = unpack(paths.bundle, paths.assets)
    folder = paths.root / "data"
    os.chdir(folder if folder.is_dir() else assets.python)
    return load(assets, description.module, description.variable, description.graph).graph


@asynccontextmanager
async def _store(environment: Environment) -> AsyncIterator[StateStore]:
    """The store of the job's states."""
    store = open_store(environment)
    try:
        yield store
    finally:
        await store.close()


def _description(environment: Environment) -> Description:
    path = environment.paths.aadl
    try:
        text = path.read_bytes()
    except OSError as problem:
        raise DescriptionMissing(f"{path}: {problem.strerror}") from None
    description = description_of(text)
    if description.pe != environment.pe:
        raise DescriptionRefused(
            f"{path} describes PE {description.pe}, and this is PE {environment.pe}"
        )
    return description


def _app_level(environment: Environment, description: Description) -> TraceLevel:
    """The more verbose level of the AADL and the environment."""
    level = TraceLevel.parsed(description.trace_level)
    return more_verbose(level, environment.app_trace or level)


if __name__ == "__main__":
    sys.exit(main())
