"""The list-watch loop: list in pages, watch from the list's version, relist when it expired.

1. List; tell the sink everything; watch from the list's version.
2. A watch that ends goes on from the newest version it saw, bookmarks included.
3. 410, as a status or as an ERROR event, means: list again. So does an event that nobody can read:
   its content is unknown, and a watch from the version before it would meet it again, for ever.
4. A list that is older than what was seen before (of an API server that lags behind) is requested
   again; one that stays older for long is believed: the cluster was restored from a backup.
5. Every failure waits, jittered and growing; a watch that says nothing for `silence_s`, not even a
   bookmark, is taken for dead.

The sink gets what was seen as it is, a list page by page, so that a list of any length takes the
memory of a page; projecting and publishing it is watch-ingest's business.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from services.chassis.kube.port import (
    Json,
    KubeClient,
    ListPage,
    Resource,
    WatchEvent,
    WatchType,
)
from services.chassis.process.backoff import Backoffs
from services.chassis.process.clock import Clock
from services.chassis.process.errors import ChassisError, Expired, Garbled, Transient
from services.chassis.process.log_lines import log_of

PAGE_OBJECTS_MAX = 500
WATCH_TIMEOUT_S = 300
SILENCE_S = 90.0
RETRY_CAP_S = 5.0
"""Nothing is seen meanwhile, so an absence of the API server is not prolonged by much."""
OLDER_LISTS_MAX = 8
"""Half a minute of back-off: no API server lags behind for so long."""
WATCH_SHORTEST_S = 1.0
"""A watch that ends sooner without an event counts as a failure, or we would ask in a circle."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What is listed and watched; `namespace` None means all."""

    resource: Resource
    namespace: str | None = None
    label_selector: str = ""
    metadata_only: bool = False


class Sink(Protocol):
    """The consumer of what was seen."""

    async def listed(self, pages: AsyncIterator[ListPage]) -> None:
        """Everything that existed at the version of the pages, once all of them were read.

        A page is empty again when the next one is requested. What `pages` raises has to pass: the
        list is then requested again from its beginning. So it is on the next `relist` after a sink
        that returns before the last page.
        """
        ...

    async def seen(self, event: WatchEvent) -> None:
        """ADDED, MODIFIED or DELETED, in order; bookmarks are left out."""
        ...


async def list_all(kube: KubeClient, watched: Watched) -> tuple[list[Json], str]:
    """Every object, and the version at which the list was true."""
    items: list[Json] = []
    version = ""
    async for page in _pages_of(kube, watched):
        items += page.items
        version = page.resource_version
    return items, version


def _pages_of(kube: KubeClient, watched: Watched) -> AsyncIterator[ListPage]:
    return kube.list_pages(
        watched.resource,
        watched.namespace,
        label_selector=watched.label_selector,
        limit=PAGE_OBJECTS_MAX,
        metadata_only=watched.metadata_only,
    )


async def items_of(pages: AsyncIterator[ListPage]) -> list[Json]:
    """Every object of a list at once, for a sink that keeps all of them."""
    return [item async for page in pages for item in page.items]


