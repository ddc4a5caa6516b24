"""`millrace up`: the sandbox and every service as child processes, in the foreground.

The sandbox first (nothing works without the API), then the services; `ready` is said when the API
answers and every service has finished its restore. SIGINT and SIGTERM stop the services before the
sandbox, so that nothing half-done is left. Submitting jobs is `jobs.py`'s business: it finds the
bundle root of the running system in the kubeconfig that is written here.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from cli.children import Child, ChildEnded, ChildSpec
from cli.connecting import EXTENSION

SERVICES = ("watch_ingest", "fusion_backend", "pod_state_machine")
READY_TIMEOUT_S = 90.0
READY_POLL_S = 0.05
CRDS = Path(__file__).parents[1] / "deploy" / "crds"


@dataclass(frozen=True, slots=True)
class UpOptions:
    """What `millrace up` was asked for; port 0 means a free one."""

    kubeconfig: Path
    nodes: int = 4
    bundles: Path | None = None
    api_port: int = 0
    state: Path | None = None
    services: tuple[str, ...] = SERVICES


class NotReady(Exception):
    """The system did not become ready; the message says which part and why."""


@dataclass(frozen=True, slots=True)
class RunningSystem:
    """A system that is ready; `children` are by name (`sandbox`, `watch-ingest`, …)."""

    kubeconfig: Path
    bundles: Path
    server: str
    children: dict[str, Child]


def free_port() -> int:
    """A port on loopback that nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def running_system(
    options: UpOptions, say: Callable[[str], None]
) -> AsyncIterator[RunningSystem]:
    """Start everything, wait until a Job can be submitted, and stop everything at the end.

    Raises NotReady where a part does not start, ChildEnded where the sandbox ends by itself.
    """
    with contextlib.ExitStack() as stack:
        state = options.state or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="millrace-"))
        )
        plan = Layout(options, state)
        children: dict[str, Child] = {}
        tasks: list[asyncio.Task[None]] = []
        owner = asyncio.current_task()
        try:
            _start(plan.sandbox(), plan, children, tasks, owner)
            say("starting the Kubernetes API")
            await _until_ready(f"{plan.server}/readyz", children["sandbox"])
            plan.write_kubeconfig()
            for name in options.services:
                _start(plan.service(name), plan, children, tasks, owner)
            if options.services:
                say(f"starting {', '.join(name.replace('_', '-') for name in options.services)}")
            for name in options.services:
                child = children[name.replace("_", "-")]
                await _until_ready(f"http://127.0.0.1:{plan.ports[name]}/readyz", child)
            yield RunningSystem(options.kubeconfig, plan.bundles, plan.server, children)
        except asyncio.CancelledError:
            raise _first_failure(tasks) or asyncio.CancelledError from None
        finally:
            await _stop(children, tasks)


def _start(
    spec: ChildSpec,
    plan: Layout,
    children: dict[str, Child],
    tasks: list[asyncio.Task[None]],
    owner: asyncio.Task[Any] | None,
) -> None:
    child = children[spec.name] = Child(spec, plan.logs / f"{spec.name}.log")
    task = asyncio.create_task(child.keep_running(), name=spec.name)

    def wake_owner(done: asyncio.Task[None]) -> None:
        if not done.cancelled() and done.exception() is not None and owner is not None:
            owner.cancel()

    task.add_done_callback(wake_owner)
    tasks.append(task)


def _first_failure(tasks: list[asyncio.Task[None]]) -> BaseException | None:
    for task in tasks:
        if task.done() and not task.cancelled() and task.exception() is not None:
            return task.exception()
    return None


async def _stop(children: dict[str, Child], tasks: list[asyncio.Task[None]]) -> None:
    """Services first, all at once; the sandbox last, so that they can finish their writes."""
    services = [child for name, child in children.items() if name != "sandbox"]
    await asyncio.gather(*(child.stop() for child in services))
    if "sandbox" in children:
        await children["sandbox"].stop()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _until_ready(url: str, child: Child) -> None:
    try:
        async with asyncio.timeout(READY_TIMEOUT_S), aiohttp.ClientSession() as session:
            while not await _answers(session, url):
                if child.restarts >= 3:
                    raise NotReady(f"{child.spec.name} keeps ending:\n{child.last_lines()}")
                await asyncio.sleep(READY_POLL_S)
    except TimeoutError:
        raise NotReady(
            f"{child.spec.name} was not ready after {READY_TIMEOUT_S:g} s; the end of its log "
            f"({child.log}):\n{child.last_lines()}"
        ) from None


async def _answers(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(url) as response:
            return response.status == 200
    except aiohttp.ClientError:
        return False


class Layout:
    """Where everything of one running system lives: ports, files, commands."""

    def __init__(self, options: UpOptions, state: Path) -> None:
        self.options = options
        self.state = state
        self.logs = state / "logs"
        self.bundles = (options.bundles or state / "bundles").resolve()
        for folder in (self.logs, self.bundles, state / "store"):
            folder.mkdir(parents=True, exist_ok=True)
        self.api_port = options.api_port or free_port()
        self.server = f"http://127.0.0.1:{self.api_port}"
        self.ports = {name: free_port() for name in SERVICES}
        self.inner_kubeconfig = state / "kubeconfig"

    def sandbox(self) -> ChildSpec:
        command = [sys.executable, "-m", "sandbox", "--port", str(self.api_port)]
        command += ["--nodes", str(self.options.nodes), "--crds", str(CRDS)]
        command += ["--kubeconfig", str(self.inner_kubeconfig)]
        return ChildSpec("sandbox", command, dict(os.environ), essential=True)

    def service(self, name: str) -> ChildSpec:
        environment = dict(os.environ) | {
            "MILLRACE_KUBECONFIG": str(self.inner_kubeconfig),
            "MILLRACE_BUS": f"sqlite:///{self.state / 'log.sqlite'}",
            "MILLRACE_METRICS_PORT": str(self.ports[name]),
        }
        if name == "fusion_backend":
            environment["MILLRACE_BUNDLE_ROOT"] = str(self.bundles)
            environment["MILLRACE_BUNDLE_STORE"] = str(self.state / "store")
        command = [sys.executable, "-m", f"services.{name}"]
        return ChildSpec(name.replace("_", "-"), command, environment)

    def write_kubeconfig(self) -> None:
        """The sandbox's kubeconfig, and in it the bundle root for `millrace submit`."""
        config: dict[str, Any] = yaml.safe_load(self.inner_kubeconfig.read_text())
        config["clusters"][0]["cluster"]["extensions"] = [
            {"name": EXTENSION, "extension": {"bundleRoot": str(self.bundles)}}
        ]
        target = self.options.kubeconfig
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.draft")
        draft.touch(mode=0o600)
        draft.write_text(yaml.safe_dump(config, sort_keys=False))
        draft.replace(target)


async def stay_up(options: UpOptions) -> int:
    """Run in the foreground until SIGINT or SIGTERM; returns the exit code."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_number, stop.set)

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    async def run() -> None:
        async with running_system(options, say) as system:
            say(f"Kubernetes API {system.server}, bundles in {system.bundles}")
            print("ready", flush=True)
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
        say(str(problem))
        return 1
    finally:
        waiting.cancel()
    return 0
