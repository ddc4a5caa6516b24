"""What the shell offers after TAB: names that the cluster has, within a second, or nothing.

A shell shows whatever completion prints between the words of a line, so a cluster that is away or
slow, a kubeconfig that cannot be read and a request that is refused all lead to no names.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import typer

from cli.connecting import JOBS, PES, REGIONS, aclosing_transport
from cli.kubeconfigs import find_kubeconfig, namespace_of
from contracts import labels
from services.chassis.kube.kubeconfig_files import Kubeconfig
from services.chassis.kube.listing import Watched, list_all
from services.chassis.kube.port import Json, KubeClient, Resource
from services.roster import NAMES

WAIT_S: Final = 1.0
NAMES_MAX: Final = 200
USER_AGENT: Final = "millrace-completion"


def job_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """The jobs of the namespace."""
    return _offered(ctx, incomplete, _jobs)


def job_and_pe_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """The jobs; of one whose name and hyphen are typed, its processing elements."""

    async def names(kube: KubeClient, namespace: str) -> list[str]:
        jobs = await _jobs(kube, namespace)
        typed = [job for job in jobs if incomplete.startswith(f"{job}-")]
        return jobs + [pe for job in typed for pe in await _names(kube, namespace, PES, job)]

    return _offered(ctx, incomplete, names)


def services(incomplete: str) -> list[str]:
    """The names of the services."""
    return sorted(name for name in NAMES if name.startswith(incomplete))


def region_widths(ctx: typer.Context, incomplete: str) -> list[str]:
    """`REGION=W` of each parallel region of the job, with the width that it has."""

    async def names(kube: KubeClient, namespace: str) -> list[str]:
        job = str(ctx.params.get("job") or "")
        found = await _objects(kube, namespace, REGIONS, job) if job else []
        return [f"{each['spec']['alias']}={each['spec']['width']}" for each in found]

    return _offered(ctx, incomplete, names)


def stream_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """The operators of the job, each without its channel."""

    async def names(kube: KubeClient, namespace: str) -> list[str]:
        job = str(ctx.params.get("job") or "")
        found = await _objects(kube, namespace, PES, job) if job else []
        operators = (name for each in found for name in each["spec"].get("operators") or ())
        return list({str(name).partition("[")[0] for name in operators})

    return _offered(ctx, incomplete, names)


def _offered(
    ctx: typer.Context,
    incomplete: str,
    names: Callable[[KubeClient, str], Awaitable[list[str]]],
) -> list[str]:
    """The names that begin with what is typed; none if the cluster does not tell in time."""
    given, namespace = ctx.params.get("kubeconfig"), ctx.params.get("namespace") or ""

    async def found() -> list[str]:
        config = find_kubeconfig(Path(given) if given else None)
        async with asyncio.timeout(WAIT_S), _client(config) as kube:
            return await names(kube, str(namespace) or namespace_of(config))

    try:
        known = asyncio.run(found())
    except Exception:  # noqa: BLE001 - a message would stand in the line that is typed
        return []
    return sorted(name for name in known if name.startswith(incomplete))[:NAMES_MAX]


@asynccontextmanager
async def _client(config: Kubeconfig) -> AsyncIterator[KubeClient]:
    """A plugin of the kubeconfig may not ask: its words would stand in the line that is typed."""
    async with aclosing_transport(config, is_attended=False) as transport:
        yield KubeClient(transport, USER_AGENT)


async def _jobs(kube: KubeClient, namespace: str) -> list[str]:
    return await _names(kube, namespace, JOBS, "")


async def _names(kube: KubeClient, namespace: str, resource: Resource, job: str) -> list[str]:
    found = await _objects(kube, namespace, resource, job, metadata_only=True)
    return [str(each["metadata"]["name"]) for each in found]


async def _objects(
    kube: KubeClient, namespace: str, resource: Resource, job: str, *, metadata_only: bool = False
) -> list[Json]:
    selector = f"{labels.JOB}={job}" if job else ""
    watched = Watched(resource, namespace, label_selector=selector, metadata_only=metadata_only)
    objects, _ = await list_all(kube, watched)
    return objects
