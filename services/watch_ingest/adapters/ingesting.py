"""Watch-ingest as a coroutine: leads, lists, watches, publishes; what to say is the core's.

    await ingest(runtime, settings)

returns when `runtime.stopping` is set, with everything seen so far published; when the Lease is
lost it flushes nothing, because somebody else may speak now, and waits for the Lease again. So it
does where somebody else spoke in a higher epoch.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterable
from functools import partial
from typing import TypeVar

from contracts.facts import Epoch, Fact, SyncCompleted
from contracts.unreadable import Unreadable
from services.chassis.kube.leases import LeaderLease, LeaseLost
from services.chassis.kube.listing import ListWatch, Watched
from services.chassis.kube.port import Json, ListPage, Resource, WatchEvent, WatchType
from services.chassis.kube.resources import watched_resource
from services.chassis.log.bus import Partition
from services.chassis.process.backoff import GrowingPause
from services.chassis.process.errors import NotAllowed, Transient
from services.chassis.process.log_lines import log_of
from services.chassis.process.tasks import end_tasks
from services.chassis.running.hosting import Main
from services.chassis.running.wiring import Runtime
from services.watch_ingest.adapters import log_state
from services.watch_ingest.adapters.fencing import FenceCheck, Fenced
from services.watch_ingest.adapters.noticing import Notices
from services.watch_ingest.adapters.publisher import Publisher, Unpublishable
from services.watch_ingest.adapters.telling import HOURLY, tell_of_resync, tell_of_root
from services.watch_ingest.core.noticing import notice_of
from services.watch_ingest.core.publishing import (
    Ledger,
    Publication,
    Ref,
    facts_of_deletion,
    facts_of_object,
)
from services.watch_ingest.core.recording import SERVICE, completion_records, fact_record
from services.watch_ingest.core.resync import (
    Rounds,
    Source,
    contradicts,
    facts_of_absence,
    facts_of_page,
    is_known_by_name,
    sources_in,
)
from services.watch_ingest.settings import WatchIngestSettings

LEASE = "millrace-watch-ingest"
SYSTEM_NAMESPACE = "kube-system"
AWAY_RETRY_S = 1.0
NAMESPACE = Resource("", "v1", "namespaces", "Namespace", namespaced=False)

_log = log_of(SERVICE)
T = TypeVar("T")


def ingest_main(settings: WatchIngestSettings) -> Main:
    """The service as the host runs it."""

    async def main(runtime: Runtime) -> None:
        await ingest(runtime, settings)

    return main


async def ingest(runtime: Runtime, settings: WatchIngestSettings) -> None:
    """Lead and speak until `runtime.stopping` is set, again after the Lease was lost."""
    await log_state.ensure_topics(runtime.bus, runtime.topics)
    holder = f"{SERVICE}-{runtime.instance or runtime.new_id()}"
    heard = 0
    while not runtime.stopping.is_set():
        try:
            await _lead_and_speak(runtime, settings, holder, heard)
        except LeaseLost as lost:
            _log.warning("lease_lost", problem=str(lost))
        except Fenced as fenced:
            heard = max(heard, fenced.incarnation)
            _log.warning("outranked", problem=str(fenced))


async def _lead_and_speak(
    runtime: Runtime, settings: WatchIngestSettings, holder: str, heard: int
) -> None:
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
    await lease.while_kept(_speak(runtime, settings, max(lease_version, heard + 1)))
    await lease.release()


async def _speak(runtime: Runtime, settings: WatchIngestSettings, lowest: int) -> None:
    """Publish as one incarnation, of at least that number, until `runtime.stopping` is set."""
    found = await _unless_stopping(runtime, _cluster_and_incarnation(runtime, lowest))
    if found is None:
        return
    cluster_uid, incarnation = found
    ingestion = Ingestion(runtime, settings, cluster_uid=cluster_uid, incarnation=incarnation)
    runtime.probes.is_ready = lambda: ingestion.is_complete
    runtime.probes.reason = lambda: "its resync is not complete"
    speaking = asyncio.ensure_future(ingestion.run())
    overhearing = asyncio.ensure_future(ingestion.overhear())
    stopping = asyncio.ensure_future(runtime.stopping.wait())
    tasks = (speaking, overhearing, stopping)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in (speaking, overhearing):
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


class Ingestion:
    """One incarnation: its ledger, its rounds and its list-watches."""

    def __init__(
        self,
        runtime: Runtime,
        settings: WatchIngestSettings,
        *,
        cluster_uid: str,
        incarnation: int,
    ) -> None:
        self._runtime = runtime
        self._settings = settings
        self._cluster_uid = cluster_uid
        self._incarnation = incarnation
        self._ledger = Ledger()
        sources = sources_in(runtime.namespaces)
        self._rounds = Rounds(sources)
        self._watches = {source: self._list_watch(source) for source in sources}
        self._began_at: dict[Partition, int] = {}
        self._why = ""
        self._committed_at: dict[Partition, int] = {}
        self._publisher = Publisher(
            runtime.bus, topics=runtime.topics, clock=runtime.clock, metrics=runtime.metrics
        )
        self._notices = Notices(
            runtime.kube, clock=runtime.clock, random=runtime.random, metrics=runtime.metrics
        )

    async def run(self) -> None:
        """Speak for ever."""
        await self._begin_resync("incarnation")
        async with asyncio.TaskGroup() as group:
            group.create_task(self._publisher.run())
            group.create_task(self._notices.run())
            group.create_task(self._resync_again())
            group.create_task(self._compare_again())
            group.create_task(self._watch_log())
            for source, watch in self._watches.items():
                group.create_task(watch.run(_SourceSink(self, source)))

    async def overhear(self) -> None:
        """Watch for others who write facts; raises Fenced."""
        runtime = self._runtime
        starts = await log_state.newest_resync(runtime.bus, runtime.topics)
        overhearing = FenceCheck(runtime.bus, self._publisher, starts)
        while True:
            await runtime.clock.sleep(self._settings.log_check_s)
            await overhearing.look(self._epoch(self._rounds.number))

    @property
    def is_complete(self) -> bool:
        """Whether everything that exists has been published, so that readers can restore."""
        return bool(self._committed_at)

    async def flush(self) -> None:
        """Return when everything seen so far is in the log."""
        await self._publisher.flush()

    def _list_watch(self, source: Source) -> ListWatch:
        watched, runtime = source.watched, self._runtime
        return ListWatch(
            runtime.kube,
            Watched(
                resource=watched_resource(watched),
                namespace=source.namespace,
                label_selector=watched.label_selector,
                metadata_only=watched.metadata_only,
            ),
            clock=runtime.clock,
            random=runtime.random,
        )

    # ------------------------------------------------------------------ resyncs

    async def _begin_resync(self, why: str) -> None:
        """Publish everything again; the offsets come first, or a reader would miss a fact."""
        partitions = log_state.fact_partitions(self._runtime.topics)
        self._began_at, self._why = await self._runtime.bus.end_offsets(partitions), why
        number = self._rounds.begin()
        self._runtime.metrics.count("watch_ingest_resyncs_total", why=why)
        tell_of_resync("resync_began", why, self._incarnation, number)
        if number > 1:
            self._relist()

    def _relist(self) -> None:
        for watch in self._watches.values():
            watch.relist()

    async def _resync_again(self) -> None:
        while True:
            await self._runtime.clock.sleep(self._settings.resync_s)
            await self._begin_resync(HOURLY)

    async def _compare_again(self) -> None:
        while True:
            await self._runtime.clock.sleep(self._settings.compare_s)
            self._relist()

    async def _watch_log(self) -> None:
        """An emptied log forgets what exists; nobody but us can say it again."""
        runtime = self._runtime
        while True:
            await runtime.clock.sleep(self._settings.log_check_s)
            if await log_state.log_was_emptied(runtime.bus, runtime.topics, self._committed_at):
                self._committed_at = {}
                await log_state.ensure_topics(runtime.bus, runtime.topics)
                await self._begin_resync("log emptied")

    # ------------------------------------------------------------------ what was seen

    async def take_list(self, source: Source, pages: AsyncIterator[ListPage]) -> None:
        """Everything of a source: published again in a resync, else compared."""
        full = self._rounds.owes(source)
        number = self._rounds.number if full else self._rounds.number_of(source)
        epoch, seen, version = self._epoch(number), set[Ref](), 0
        pass_over = partial(self._pass_over, source)
        async for page in pages:
            if not full and contradicts(self._ledger, source, page.items):
                await self._begin_resync("mismatch")
                return  # the list that follows is a full one
            version = int(page.resource_version)
            await self._say_all(
                facts_of_page(
                    self._ledger,
                    source,
                    page.items,
                    seen,
                    epoch=epoch,
                    full=full,
                    pass_over=pass_over,
                )
            )
        await self._say_all(
            facts_of_absence(self._ledger, source, seen, version=version, epoch=epoch)
        )
        for kind in self._rounds.mark_listed(source, number) if full else source.kinds:
            completed = SyncCompleted(kind, epoch, full=full)
            for record in completion_records(
                completed, self._runtime.clock.now(), self._runtime.topics
            ):
                self._publisher.publish(record)
        if self._rounds.take_completion():
            await self._commit_resync()

    async def take_event(self, source: Source, event: WatchEvent) -> None:
        """One event of a watch."""
        if not is_known_by_name(event.object):
            self._pass_over(
                source, event.object, ValueError("it has no name, no uid or no version")
            )
            return
        await self._publisher.wait_for_room()
        # No await from here on: a cancelled watch must not lose what the ledger holds as published.
        try:
            for saying in self._sayings(source, event):
                self._say_safely(saying)
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            self._pass_over(source, event.object, problem)

    def _sayings(self, source: Source, event: WatchEvent) -> Iterable[Publication]:
        epoch = self._epoch(self._rounds.number_of(source))
        meta = event.object["metadata"]
        for projection in source.watched.projections:
            if event.type is WatchType.DELETED:
                ref = (projection.kind, str(meta.get("namespace", "")), str(meta["name"]))
                yield from facts_of_deletion(self._ledger, ref, int(meta["resourceVersion"]), epoch)
            else:
                yield from facts_of_object(self._ledger, projection, event.object, epoch)

    async def _say_all(self, sayings: Iterable[Publication]) -> None:
        for saying in sayings:
            self._say_safely(saying)
            await self._publisher.wait_for_room()

    def _say_safely(self, saying: Publication) -> None:
        """Publish a fact, and have its object say what cannot be read of it."""
        now = self._runtime.clock.now()
        try:
            self._publisher.publish(fact_record(saying, now, self._runtime.topics))
        except Unpublishable as problem:
            saying = saying.unreadable(str(problem))
            self._publisher.publish(fact_record(saying, now, self._runtime.topics))
        if saying.begins:
            tell_of_root(saying, now, self._runtime.add_span)
        if isinstance(saying.fact.data, Unreadable):
            self._count_unreadable(saying.fact, saying.fact.data.why)
        try:
            notice = notice_of(saying.fact, now)
        except Exception:  # noqa: BLE001 - a status of an older definition may have any form
            self._runtime.metrics.count("millrace_crashes_total", where="notice")
            _log.exception("notice_crashed", object=saying.fact.key)
            return
        if notice is not None:
            self._notices.add(notice)

    async def _commit_resync(self) -> None:
        """Readers may restore from where this resync began, once all of it is in the log."""
        began_at, number = self._began_at, self._rounds.number
        await self._publisher.flush()
        pause = GrowingPause(AWAY_RETRY_S, self._runtime.random.random)
        while number == self._rounds.number:  # else overtaken by a newer one meanwhile
            try:
                await log_state.commit_resync(self._runtime.bus, self._runtime.topics, began_at)
            except Transient as problem:  # it may have been applied: the same once more is harmless
                _log.warning("log_away", problem=str(problem))
                await self._runtime.clock.sleep(pause.next_s())
                continue
            self._committed_at = began_at
            tell_of_resync("resync_complete", self._why, self._incarnation, number)
            return

    def _epoch(self, number: int) -> Epoch:
        return Epoch(self._incarnation, number, self._cluster_uid)

    def _count_unreadable(self, fact: Fact, why: str) -> None:
        self._runtime.metrics.count("watch_ingest_unreadable_objects_total", kind=fact.kind)
        _log.warning("object_unreadable", object=fact.key, version=fact.resource_version, why=why)

    def _pass_over(self, source: Source, obj: Json, problem: Exception) -> None:
        self._runtime.metrics.count("watch_ingest_passed_over_total", source=source.name)
        name = str((obj.get("metadata") or {}).get("name"))
        _log.warning("object_passed_over", source=source.name, name=name, problem=repr(problem))


class _SourceSink:
    """What one list-watch tells."""

    def __init__(self, ingestion: Ingestion, source: Source) -> None:
        self._ingestion = ingestion
        self._source = source

    async def listed(self, pages: AsyncIterator[ListPage]) -> None:
        """Everything that existed at the version of the pages."""
        await self._ingestion.take_list(self._source, pages)

    async def seen(self, event: WatchEvent) -> None:
        """ADDED, MODIFIED or DELETED, in order."""
        await self._ingestion.take_event(self._source, event)