class ListWatch:
    """One list-watch that survives everything; `relist()` asks for a new list."""

    def __init__(
        self,
        kube: KubeClient,
        watched: Watched,
        *,
        clock: Clock,
        random: random.Random,
        silence_s: float = SILENCE_S,
    ) -> None:
        self._kube = kube
        self._watched = watched
        self._clock = clock
        self._silence_s = silence_s
        self._backoffs: Backoffs[str] = Backoffs(random, cap_s=RETRY_CAP_S)
        self._relist_wanted = asyncio.Event()
        self._version = ""
        self._seen = 0
        self._older_lists = 0
        self._log = log_of("listing")

    def relist(self) -> None:
        """End the watch and list again."""
        self._relist_wanted.set()

    async def run(self, sink: Sink) -> None:
        """Run for ever; an exception of the sink ends it."""
        while True:
            if not self._version or self._relist_wanted.is_set():
                await self._list(sink)
            else:
                await self._watch_until_relist(sink)

    async def _list(self, sink: Sink) -> None:
        self._relist_wanted.clear()
        try:
            async with aclosing(self._pages()) as pages:
                await sink.listed(pages)
        except _ListFailed as failure:
            self._version = ""
            await self._wait("list", failure.problem)

    async def _pages(self) -> AsyncGenerator[ListPage, None]:
        """The pages of a list; the watch goes on from its version after the last of them."""
        version = ""
        try:
            async for page in _pages_of(self._kube, self._watched):
                version = page.resource_version
                self._refuse_older(int(version))
                yield page
                page.items.clear()  # or it would live until the next one has been read
        except ChassisError as problem:
            raise _ListFailed(problem) from problem
        self._older_lists = 0
        self._backoffs.mark_succeeded("list")
        self._version = version
        self._seen = int(version)

    def _refuse_older(self, version: int) -> None:
        """Raises Transient for a list that is older than what was seen, unless it stays older."""
        if version < self._seen and self._older_lists < OLDER_LISTS_MAX:
            self._older_lists += 1
            raise Transient(f"a list of version {version} after {self._seen} was seen")

    async def _watch_until_relist(self, sink: Sink) -> None:
        """Watch, but let go at once when a new list is wanted."""
        watching = asyncio.ensure_future(self._watch(sink))
        wishing = asyncio.ensure_future(self._relist_wanted.wait())
        try:
            await asyncio.wait((watching, wishing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            wishing.cancel()
            watching.cancel()
            await asyncio.wait((watching, wishing))
        if not watching.cancelled():
            watching.result()

    async def _watch(self, sink: Sink) -> None:
        began_s = self._clock.monotonic()
        delivered = 0
        try:
            async with aclosing(self._events()) as events:
                async for event in events:
                    delivered += 1
                    if event.type is not WatchType.BOOKMARK:
                        await _tell(sink, event)
                    if event.resource_version.isdecimal():
                        self._version = event.resource_version
                        self._seen = max(self._seen, int(event.resource_version))
                    self._backoffs.mark_succeeded("watch")
        except _SinkFailed as failure:
            raise failure.cause from None
        except Expired as problem:
            self._log.info("watch_expired", **self._names(), problem=str(problem))
            self._version = ""
            return
        except Garbled as problem:
            self._version = ""
            await self._wait("watch", problem)
            return
        except ChassisError as problem:
            await self._wait("watch", problem)
            return
        if not delivered and self._clock.monotonic() - began_s < WATCH_SHORTEST_S:
            await self._wait("watch", None)

    def _events(self) -> AsyncGenerator[WatchEvent, None]:
        return self._kube.watch(
            self._watched.resource,
            self._watched.namespace,
            resource_version=self._version,
            label_selector=self._watched.label_selector,
            metadata_only=self._watched.metadata_only,
            timeout_s=WATCH_TIMEOUT_S,
            silence_s=self._silence_s,
        )

    async def _wait(self, what: str, problem: ChassisError | None) -> None:
        now = self._clock.now()
        at_least_s = getattr(problem, "retry_after_s", None) or 0.0
        until = self._backoffs.mark_failed(what, now, at_least_s=at_least_s)
        self._log.warning(
            f"{what}_failed", **self._names(), problem=str(problem or "ended"), wait_s=until - now
        )
        await self._clock.sleep(until - now)

    def _names(self) -> dict[str, str]:
        return {
            "resource": self._watched.resource.plural,
            "namespace": self._watched.namespace or "",
        }


class _ListFailed(Exception):
    """Carries what a list raised through the sink that reads its pages."""

    def __init__(self, problem: ChassisError) -> None:
        super().__init__(str(problem))
        self.problem = problem


class _SinkFailed(Exception):
    """Carries what a sink raised past the handling of the API server's failures."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause


async def _tell(sink: Sink, event: WatchEvent) -> None:
    try:
        await sink.seen(event)
    except ChassisError as problem:
        raise _SinkFailed(problem) from problem
