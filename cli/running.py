"""`millrace up`: every service as a child process, on a sandbox or on the real pair.

The API and the log start first, then the services. `ready` is printed when the API answers and
every service has finished its restore. SIGINT and SIGTERM stop the services before the API, so that
no effect is left half carried out. The sandbox is a child process, too; `tools/` brings the
real pair up. `jobs.py` submits jobs: it finds the bundle root of the running system in the context
that `contexts.py` adds to the kubeconfig of the user. `layouts.py` defines folders and commands.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from cli.children import Child, ChildEnded, Crew
from cli.controlling import AWAY, NO_SERVICE, STATUS, controlled
from cli.failing import Failure, Misused
from cli.grounds import Ground
from cli.layouts import SANDBOX, Layout, UpOptions
from cli.log_files import keep_bounded
from cli.private import FILE_MODE, TEMPORARY_FILE, locked, remove_left
from cli.service_status import Reported, report_text
from cli.showing import answer, print_lines
from cli.workshop import load
from services.chassis.process.tasks import end_tasks

READY_TIMEOUT_S = 90.0
READY_POLL_S = 0.05
TEMPORARY = "millrace-"
"""How the names of state folders begin that are removed at the end."""


class NotReady(Failure):
    """The system did not become ready; the message says which part and why."""


@dataclass(frozen=True, slots=True)
class RunningSystem:
    """A system that is ready; `children` are by name (`sandbox`, `watch-ingest`, …)."""

    layout: Layout
    ground: Ground
    crew: Crew
    context: str

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of the cluster itself; in that of the user, the context may change."""
        return self.ground.kubeconfig

    @property
    def bundles(self) -> Path:
        """The bundle root."""
        return self.layout.bundles

    @property
    def children(self) -> Mapping[str, Child]:
        """The children by name, stopped ones too."""
        return self.crew.children

    async def stop_service(self, name: str) -> str:
        """Stop a service and keep it stopped; returns a sentence with its exit code.

        Raises Misused for another name.
        """
        child = self._service(name)
        if child.is_stopped():
            return f"{name} is stopped already; it ended with code {child.exit_code}"
        await self.crew.stop([name])
        return f"{name} ended with code {child.exit_code}"

    async def start_service(self, name: str) -> str:
        """Start a stopped service and wait until it has finished its restore.

        Raises Misused for another name, NotReady.
        """
        child = self._service(name)
        was_stopped = child.is_stopped()
        if was_stopped:
            child = self.crew.start(child.spec)
        await _until_service_ready(self.layout, child)
        return f"{name} is ready" if was_stopped else f"{name} runs already, and is ready"

    async def services_away(self, _: str) -> str:
        """The services that do not run, in words; "none" if every service runs."""
        return (
            "; ".join(
                f"{name} is stopped" if child.is_stopped() else f"{name} ended with code {code}"
                for name, child in self.children.items()
                if (code := child.exit_code) is not None or child.is_stopped()
            )
            or NO_SERVICE
        )

    async def services_status(self, _: str) -> str:
        """What is known of each service, for `millrace service status`."""
        addresses = self.layout.probes()
        return report_text(
            [
                Reported(
                    name,
                    child.spec.environment.get("MILLRACE_INSTANCE", name),
                    child.state,
                    child.pid if child.exit_code is None else None,
                    child.exit_code,
                    child.since_s,
                    child.restarts,
                    addresses[name],
                    str(child.log),
                )
                for name, child in self.children.items()
                if name != SANDBOX
            ]
        )

    def _service(self, name: str) -> Child:
        services = [each for each in self.children if each != SANDBOX]
        if name not in services:
            raise Misused(f"there is no service {name} here; there are {', '.join(services)}")
        return self.children[name]


@asynccontextmanager
async def running_system(
    options: UpOptions, say: Callable[[str], None]
) -> AsyncIterator[RunningSystem]:
    """Start everything, wait until a Job can be submitted, and stop everything at the end.

    Raises NotReady if a service does not start, ChildEnded if the sandbox ends by itself, and a
    Failure where the real pair cannot start.
    """
    with contextlib.ExitStack() as stack:
        state = options.state or _temporary_state(stack, say)
        layout = Layout(options, state)
        stack.enter_context(locked(layout.logs))
        if options.state is not None:  # not before the lock: it may be that of an `up` that runs
            (state / TEMPORARY_FILE).unlink(missing_ok=True)
        crew = Crew(layout.logs, asyncio.current_task())
        bounding = asyncio.create_task(keep_bounded(layout.logs))
        try:
            async with (
                _ground(layout, crew, say) as ground,
                layout.context(ground, say) as context,
            ):
                try:
                    await _start_services(layout, ground, crew, say)
                    yield RunningSystem(layout, ground, crew, context)
                finally:
                    await crew.stop(each for each in crew.children if each != SANDBOX)
        except asyncio.CancelledError:
            # The crew cancels this task when the sandbox ends.
            raise crew.first_failure() or asyncio.CancelledError from None
        finally:
            await end_tasks([bounding])


