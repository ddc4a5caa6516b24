"""Writes reports on objects that cannot be read.

The patch needs nothing of the object but its version, so it works on what nobody can read. An
object that has changed meanwhile is looked at again: nothing that is news to others may have
changed. No fact waits for a notice.
"""

from __future__ import annotations

import asyncio
import random

from contracts.reasons import Reason
from services.chassis.kube.events import emit_event
from services.chassis.kube.port import KubeClient
from services.chassis.kube.resources import resource_of
from services.chassis.process.backoff import Backoffs
from services.chassis.process.clock import Clock
from services.chassis.process.errors import Conflict, NotFound, Rejected, Transient
from services.chassis.process.log_lines import log_of
from services.chassis.process.metrics import Metrics
from services.chassis.running.work_queue import WorkQueue
from services.watch_ingest.core.noticing import Notice, notice_again
from services.watch_ingest.core.recording import SERVICE

NOTICES_MAX = 10_000
"""Objects with a notice that is still to be written; the next full resync finds others again."""
IN_FLIGHT_MAX = 8

_Ref = tuple[str, str, str]


class Notices:
    """The newest notice of each object, written by `run`; one that fails delays no other."""

    def __init__(
        self, kube: KubeClient, *, clock: Clock, random: random.Random, metrics: Metrics
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._metrics = metrics
        self._newest: dict[_Ref, Notice] = {}
        self._work: WorkQueue[_Ref] = WorkQueue(
            self._write, clock=clock, keys_in_flight_max=IN_FLIGHT_MAX
        )
        self._backoffs: Backoffs[_Ref] = Backoffs(random)
        self._log = log_of(SERVICE)

    def add(self, notice: Notice) -> None:
        """Queue a notice; an older one of the same object is forgotten."""
        if notice.ref not in self._newest and len(self._newest) >= NOTICES_MAX:
            self._metrics.count("watch_ingest_notices_dropped_total")
            return
        self._newest[notice.ref] = notice
        self._work.add(notice.ref)

    async def run(self) -> None:
        """Write notices for ever."""
        await self._work.run(asyncio.Event())

    async def _write(self, ref: _Ref) -> float | None:
        """Write the notice of an object; returns when to try again."""
        notice = self._newest.get(ref)
        if notice is None:
            return None
        again = None
        try:
            await self._emit(notice)  # first: the condition says that all is done
            again = await self._patch(notice)
        except Transient as problem:
            self._log.warning("notice_waits", object="/".join(ref), problem=str(problem))
            at_least_s = problem.retry_after_s or 0.0
            return self._backoffs.mark_failed(ref, self._clock.now(), at_least_s=at_least_s)
        except Exception:  # noqa: BLE001 - a bad object must not stop what others wait for
            self._metrics.count("millrace_crashes_total", where="notice")
            self._log.exception("notice_crashed", object="/".join(ref))
        self._backoffs.mark_succeeded(ref)
        if self._newest.get(ref) is notice:
            del self._newest[ref]
        if again is not None:
            self.add(again)
        return None

    async def _patch(self, notice: Notice) -> Notice | None:
        """Write the condition; the notice that a newer version calls for, if there is one."""
        if notice.patch is None:
            return None
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
            try:
                seen = await self._kube.get(resource, namespace, name)
            except NotFound:
                return None
            return notice_again(notice, seen, self._clock.now())
        except Rejected as problem:
            self._note_refused(notice, problem)
        return None

    def _note_refused(self, notice: Notice, problem: Rejected) -> None:
        if not isinstance(problem, NotFound):  # else it is gone, and the report with it
            self._metrics.count("watch_ingest_notices_refused_total")
            self._log.warning("notice_refused", object="/".join(notice.ref), problem=str(problem))

    async def _emit(self, notice: Notice) -> None:
        if not notice.why:
            return
        try:
            await emit_event(
                self._kube,
                _reference_to(notice),
                component=SERVICE,
                reason=Reason.OBJECT_UNREADABLE,
                message=notice.why,
                generation=notice.generation,
                warning=True,
                now=self._clock.now(),
            )
        except Rejected as problem:  # a quota on Events costs the Event, not the condition
            self._note_refused(notice, problem)


def _reference_to(notice: Notice) -> dict[str, str]:
    resource = resource_of(notice.kind)
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "namespace": notice.fact.namespace,
        "name": notice.fact.name,
        "uid": notice.fact.uid,
        "resourceVersion": str(notice.fact.resource_version),
    }
