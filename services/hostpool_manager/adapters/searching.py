"""Searches beside the event loop: one for new specs and one for Placements that wait.

A search works on the cluster as of its start and may take seconds. Its answer is checked again on
the cluster as of its end, and counts from then on. So if two searches find the same room, one of
them gets it. Which searches run and what they found are entries of the table (folding.py).
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

from contracts.reasons import Reason
from placement.answers import Unknown
from placement.deciding import Limits
from services.chassis.process.log_lines import log_of
from services.chassis.running.wiring import Wiring
from services.chassis.table.tombstones import Ref as ObjectRef
from services.hostpool_manager.adapters.folding import (
    OWN_KINDS,
    PLACEMENT,
    SEARCHED,
    SEARCHING,
    ClusterFold,
    data_of,
    searched_of,
)
from services.hostpool_manager.adapters.intake import CLUSTER, recorded_status
from services.hostpool_manager.core.answering import (
    Dropped,
    Newest,
    SearchResult,
    judge,
    misses_in_a_row,
    search_for,
)
from services.hostpool_manager.core.quotas import Quotas, quota_left
from services.hostpool_manager.core.snapshot import (
    DesiredPlacementStatus,
    Found,
    LastSearch,
    Ref,
    Searched,
    SearchTarget,
)
from services.hostpool_manager.core.statuses import is_current

T = TypeVar("T")
LANES: Final = {False: "new", True: "patient"}


class Searches:
    """The searches of one instance; `in_threads` is off where virtual time drives everything."""

    def __init__(
        self,
        wiring: Wiring,
        fold: ClusterFold,
        limits: Limits,
        quotas: Quotas,
        *,
        in_threads: bool,
    ) -> None:
        self._quotas = quotas
        self._runtime = wiring.runtime
        self._table = wiring.table
        self._catch_up = wiring.catch_up
        self._wake = wiring.wake
        self._fold = fold
        # Virtual time does not pass during a computation, so it cannot limit a search.
        clock = wiring.runtime.clock.monotonic if in_threads else None
        self._limits = replace(limits, clock=clock)
        self._in_threads = in_threads
        self._running: dict[str, asyncio.Task[None]] = {}
        self._log = log_of("searching")

    def forget(self) -> None:
        """Cancel the searches that run, and drop what was found."""
        for task in self._running.values():
            task.cancel()
        self._running.clear()
        for entry in [each for kind in OWN_KINDS for each in self._table.of_kind(kind)]:
            self._table.forget(entry.ref)

    def begin(self, target: SearchTarget) -> bool:
        """Begin a search; False if its lane is busy or the spec changed."""
        view, lane = self._fold.view, LANES[target.is_patient]
        placement = view.placements.get(target.ref)
        job = view.job(target.ref) if placement else None
        is_busy = lane in self._running
        if is_busy or placement is None or job is None or not target.is_of(placement):
            return False
        work = partial(search_for, view.cluster, placement, job, self._limits)
        # The last step before the task: an entry that no task removes would block the lane.
        self._enter((SEARCHING, "", lane), uid=lane, data=data_of(target))
        run = self._run(lane, target, work, view.room)
        self._running[lane] = asyncio.create_task(run, name=f"search {target.subject}")
        return True

    def note_recorded(self, ref: Ref, status: DesiredPlacementStatus) -> None:
        """The status of a Placement records this answer: it need not count beside it any more."""
        entry = self._table.get(SEARCHED, *ref)  # newer than the view: a search may have ended
        searched = searched_of(entry) if entry is not None else None
        if searched is not None and searched.found and searched.found.status == status:
            self._keep(ref, replace(searched, found=None))

    def _keep(self, ref: Ref, searched: Searched) -> None:
        self._enter((SEARCHED, *ref), uid=searched.last.uid, data=data_of(searched))

    def _enter(self, ref: ObjectRef, *, uid: str, data: Mapping[str, Any]) -> None:
        """Put an entry of an own kind into the table."""
        before = self._table.get(*ref)
        version = before.resource_version + 1 if before is not None else 1
        self._table.observe(*ref, uid=uid, resource_version=version, data=data)

    async def _run(
        self, lane: str, target: SearchTarget, work: Callable[[], SearchResult], room: int
    ) -> None:
        clock, metrics = self._runtime.clock, self._runtime.metrics
        began_s = clock.monotonic()
        try:
            found = await self._search(target, work)
            took_s = clock.monotonic() - began_s
            await self._catch_up()
            outcome = self._take_up(target, found, room, took_s)
            metrics.count("hostpool_manager_searches_total", answer=outcome)
            metrics.observe("hostpool_manager_search_seconds", took_s)
            self._log.info("searched", job=target.subject, answer=outcome, took_s=round(took_s, 3))
        finally:
            if self._running.get(lane) is asyncio.current_task():
                del self._running[lane]
                self._table.forget((SEARCHING, "", lane))
                self._wake(CLUSTER)  # also where another cluster has emptied the table

    async def _search(self, target: SearchTarget, work: Callable[[], SearchResult]) -> SearchResult:
        """Run a search; a crash becomes an answer, too, so that it does not block the lane."""
        try:
            return await in_a_thread(work) if self._in_threads else work()
        except Exception as defect:  # noqa: BLE001 - it delays only this job
            return self._crashed(target.subject, defect)

    def _crashed(self, job: str, defect: Exception) -> SearchResult:
        """Count and log a crash, and make an answer of it; called where it is caught."""
        self._runtime.metrics.count("millrace_crashes_total", where="search")
        self._log.exception("search_crashed", job=job)
        message = (
            f"the search crashed ({type(defect).__name__}), which is a defect of millrace; "
            "the log of hostpool-manager has the traceback"
        )
        return SearchResult(Unknown(message, Reason.CRASHING))

    def _judged(
        self, target: SearchTarget, result: SearchResult, newest: Newest
    ) -> Found | Dropped:
        try:
            return judge(target, result, newest)
        except Exception as defect:  # noqa: BLE001 - else the same search would repeat without end
            return judge(target, self._crashed(target.subject, defect), newest)

    def _take_up(self, target: SearchTarget, result: SearchResult, room: int, took_s: float) -> str:
        """Judge a result (answering.py) and let the answer count; returns the outcome."""
        view = self._fold.view
        for gone in sorted(view.searched.keys() - view.placements.keys()):
            self._table.forget((SEARCHED, *gone))
        placement = view.placements.get(target.ref)
        newest = Newest(
            view.cluster,
            placement,
            view.job(target.ref) if placement else None,
            self._spec_bytes(target.ref),
            quota_left(self._quotas, view.placements, target.ref),
        )
        found = self._judged(target, result, newest)
        if isinstance(found, Dropped):
            return found
        before = view.searched.get(target.ref)
        misses = misses_in_a_row(before.last if before else None, found)
        now = self._runtime.clock.now()
        last = LastSearch(target.uid, target.spec_generation, room, now, took_s, misses)
        recorded = recorded_status(self._table, PLACEMENT, target.ref)
        is_recorded = is_current(recorded, found.status)
        self._keep(target.ref, Searched(last, None if is_recorded else found))
        return found.status.phase.value.lower()

    def _spec_bytes(self, ref: Ref) -> int:
        """The size of the spec of a Placement as it is stored."""
        entry = self._table.whole(PLACEMENT, *ref)
        return len(json.dumps(entry.data["spec"], ensure_ascii=False).encode()) if entry else 0


async def in_a_thread(work: Callable[[], T]) -> T:
    """Run `work` in a daemon thread, which does not delay the end of the process."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, defect: BaseException | None) -> None:
        if done.done():
            return
        if defect is not None:
            done.set_exception(defect)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        try:
            outcome: tuple[T | None, BaseException | None] = (work(), None)
        except BaseException as defect:  # noqa: BLE001 - it is raised where it is awaited
            outcome = (None, defect)
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=run, name="search", daemon=True).start()
    return await done
