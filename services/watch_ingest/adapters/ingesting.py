"""One incarnation of watch-ingest: lists, watches, publishes; what to publish is the core's.

It begins where `leading.py` holds the Lease, and ends with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from functools import partial

from contracts.facts import Epoch, Fact, SyncCompleted
from contracts.unreadable import Unreadable
from services.chassis.kube.listing import ListWatch, Watched
from services.chassis.kube.port import Json, ListPage, WatchEvent, WatchType
from services.chassis.kube.resources import watched_resource
from services.chassis.log.bus import Partition
from services.chassis.process.backoff import GrowingPause
from services.chassis.process.errors import Transient
from services.chassis.process.log_lines import log_of
from services.chassis.running.wiring import Runtime
from services.watch_ingest.adapters import log_state
from services.watch_ingest.adapters.fencing import FenceCheck
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

AWAY_RETRY_S = 1.0

_log = log_of(SERVICE)


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
        """Publish for ever."""
        await self._begin_resync("incarnation")
        async with asyncio.TaskGroup() as group:
            group.create_task(self._publisher.run())
            group.create_task(self._notices.run())
            group.create_task(self._resync_again())
            group.create_task(self._compare_again())
            group.create_task(self._watch_log())
            for source, watch in self._watches.items():
                group.create_task(watch.run(_SourceSink(self, source)))

    async def check_fence(self) -> None:
        """Watch for others who write facts; raises Fenced."""
        runtime = self._runtime
        starts = await log_state.newest_resync(runtime.bus, runtime.topics)
        check = FenceCheck(runtime.bus, self._publisher, starts)
        while True:
            await runtime.clock.sleep(self._settings.log_check_s)
            await check.look(self._epoch(self._rounds.number))

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
            await self._publish_all(
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
        await self._publish_all(
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
            for publication in self._publications(source, event):
                self._publish(publication)
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            self._pass_over(source, event.object, problem)

    def _publications(self, source: Source, event: WatchEvent) -> Iterable[Publication]:
        epoch = self._epoch(self._rounds.number_of(source))
        meta = event.object["metadata"]
        for projection in source.watched.projections:
            if event.type is WatchType.DELETED:
                ref = (projection.kind, str(meta.get("namespace", "")), str(meta["name"]))
                yield from facts_of_deletion(self._ledger, ref, int(meta["resourceVersion"]), epoch)
            else:
                yield from facts_of_object(self._ledger, projection, event.object, epoch)

    async def _publish_all(self, publications: Iterable[Publication]) -> None:
        for publication in publications:
            self._publish(publication)
            await self._publisher.wait_for_room()

    def _publish(self, publication: Publication) -> None:
        """Publish a fact, and have its object say what cannot be read of it."""
        now = self._runtime.clock.now()
        try:
            self._publisher.publish(fact_record(publication, now, self._runtime.topics))
        except Unpublishable as problem:
            publication = publication.unreadable(str(problem))
            self._publisher.publish(fact_record(publication, now, self._runtime.topics))
        if publication.begins:
            tell_of_root(publication, now, self._runtime.add_span)
        if isinstance(publication.fact.data, Unreadable):
            self._count_unreadable(publication.fact, publication.fact.data.why)
        try:
            notice = notice_of(publication.fact, now)
        except Exception:  # noqa: BLE001 - a status of an older definition may have any form
            self._runtime.metrics.count("millrace_crashes_total", where="notice")
            _log.exception("notice_crashed", object=publication.fact.key)
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
