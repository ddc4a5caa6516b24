"""`millrace up`: every service as a child process, on a sandbox or on the real pair.

The API and the log start first, then the services. `ready` is printed when the API answers and
every service has finished its restore. SIGINT and SIGTERM stop the services before the API, so that
no effect is left half carried out. The sandbox is a child process, too; `grounds.py` brings the
real pair up. `jobs.py` submits jobs: it finds the bundle root of the running system in the
kubeconfig that is written here.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from cli.children import Child, ChildEnded, ChildSpec, Crew
from cli.controlling import SOCKET, controlled
from cli.failing import Failure, Misused
from cli.grounds import Ground, real_ground
from cli.kubeconfigs import refuse_to_overwrite, with_bundle_root
from cli.ports import LOOPBACK, free_ports, taken
from cli.private import locked, private_folder, private_state, write_private
from cli.resources import CRDS
from cli.showing import answer, print_lines

SERVICES = (
    "watch_ingest",
    "fusion_backend",
    "hostpool_manager",
    "node_tainter",
    "pod_state_machine",
)
READY_TIMEOUT_S = 90.0
READY_POLL_S = 0.05
SANDBOX_NEEDS = ("cel", "httptools", "jsonpatch", "jsonschema_rs", "starlette", "uvicorn")
"""The modules of the extra `sandbox`."""
SANDBOX = "sandbox"
STATE_PATTERNS = (
    "logs",
    "bundles",
    "store",
    "accounts",
    SOCKET,
    "kubeconfig",
    ".kubeconfig.*",
    "log.sqlite*",
)
"""Patterns of the files in a state folder, with SQLite's side files and kubeconfig drafts."""


@dataclass(frozen=True, slots=True)
class UpOptions:
    """The options of `millrace up`; port 0 means a free one.

    `real`: on Apache Kafka and a real control plane; `pair` is the folder of that pair. Only then a
    service may have several `instances`: a log in a file serves one of each.
    """

    kubeconfig: Path
    nodes: int = 4
    bundles: Path | None = None
    api_port: int = 0
    state: Path | None = None
    services: tuple[str, ...] = SERVICES
    real: bool = False
    pair: Path | None = None
    instances: int = 1

    def __post_init__(self) -> None:
        if self.instances > 1 and not self.real:
            raise Misused(
                "--instances needs --real: a log in a file serves one instance of each service"
            )
        if self.pair is not None and not self.real:
            raise Misused(f"--pair {self.pair} needs --real")
        if self.api_port and self.real:
            raise Misused(
                f"--api-port {self.api_port} is for the embedded API server; with --real the API "
                "server is that of the pair"
            )


class NotReady(Failure):
    """The system did not become ready; the message says which part and why."""


@dataclass(frozen=True, slots=True)
class RunningSystem:
    """A system that is ready; `children` are by name (`sandbox`, `watch-ingest`, …)."""

    layout: Layout
    server: str
    crew: Crew

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of the user."""
        return self.layout.options.kubeconfig

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
        await self.crew.stop([name])
        return f"{name} ended with code {child.exit_code}"

    async def start_service(self, name: str) -> str:
        """Start a stopped service and wait until it has finished its restore.

        Raises Misused for another name, NotReady.
        """
        child = self._service(name)
        if child.is_stopped():
            child = self.crew.start(child.spec)
        await self.layout.until_service_ready(child)
        return f"{name} is ready"

    def _service(self, name: str) -> Child:
        services = [each for each in self.children if each != SANDBOX]
        if name not in services:
            raise Misused(f"there is no service {name} here; there are {', '.join(services)}")
        return self.children[name]


def child_name(service: str, number: int = 1) -> str:
    """The name of a service's child, from that of its folder; the first one has no number."""
    name = service.replace("_", "-")
    return name if number == 1 else f"{name}-{number}"


def sandbox_bus(state: Path) -> str:
    """The value of MILLRACE_BUS for a system on the sandbox."""
    return f"sqlite:///{state / 'log.sqlite'}"


@asynccontextmanager
async def running_system(
    options: UpOptions, say: Callable[[str], None]
) -> AsyncIterator[RunningSystem]:
    """Start everything, wait until a Job can be submitted, and stop everything at the end.

    Raises NotReady if a service does not start, ChildEnded if the sandbox ends by itself, and a
    Failure where the real pair cannot start.
    """
    with contextlib.ExitStack() as stack:
        state = options.state or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="millrace-"))
        )
        layout = Layout(options, state)
        stack.enter_context(locked(layout.logs))
        crew = Crew(layout.logs, asyncio.current_task())
        try:
            async with _ground(layout, crew, say) as ground:
                try:
                    await _start_services(layout, ground, crew, say)
                    yield RunningSystem(layout, ground.server, crew)
                finally:
                    await crew.stop(each for each in crew.children if each != SANDBOX)
        except asyncio.CancelledError:
            # The crew cancels this task when the sandbox ends.
            raise crew.first_failure() or asyncio.CancelledError from None


@asynccontextmanager
async def _ground(layout: Layout, crew: Crew, say: Callable[[str], None]) -> AsyncIterator[Ground]:
    options = layout.options
    if options.real:
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
    layout.write_kubeconfig(ground)
    numbers = range(1, layout.options.instances + 1)
    children = [
        crew.start(layout.service(name, ground, number))
        for name in layout.options.services
        for number in numbers
    ]
    if children:
        say(f"starting {', '.join(child.spec.name for child in children)}")
    for child in children:
        await layout.until_service_ready(child)


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


