"""The service host: one task group, signals, drain, exit codes, health and metrics on a port.

    sys.exit(run_service(ROW))

SIGTERM or SIGINT sets `runtime.stopping`; the service finishes its effects in flight within
`grace_s` and exits 0. A crash is one log line and exit code 1: Kubernetes or `millrace up` restarts
the process, and the restore makes good what was lost. Where the log refuses for good (a topic is
missing), or a kubeconfig cannot be used, the line is the sentence that says what to do. What a
service does is its `main`.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

from contracts.topics import TopicLayout
from services.chassis.kube.http import HttpTransport, load_configuration
from services.chassis.kube.port import KubeClient
from services.chassis.kube.request_metrics import MeasuredTransport
from services.chassis.kube.retrying import PatientTransport
from services.chassis.log.bus import Bus
from services.chassis.log.kafka_log import KafkaLog
from services.chassis.log.kafka_security import KafkaSecurity
from services.chassis.log.memory_log import MemoryLog
from services.chassis.log.sqlite_log import SqliteLog
from services.chassis.process.buffers import give_back_buffers
from services.chassis.process.clock import Clock, SystemClock
from services.chassis.process.collecting import freeze
from services.chassis.process.errors import LogRefused, Misconfigured, TopicDiffers
from services.chassis.process.log_lines import configure, log_of
from services.chassis.process.metrics import Metrics
from services.chassis.process.release import release
from services.chassis.process.settings import KAFKA_SCHEME, ServiceSettings, read_settings
from services.chassis.process.span_export import SpanExport, TracingSettings, exporting
from services.chassis.running.leading import Leadership
from services.chassis.running.probes import serve_probes
from services.chassis.running.reconciling import StageRunner
from services.chassis.running.service import Service, loaded
from services.chassis.running.wiring import MakeStage, Probes, Runtime

EXIT_DRAINED = 0
EXIT_CRASHED = 1
LOG_AWAY = "Kafka does not answer"
RESTORING = "restoring: it waits for a complete resync, which watch-ingest publishes"

NO_TOPICS = "its topics are missing yet"
TOPICS_AGAIN_S = 1.0

Main = Callable[[Runtime], Awaitable[None]]
"""A service as a coroutine: returns after `runtime.stopping` is set; an exception is a crash."""


def run_service(row: Service) -> int:
    """Run a service until SIGTERM or SIGINT; returns the exit code (0 drained, 1 crashed)."""
    settings: ServiceSettings = read_settings(loaded(row.settings))
    configure(row.name, settings.log_level)
    give_back_buffers()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_host(row, main_of(row, settings), settings))


def main_of(row: Service, settings: ServiceSettings) -> Main:
    """The coroutine that a row names, or that of its stage."""
    if row.main:
        main: Main = loaded(row.main)(settings)
        return main
    leadership = loaded(row.leadership)(settings) if row.leadership else None
    return stage_main(loaded(row.stage)(settings), settings, leadership=leadership)


def stage_main(
    make_stage: MakeStage, settings: ServiceSettings, *, leadership: Leadership | None = None
) -> Main:
    """The coroutine of a service that is one stage; one that leads has a Lease."""

    async def main(runtime: Runtime) -> None:
        runner = StageRunner(
            make_stage,
            runtime,
            settings=settings.recorded(),
            effects_in_flight_max=settings.effects_in_flight_max,
            leadership=leadership,
        )
        runtime.probes.is_ready = lambda: runner.is_live
        runtime.probes.reason = lambda: RESTORING
        await runner.run()

    return main


async def _host(row: Service, main: Main, settings: ServiceSettings) -> int:
    log = log_of("hosting")
    try:
        async with open_runtime(row, settings) as runtime:
            _drain_on_signals(runtime.stopping)
            probes = Probes(
                lambda: runtime.bus.is_answering and runtime.probes.is_ready(),
                lambda: runtime.probes.reason() if runtime.bus.is_answering else LOG_AWAY,
            )
            port, host = settings.metrics_port, settings.metrics_host
            async with serve_probes(port, runtime.metrics, probes, host=host):
                log.info("started", pid=os.getpid(), bus=settings.bus)
                begun = after_topics(main, settings.topics_wait_s)
                await run_until_drained(begun, runtime, settings.grace_s)
    except Exception as problem:
        refused = _refusal_in(problem)
        if refused is None:
            log.exception("crashed")
        else:
            event = "log_refused" if isinstance(refused, LogRefused) else "misconfigured"
            log.error(event, problem=str(refused))
        return EXIT_CRASHED
    log.info("drained")
    return EXIT_DRAINED


def _refusal_in(problem: BaseException) -> LogRefused | Misconfigured | None:
    """What an operator has to repair; a traceback would not help."""
    if isinstance(problem, BaseExceptionGroup):
        found = (_refusal_in(each) for each in problem.exceptions)
        return next((each for each in found if each is not None), None)
    return problem if isinstance(problem, LogRefused | Misconfigured) else None


def after_topics(main: Main, wait_s: float) -> Main:
    """`main`, begun once the topics are as they should be; it begins at once with `wait_s` 0.

    TopicDiffers after so many seconds. A wait here costs a pod nothing where topics are there; an
    init container that waits costs each start of a pod another start of Python.
    """

    async def begun(runtime: Runtime) -> None:
        end_s, ready = runtime.clock.monotonic() + wait_s, runtime.probes.is_ready
        while wait_s and not runtime.stopping.is_set():
            try:
                await runtime.bus.ensure_topics(runtime.topics.counts())
                break
            except TopicDiffers as problem:
                if runtime.clock.monotonic() >= end_s:
                    raise
                log_of("hosting").info("waits_for_topics", problem=str(problem))
            runtime.probes.is_ready, runtime.probes.reason = lambda: False, lambda: NO_TOPICS
            await runtime.clock.sleep(TOPICS_AGAIN_S)
        runtime.probes.is_ready = ready
        if not runtime.stopping.is_set():
            await main(runtime)

    return begun


async def run_until_drained(main: Main, runtime: Runtime, grace_s: float) -> None:
    """Run `main`; after the request to stop it has `grace_s`, then it is cancelled."""
    running = asyncio.ensure_future(main(runtime))
    stopping = asyncio.ensure_future(runtime.stopping.wait())
    await asyncio.wait((running, stopping), return_when=asyncio.FIRST_COMPLETED)
    if not running.done():
        await asyncio.wait((running,), timeout=grace_s)
    stopping.cancel()
    if not running.done():
        log_of("hosting").warning("grace_exceeded", grace_s=grace_s)
        running.cancel()
        await asyncio.wait((running,))
        if running.cancelled():
            return
    running.result()
    if not runtime.stopping.is_set():
        raise RuntimeError(f"{runtime.service} ended without a request to stop")


@asynccontextmanager
async def open_runtime(row: Service, settings: ServiceSettings) -> AsyncIterator[Runtime]:
    """The runtime of a process: log, API server and clock as the settings say."""
    service = row.name
    clock = SystemClock()
    metrics = Metrics()
    metrics.add_process()
    transport = HttpTransport(await load_configuration(settings.kubeconfig))
    randomness = random.SystemRandom()
    measured = MeasuredTransport(transport, metrics, clock.monotonic)
    patient = PatientTransport(measured, clock=clock, random=randomness)
    async with AsyncExitStack() as open_ones:
        open_ones.push_async_callback(transport.close)
        bus = open_bus(settings.bus, clock, client_id=service, instance=settings.instance)
        open_ones.push_async_callback(bus.close)
        export = await open_ones.enter_async_context(_exporting(service, settings, metrics))
        freeze()  # modules: 40 ms, in which a service that has begun would not answer
        yield Runtime(
            service=service,
            bus=bus,
            kube=KubeClient(patient, user_agent=service),
            clock=clock,
            random=randomness,
            new_id=lambda: str(uuid.uuid4()),
            topics=TopicLayout(settings.topic_prefix, settings.partitions),
            instance=settings.instance,
            release=release(),
            namespaces=settings.namespaces,
            shares=row.shares,
            freeze=freeze,
            metrics=metrics,
            add_span=None if export is None else export.add,
        )


def _exporting(
    service: str, settings: ServiceSettings, metrics: Metrics
) -> AbstractAsyncContextManager[SpanExport | None]:
    instance = {"service.instance.id": settings.instance} if settings.instance else {}
    resource = {"service.name": service, "service.version": release(), **instance}
    return exporting(read_settings(TracingSettings), resource, metrics)


def open_bus(url: str, clock: Clock, *, client_id: str = "millrace", instance: str = "") -> Bus:
    """The adapter that a bus URL names: `memory:`, `sqlite:///PATH`, `kafka://HOST:PORT[,…]`."""
    if url == "memory:":
        return MemoryLog(now=clock.now)
    if url.startswith(KAFKA_SCHEME):
        return KafkaLog(
            url.removeprefix(KAFKA_SCHEME),
            now=clock.now,
            client_id=client_id,
            instance=instance,
            security=read_settings(KafkaSecurity),
        )
    return SqliteLog(Path(url.removeprefix("sqlite://")), now=clock.now)


def _drain_on_signals(stopping: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it runs: it halves the cost of a request."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