def _temporary_state(stack: contextlib.ExitStack, say: Callable[[str], None]) -> Path:
    """A state folder that goes at the end; those that an `up` left when it was killed go now."""
    for left in remove_left(Path(tempfile.gettempdir()), TEMPORARY):
        say(f"{left} is removed: a `millrace up` that was killed left it")
    state = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=TEMPORARY)))
    (state / TEMPORARY_FILE).touch(FILE_MODE)
    return state


@asynccontextmanager
async def _ground(layout: Layout, crew: Crew, say: Callable[[str], None]) -> AsyncIterator[Ground]:
    options = layout.options
    if options.real:
        real_ground = load("tools.real.grounds:real_ground")
        async with real_ground(options.pair, layout.state, nodes=options.nodes, say=say) as ground:
            yield ground
        return
    spec = layout.sandbox()
    say("starting the Kubernetes API")
    try:
        sandbox = crew.start(spec)
        await _until_ready(f"{layout.server}/readyz", sandbox)
        yield layout.sandbox_ground()
    finally:
        await crew.stop([SANDBOX])


async def _start_services(
    layout: Layout, ground: Ground, crew: Crew, say: Callable[[str], None]
) -> None:
    """Start the services and return when all of them are ready."""
    numbers = range(1, layout.options.instances + 1)
    children = [
        crew.start(layout.service(name, ground, number))
        for name in layout.options.services
        for number in numbers
    ]
    if children:
        say(f"starting {', '.join(child.spec.name for child in children)}")
    for child in children:
        await _until_service_ready(layout, child)


async def _until_service_ready(layout: Layout, child: Child) -> None:
    """Wait until a service has finished its restore; raises NotReady."""
    await _until_ready(f"{layout.probes()[child.spec.name]}/readyz", child)


async def _until_ready(url: str, child: Child) -> None:
    try:
        async with asyncio.timeout(READY_TIMEOUT_S), aiohttp.ClientSession() as session:
            while not await _answers(session, url):
                if child.restarts >= 3:
                    raise NotReady(f"{child.spec.name} keeps ending:", *child.last_lines())
                await asyncio.sleep(READY_POLL_S)
    except TimeoutError:
        raise NotReady(
            f"{child.spec.name} was not ready after {READY_TIMEOUT_S:g} s; the end of its log "
            f"({child.log}):",
            *child.last_lines(),
        ) from None


async def _answers(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(url) as response:
            return response.status == 200
    except aiohttp.ClientError:
        return False


def what_runs(system: RunningSystem) -> list[str]:
    """Lines for a person: what was kept, and where everything is."""
    layout = system.layout
    kept = []
    if layout.was_used and not layout.options.real:
        kept = [
            f"an `up` used {layout.state} before: its bundles and logs are kept, but its cluster "
            "is new. Jobs that were there are gone; submit them again."
        ]
    return [
        *kept,
        f"Kubernetes API {system.ground.server}, bundles in {system.bundles}",
        f"context {system.context}, now the current one of {layout.options.kubeconfig}",
        *(f"requests of PEs at {address}" for _variable, _name, address in layout.given()),
        "metrics at /metrics, probes at /healthz and /readyz, of",
        *(f"  {name} {address}" for name, address in layout.probes().items()),
    ]


async def stay_up(options: UpOptions) -> int:
    """Run in the foreground until SIGINT or SIGTERM; returns the exit code."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_number, stop.set)

    async def run() -> None:
        async with running_system(options, print_lines) as system:
            print_lines(*what_runs(system))
            acts = {
                "stop": system.stop_service,
                "start": system.start_service,
                AWAY: system.services_away,
                STATUS: system.services_status,
            }
            async with controlled(system.layout.state, acts, print_lines):
                answer("ready")
                await asyncio.Event().wait()

    work = asyncio.create_task(run())
    waiting = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({work, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            work.cancel()
        await work
    except asyncio.CancelledError:
        return 0
    except (ChildEnded, NotReady) as problem:
        print_lines(*str(problem).split("\n"))
        return 1
    finally:
        waiting.cancel()
    return 0
