"""Writes what people are told on objects that cannot be read, one object after another.

The patch needs nothing of the object but its version, so it works on what nobody can read. An
object that has changed meanwhile is looked at again: nothing that is news to others may have
changed. No fact waits for a notice.
"""

from __future__ import annotations

import asyncio
import random
from collections import OrderedDict

from contracts.reasons import Reason
from services.chassis.backing_off import Backoffs
from services.chassis.clock import Clock
from services.chassis.errors import Conflict, NotFound, Rejected, Transient
from services.chassis.events import emit_event
from services.chassis.kube import KubeClient
from services.chassis.log_lines import log_of
from services.chassis.metrics import Metrics
from services.chassis.resources import resource_of
from services.watch_ingest.core.noticing import Notice, notice_again
from services.watch_ingest.core.recording import SERVICE

NOTICES_MAX = 10_000
"""Objects with a notice that is still to be written; the comparison of lists finds others again."""

_Ref = tuple[str, str, str]


class Notices:
    """The newest notice of each object, written by `run`."""

    def __init__(
        self, kube: KubeClient, *, clock: Clock, random: random.Random, metrics: Metrics
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._metrics = metrics
        self._waiting: OrderedDict[_Ref, Notice] = OrderedDict()
        self._backoffs: Backoffs[str] = Backoffs(random)
        self._has_some = asyncio.Event()
        self._log = log_of(SERVICE)

    def add(self, notice: Notice) -> None:
        """Queue a notice; an older one of the same object is forgotten."""
        self._waiting.pop(notice.ref, None)
        if len(self._waiting) >= NOTICES_MAX:
            self._metrics.count("watch_ingest_notices_dropped_total")
            return
        self._waiting[notice.ref] = notice
        self._has_some.set()

    async def run(self) -> None:
        """Write notices for ever."""
        while True:
            await self._has_some.wait()
            while self._waiting:
                _, notice = self._waiting.popitem(last=False)
                await self._write(notice)
            self._has_some.clear()

    async def _write(self, notice: Notice) -> None:
        try:
            await self._emit(notice)  # first: the condition says that all is done
            await self._patch(notice)
        except NotFound:
            self._log.debug("notice_outdated", object="/".join(notice.ref))
        except Transient as problem:
            self._waiting.setdefault(notice.ref, notice)
            now = self._clock.now()
            until = self._backoffs.mark_failed("write", now, at_least_s=problem.retry_after_s or 0)
            self._log.warning("notice_waits", object="/".join(notice.ref), problem=str(problem))
            await self._clock.sleep(until - now)
            return
        except Rejected as problem:
            self._metrics.count("watch_ingest_notices_refused_total")
            self._log.warning("notice_refused", object="/".join(notice.ref), problem=str(problem))
        self._backoffs.mark_succeeded("write")

    async def _patch(self, notice: Notice) -> None:
        if notice.patch is None:
            return
        resource, namespace, name = resource_of(notice.kind), *notice.ref[1:]
        try:
            await self._kube.patch(
                resource,
                namespace,
                name,
                notice.patch,
                resource_version=notice.fact.resource_version,
                subresource="status",
            )
        except Conflict:
            seen = await self._kube.get(resource, namespace, name)
            again = notice_again(notice, seen, self._clock.now())
            if again is not None:
                self._waiting.setdefault(notice.ref, again)

    async def _emit(self, notice: Notice) -> None:
        if not notice.why:
            return
        resource = resource_of(notice.kind)
        await emit_event(
            self._kube,
            {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "namespace": notice.fact.namespace,
                "name": notice.fact.name,
                "uid": notice.fact.uid,
                "resourceVersion": str(notice.fact.resource_version),
            },
            component=SERVICE,
            reason=Reason.OBJECT_UNREADABLE,
            message=notice.why,
            generation=notice.generation,
            warning=True,
            now=self._clock.now(),
        )
