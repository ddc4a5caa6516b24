"""Searches beside the event loop: one for new specs and one for Placements that wait.

A search works on the cluster as of its start and may take seconds. Its answer is checked again on
the cluster as of its end, and counts from then on. So if two searches find the same room, one of
them gets it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from contracts.reasons import Reason
from placement.answers import Unknown
from placement.cluster import Cluster
from placement.deciding import Limits
from placement.job import Job
from services.chassis.process.log_lines import log_of
from services.chassis.running.wiring import Wiring
from services.hostpool_manager.adapters.intake import CLUSTER, JobKey, Knowledge
from services.hostpool_manager.core.answering import (
    Dropped,
    Newest,
    SearchResult,
    judge,
    misses_in_a_row,
    search_for,
)
from services.hostpool_manager.core.snapshot import Found, LastSearch, SearchTarget

T = TypeVar("T")


class Searches:
    """The searches of one instance; `in_threads` is off where virtual time drives everything."""

    def __init__(
        self, wiring: Wiring, knowledge: Knowledge, limits: Limits, *, in_threads: bool
    ) -> None:
        self._runtime = wiring.runtime
        self._wake = wiring.wake
        self._knowledge = knowledge
        # Virtual time does not pass during a computation, so it cannot limit a search.
        clock = wiring.runtime.clock.monotonic if in_threads else None
        self._limits = replace(limits, clock=clock)
        self._in_threads = in_threads
        self._running: dict[SearchTarget, asyncio.Task[None]] = {}
        self._log = log_of("searching")

    @property
    def running(self) -> tuple[SearchTarget, ...]:
        """The searches that run now."""
        return tuple(self._running)

    def forget(self) -> None:
        """Cancel the searches that run."""
        for task in self._running.values():
            task.cancel()
        self._running.clear()

    def begin(self, target: SearchTarget) -> bool:
        """Begin a search; False if its lane is busy or the spec changed."""
        view = self._knowledge.view
        placement = view.placements.get(target.ref)
        is_busy = any(each.is_patient == target.is_patient for each in self._running)
        job = view.job(target.ref) if placement else None
        if is_busy or placement is None or job is None or not target.is_of(placement):
            return False
        run = self._run(target, job, is_in_force=placement.is_in_force)
        self._running[target] = asyncio.create_task(run, name=f"search {target.subject}")
        return True

    async def _run(self, target: SearchTarget, job: Job, *, is_in_force: bool) -> None:
        clock, metrics = self._runtime.clock, self._runtime.metrics
        view, began_s = self._knowledge.view, clock.monotonic()
        changes = view.changes
        try:
            found = await self._search(view.cluster, job, is_in_force=is_in_force)
            took_s = clock.monotonic() - began_s
            outcome = self._take_up(target, found, changes, took_s)
            metrics.count("hostpool_manager_searches_total", answer=outcome)
            metrics.observe("hostpool_manager_search_seconds", took_s)
            self._log.info("searched", job=target.subject, answer=outcome, took_s=round(took_s, 3))
        finally:
            if self._running.get(target) is asyncio.current_task():
                del self._running[target]
                self._wake(JobKey(*target.ref))
                self._wake(CLUSTER)

    async def _search(self, cluster: Cluster, job: Job, *, is_in_force: bool) -> SearchResult:
        """Run a search; a crash becomes an answer, too, so that it does not block the lane."""
        work = partial(search_for, cluster, job, self._limits, is_in_force=is_in_force)
        try:
            return await in_a_thread(work) if self._in_threads else work()
        except Exception as defect:  # noqa: BLE001 - it delays only this job
            return self._crashed(job.name, defect)

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

    def _take_up(
        self, target: SearchTarget, result: SearchResult, changes: int, took_s: float
    ) -> str:
        """Judge a result (answering.py) and let the answer count; returns the outcome."""
        knowledge, view = self._knowledge, self._knowledge.view
        placement = view.placements.get(target.ref)
        newest = Newest(
            view.cluster,
            placement,
            view.job(target.ref) if placement else None,
            knowledge.spec_bytes(target.ref),
        )
        found = self._judged(target, result, newest)
        if isinstance(found, Dropped):
            return found
        misses = misses_in_a_row(knowledge.last_searches.get(target.ref), found)
        now = self._runtime.clock.now()
        search = LastSearch(target.uid, target.generation, changes, now, took_s, misses)
        knowledge.take_up(target.ref, found, search)
        return found.status.phase.value.lower()


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
