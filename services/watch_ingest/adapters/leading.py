"""Watch-ingest as a coroutine: leads, and publishes as one incarnation after the other.

    await ingest(runtime, settings)

returns when `runtime.stopping` is set, with everything seen so far published. When the Lease is
lost, it waits for it again and flushes nothing: another writer may have taken over. It does the
same on a higher epoch in the log. What an incarnation does is in `ingesting.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from services.chassis.kube.leases import LeaderLease, LeaseLost
from services.chassis.kube.port import Resource
from services.chassis.process.errors import NotAllowed, Transient
from services.chassis.process.log_lines import log_of
from services.chassis.process.tasks import end_tasks
from services.chassis.running.hosting import Main
from services.chassis.running.wiring import Runtime
from services.watch_ingest.adapters import log_state
from services.watch_ingest.adapters.fencing import Fenced
from services.watch_ingest.adapters.ingesting import AWAY_RETRY_S, Ingestion
from services.watch_ingest.core.recording import SERVICE
from services.watch_ingest.settings import WatchIngestSettings

LEASE = "millrace-watch-ingest"
SYSTEM_NAMESPACE = "kube-system"
NAMESPACE = Resource("", "v1", "namespaces", "Namespace", namespaced=False)

_log = log_of(SERVICE)
T = TypeVar("T")


def ingest_main(settings: WatchIngestSettings) -> Main:
    """The service as the host runs it."""

    async def main(runtime: Runtime) -> None:
        await ingest(runtime, settings)

    return main


async def ingest(runtime: Runtime, settings: WatchIngestSettings) -> None:
    """Lead and publish until `runtime.stopping` is set, again after the Lease was lost."""
    await log_state.ensure_topics(runtime.bus, runtime.topics)
    holder = f"{SERVICE}-{runtime.instance or runtime.new_id()}"
    heard = 0
    while not runtime.stopping.is_set():
        try:
            await _lead(runtime, settings, holder, heard)
        except LeaseLost as lost:
            _log.warning("lease_lost", problem=str(lost))
        except Fenced as fenced:
            heard = max(heard, fenced.incarnation)
            _log.warning("outranked", problem=str(fenced))


async def _lead(runtime: Runtime, settings: WatchIngestSettings, holder: str, heard: int) -> None:
    """One incarnation above what was `heard`, until `runtime.stopping`; LeaseLost or Fenced."""
    lease = LeaderLease(
        runtime.kube,
        namespace=settings.lease_namespace,
        name=LEASE,
        holder=holder,
        clock=runtime.clock,
    )
    lease_version = await _unless_stopping(runtime, lease.acquire())
    if lease_version is None:
        return
    await lease.while_kept(_publish_incarnation(runtime, settings, max(lease_version, heard + 1)))
    await lease.release()


async def _publish_incarnation(
    runtime: Runtime, settings: WatchIngestSettings, lowest: int
) -> None:
    """Publish as one incarnation, of at least that number, until `runtime.stopping` is set."""
    found = await _unless_stopping(runtime, _cluster_and_incarnation(runtime, lowest))
    if found is None:
        return
    cluster_uid, incarnation = found
    ingestion = Ingestion(runtime, settings, cluster_uid=cluster_uid, incarnation=incarnation)
    runtime.probes.is_ready = lambda: ingestion.is_complete
    runtime.probes.reason = lambda: "its resync is not complete"
    publishing = asyncio.ensure_future(ingestion.run())
    checking_fence = asyncio.ensure_future(ingestion.check_fence())
    stopping = asyncio.ensure_future(runtime.stopping.wait())
    tasks = (publishing, checking_fence, stopping)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in (publishing, checking_fence):
            if task.done():
                task.result()
        await ingestion.flush()
    finally:
        await end_tasks(tasks)


async def _cluster_and_incarnation(runtime: Runtime, lowest: int) -> tuple[str, int]:
    """The cluster's uid and the number of this incarnation.

    Read under the Lease: while a standby waits, another cluster may take the address.
    """
    cluster_uid = await _cluster_uid(runtime)
    highest = await log_state.highest_incarnation(runtime.bus, runtime.topics)
    return cluster_uid, max(lowest, highest + 1)


async def _cluster_uid(runtime: Runtime) -> str:
    """The uid of the namespace that every cluster has; waits while the API server is away."""
    while True:
        try:
            system = await runtime.kube.get(NAMESPACE, "", SYSTEM_NAMESPACE)
        except (Transient, NotAllowed) as problem:
            _log.warning("api_server_away", problem=str(problem))
            await runtime.clock.sleep(AWAY_RETRY_S)
            continue
        return str(system["metadata"]["uid"])


async def _unless_stopping(runtime: Runtime, acquiring: Awaitable[T]) -> T | None:
    """The result of waiting; None if the service is stopped while it waits."""
    task = asyncio.ensure_future(acquiring)
    stopping = asyncio.ensure_future(runtime.stopping.wait())
    try:
        await asyncio.wait((task, stopping), return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        await end_tasks((task, stopping))
