"""What a benchmark runs on (a "ground"): the services with their API, and an API for the floor.

* Sandbox: all of millrace, and a second API server for the floor.
* Real pair: the services and the floor take turns on one API server. Two would share the cores, and
  a server that has just started has cold caches. The floor has a namespace of its own; the services
  watch only `default`, so they are up and idle.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from cli.layouts import UpOptions
from cli.running import RunningSystem, running_system
from cli.workshop import load
from loadtest.api import Api, Refused
from loadtest.measuring import Bench
from loadtest.scraping import METRICS_PORT, Gauges

NODES = 4
FLOOR_NAMESPACE = "millrace-floor"
ACCOUNT_WAIT_S = 0.2

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Ground:
    """A running system to measure; `bootstrap_servers` is None on the sandbox."""

    bench: Bench
    bundles: Path
    floor: Api
    floor_namespace: str
    bootstrap_servers: str | None = None


@asynccontextmanager
async def sandbox_ground(state: Path, report: Report) -> AsyncIterator[Ground]:
    """Two sandboxes, one of them without services."""
    ours = UpOptions(state / "ours.kubeconfig", nodes=NODES, state=state / "ours")
    bare = UpOptions(state / "bare.kubeconfig", nodes=NODES, state=state / "bare", services=())
    async with (
        running_system(ours, report) as system,
        running_system(bare, report) as alone,
        Api.of(system.kubeconfig) as api,
        Api.of(alone.kubeconfig) as floor,
    ):
        bench = Bench(api, gauges_of(system), server_counts=True)
        yield Ground(bench, system.bundles, floor, "default")


@asynccontextmanager
async def pair_ground(state: Path, pair: Path | None, report: Report) -> AsyncIterator[Ground]:
    """The services on the real pair; a pair that ran before stays up."""
    os.environ["MILLRACE_NAMESPACES"] = "default"  # for the children
    kubeconfig = state / "real.kubeconfig"
    options = UpOptions(kubeconfig, nodes=NODES, state=state / "real", real=True, pair=pair)
    async with running_system(options, report) as system, Api.of(kubeconfig) as api:
        servers, processes = await pair_of(pair)
        gauges = gauges_of(system, processes)
        await make_namespace(api, FLOOR_NAMESPACE)
        yield Ground(
            Bench(api, gauges, server_counts=False),
            system.bundles,
            api,
            FLOOR_NAMESPACE,
            servers,
        )


async def pair_of(folder: Path | None) -> tuple[str, Mapping[str, int]]:
    """The brokers of a pair that runs, and its processes by name; a checkout has pairs."""
    options = load("tools.real.pair:PairOptions")(folder)
    found, parts = await load("tools.real.pair:pair_status")(options)
    assert found is not None  # a system runs on it
    return found.bootstrap_servers, {part.name: part.pid for part in parts if part.pid}


def gauges_of(system: RunningSystem, others: Mapping[str, int] = MappingProxyType({})) -> Gauges:
    """Where to read what its services say, and the CPU of these and of other processes."""
    ports: dict[str, int] = {}
    processes = dict(others)
    for name, child in system.children.items():
        if child.pid is not None:
            processes[name] = child.pid
        port = child.spec.environment.get(METRICS_PORT)
        if port:
            ports[name] = int(port)
    return Gauges(ports, processes)


async def make_namespace(api: Api, name: str) -> None:
    """Create the floor's namespace, and wait for its ServiceAccount: pods need it."""
    with suppress(Refused):  # from an earlier run
        await api.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    path = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    while True:
        with suppress(Refused):
            await api.call("GET", path)
            return
        await asyncio.sleep(ACCOUNT_WAIT_S)
