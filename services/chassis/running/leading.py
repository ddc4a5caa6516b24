"""One instance of a stage decides at a time: the holder of its Lease. Others read and stand by.

1. Take the Lease (`leases.py`), and keep it while the stage is restored.
2. List the kinds that a decision rests on: the log may be behind what the last one who led wrote.
3. Decide. Every write asks first whether the Lease is still held.
4. The Lease is lost: nothing is decided or written any more; stand by for it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from services.chassis.kube.leases import LeaderLease, LeaseLost
from services.chassis.kube.resources import resource_of
from services.chassis.kube.writing import Writer
from services.chassis.process.backoff import GrowingPause
from services.chassis.process.errors import ChassisError
from services.chassis.process.log_lines import log_of
from services.chassis.running.wiring import Runtime
from services.chassis.table.table import Table

AWAY_RETRY_S = 0.5


@dataclass(frozen=True, slots=True)
class Leadership:
    """The Lease of a stage; `lists` are the kinds of facts that are listed before it decides."""

    namespace: str
    lease: str
    lists: tuple[str, ...] = ()


@runtime_checkable
class PreparesToLead(Protocol):
    """A stage that remembers something between two decisions."""

    def begin_to_lead(self) -> None:
        """Forget what was believed when this instance led before."""
        ...


class Leading:
    """Stands by for a Lease and leads, for ever; `release` after the last effect."""

    def __init__(
        self,
        runtime: Runtime,
        leadership: Leadership,
        *,
        prepare: Callable[[Iterable[str]], Awaitable[None]],
        begin: Callable[[], None],
        end: Callable[[], None],
    ) -> None:
        self._prepare = prepare
        self._lists = leadership.lists
        self._begin = begin
        self._end = end
        self._runtime = runtime
        self._is_prepared = False
        self._lease = LeaderLease(
            runtime.kube,
            namespace=leadership.namespace,
            name=leadership.lease,
            holder=f"{runtime.service}-{runtime.instance or runtime.new_id()}",
            clock=runtime.clock,
        )
        self._log = log_of(runtime.service)

    @property
    def is_leading(self) -> bool:
        """Whether decisions are taken here."""
        return self._is_prepared and self._lease.is_held

    async def run(self) -> None:
        """Lead, and stand by again where the Lease is lost."""
        while True:
            await self._lease.acquire()
            try:
                await self._lease.while_kept(self._lead())
            except LeaseLost as lost:
                self._log.warning("lease_lost", problem=str(lost))
            finally:
                self._is_prepared = False
                self._runtime.metrics.set_gauge("millrace_leading", 0)
                self._end()

    async def _lead(self) -> None:
        await self._begin_when_prepared()
        await asyncio.Event().wait()

    async def _begin_when_prepared(self) -> None:
        pause = GrowingPause(AWAY_RETRY_S, self._runtime.random.random)
        while True:
            try:
                await self._prepare(self._lists)
            except ChassisError as problem:
                self._log.warning("not_prepared_to_lead", problem=str(problem))
                await self._runtime.clock.sleep(pause.next_s())
                continue
            break
        self._is_prepared = True
        self._runtime.metrics.set_gauge("millrace_leading", 1)
        self._log.info("leads")
        self._begin()

    async def release(self) -> None:
        """Give the Lease back, so that the next one need not wait."""
        await self._lease.release()


async def list_again(runtime: Runtime, table: Table, writer: Writer, kind: str) -> None:
    """List a kind into the table; what is not there any more leaves it. Raises ChassisError."""
    resource = resource_of(kind)
    everywhere = not runtime.namespaces or not resource.namespaced
    for namespace in (None,) if everywhere else runtime.namespaces:
        read_at, version = table.heard, 0
        listed: set[tuple[str, str, str]] = set()
        async for page in runtime.kube.list_pages(resource, namespace):
            version = int(page.resource_version)
            for item in page.items:
                writer.observe(kind, item, read_at=read_at)
                meta = item["metadata"]
                listed.add((kind, meta.get("namespace", ""), meta["name"]))
        for entry in list(table.of_kind(kind)):
            is_listed_here = namespace in (None, entry.namespace)
            if is_listed_here and entry.ref not in listed and entry.resource_version <= version:
                table.observe_gone(entry.ref, entry.uid)