@contextmanager
def _usable(path: Path) -> Iterator[None]:
    """Raise Misused, with the path and the reason, if a path cannot be written."""
    try:
        yield
    except OSError as problem:
        raise Misused(f"{path} cannot be written: {problem.strerror}") from None


class Layout:
    """Where everything of one running system lives: ports, files, commands."""

    def __init__(self, options: UpOptions, state: Path) -> None:
        self.options = options
        with _usable(state):
            private_state(state, STATE_PATTERNS)
        self.state = state = state.resolve()
        self.name = uuid.uuid4().hex[:12]  # makes MILLRACE_INSTANCE unique to this `up`
        self.logs = state / "logs"
        self.bundles = (options.bundles or state / "bundles").resolve()
        for folder in (self.logs, self.bundles, state / "store"):
            with _usable(folder):
                if folder.is_relative_to(state):
                    private_folder(folder)
                else:  # the bundle root that somebody names may be for several people
                    folder.mkdir(parents=True, exist_ok=True)
        if not options.real and options.api_port and taken(options.api_port):
            raise Misused(f"--api-port {options.api_port}: {LOOPBACK} has that port taken")
        children = [child_name(s, 1 + n) for s in SERVICES for n in range(options.instances)]
        draw = random.SystemRandom()
        ports = free_ports(1 + len(children), draw, without=options.api_port)
        self.api_port = options.api_port or ports[0]
        self.server = f"http://{LOOPBACK}:{self.api_port}"
        self.ports = dict(zip(children, ports[1:], strict=True))
        self.inner_kubeconfig = state / "kubeconfig"
        self._check_kubeconfig()

    def sandbox_ground(self) -> Ground:
        """The sandbox, where everybody may do everything, and a log in a file."""
        return Ground(
            server=self.server,
            kubeconfig=self.inner_kubeconfig,
            bus=sandbox_bus(self.state),
        )

    def sandbox(self) -> ChildSpec:
        """The embedded cluster. Raises Misused where the extra that it needs is not installed."""
        missing = [name for name in SANDBOX_NEEDS if find_spec(name) is None]
        if missing:
            raise Misused(
                f"the embedded cluster needs {', '.join(missing)}, which this environment lacks: "
                'install millrace-control-plane with its extra `sandbox` (README.md, "Install '
                'it"), or use --real'
            )
        command = [sys.executable, "-m", "sandbox", "--port", str(self.api_port)]
        command += ["--nodes", str(self.options.nodes), "--crds", str(CRDS)]
        command += ["--kubeconfig", str(self.inner_kubeconfig)]
        return ChildSpec(SANDBOX, command, dict(os.environ), essential=True)

    def service(self, name: str, ground: Ground, number: int = 1) -> ChildSpec:
        """An instance of a service on what it stands on; all of them share its account."""
        child = child_name(name, number)
        account = ground.account_of(child_name(name))
        environment = dict(os.environ) | {
            "MILLRACE_KUBECONFIG": str(account),
            "MILLRACE_BUS": ground.bus,
            "MILLRACE_METRICS_PORT": str(self.ports[child]),
            "MILLRACE_METRICS_HOST": LOOPBACK,
            "MILLRACE_INSTANCE": f"{child}-{self.name}",
            **ground.settings,
        }
        if name == "fusion_backend":
            environment["MILLRACE_BUNDLE_ROOT"] = str(self.bundles)
            environment["MILLRACE_BUNDLE_STORE"] = str(self.state / "store")
            # No cluster DNS here. Not an f-string: the service replaces {service} by the name.
            environment.setdefault("MILLRACE_REDIS_HOST", "{service}")
        command = [sys.executable, "-m", f"services.{name}"]
        return ChildSpec(child, command, environment)

    async def until_service_ready(self, child: Child) -> None:
        """Wait until a service has finished its restore; raises NotReady."""
        await _until_ready(f"http://{LOOPBACK}:{self.ports[child.spec.name]}/readyz", child)

    def _check_kubeconfig(self) -> None:
        target = self.options.kubeconfig
        if target.resolve() != self.inner_kubeconfig:
            with _usable(target):
                refuse_to_overwrite(target)

    def write_kubeconfig(self, ground: Ground) -> None:
        """The administrator's kubeconfig, and in it the bundle root for `millrace submit`."""
        config: dict[str, Any] = yaml.safe_load(ground.kubeconfig.read_text())
        config = with_bundle_root(config, self.bundles)
        target = self.options.kubeconfig
        self._check_kubeconfig()  # again: another `up` may have written it since
        with _usable(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            write_private(target, yaml.safe_dump(config, sort_keys=False))


async def stay_up(options: UpOptions) -> int:
    """Run in the foreground until SIGINT or SIGTERM; returns the exit code."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_number, stop.set)

    async def run() -> None:
        async with running_system(options, print_lines) as system:
            print_lines(f"Kubernetes API {system.server}, bundles in {system.bundles}")
            acts = {"stop": system.stop_service, "start": system.start_service}
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
