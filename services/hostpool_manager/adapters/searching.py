"""Searches that run beside everything else: one for new specs, one for those that wait.

A search takes the cluster as it is when it begins, and seconds at worst; what it found is checked
again on the cluster as it is when it ends, and counts from then on. So two searches may find the
same room, and one of them gets it.
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
from services.hostpool_manager.core.snapshot import Found, SearchTarget, Tried

T = TypeVar("T")


class Searches:
    """The searches of one instance; `in_threads` is off where virtual time drives everything."""

    def __init__(
        self, wiring: Wiring, knowledge: Knowledge, limits: Limits, *, in_threads: bool
    ) -> None:
        self._runtime = wiring.runtime
        self._wake = wiring.wake
        self._knowledge = knowledge
        # Virtual time stands still while something is computed, so it limits nothing.
        clock = wiring.runtime.clock.monotonic if in_threads else None
        self._limits = replace(limits, clock=clock)
        self._in_threads = in_threads
        self._running: dict[SearchTarget, asyncio.Task[None]] = {}
        self._log = log_of("searching")

    @property
    def running(self) -> tuple[SearchTarget, ...]:
        """What is searched now."""
        return tuple(self._running)

    def forget(self) -> None:
        """Let nothing come of the searches that run."""
        for task in self._running.values():
            task.cancel()
        self._running.clear()

    def begin(self, target: SearchTarget) -> bool:
        """Begin a search, unless its lane is taken or the spec is another by now."""
        picture = self._knowledge.view
        placement = picture.placements.get(target.ref)
        is_busy = any(each.is_patient == target.is_patient for each in self._running)
        job = picture.job(target.ref) if placement else None
        if is_busy or placement is None or job is None or not target.is_of(placement):
            return False
        run = self._run(target, job, is_in_force=placement.is_in_force)
        self._running[target] = asyncio.create_task(run, name=f"search {target.subject}")
        return True

    async def _run(self, target: SearchTarget, job: Job, *, is_in_force: bool) -> None:
        clock, metrics = self._runtime.clock, self._runtime.metrics
        picture, began_s = self._knowledge.view, clock.monotonic()
        changes = picture.changes
        try:
            found = await self._search(picture.cluster, job, is_in_force=is_in_force)
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
        """An answer in any case: a defect of ours must not keep others from theirs."""
        work = partial(search_for, cluster, job, self._limits, is_in_force=is_in_force)
        try:
            return await in_a_thread(work) if self._in_threads else work()
        except Exception as defect:  # noqa: BLE001 - it delays only this job
            return self._crashed(job.name, defect)

    def _crashed(self, job: str, defect: Exception) -> SearchResult:
        """Count, log and say a defect; called where it is caught."""
        self._runtime.metrics.count("millrace_crashes_total", where="search")
        self._log.exception("search_crashed", job=job)
        said = (
            f"the search crashed ({type(defect).__name__}), which is a defect of millrace; "
            "the log of hostpool-manager has the traceback"
        )
        return SearchResult(Unknown(said, Reason.CRASHING))

    def _judged(
        self, target: SearchTarget, result: SearchResult, newest: Newest
    ) -> Found | Dropped:
        try:
            return judge(target, result, newest)
        except Exception as defect:  # noqa: BLE001 - the same would be searched without end
            return judge(target, self._crashed(target.subject, defect), newest)

    def _take_up(
        self, target: SearchTarget, result: SearchResult, changes: int, took_s: float
    ) -> str:
        """Let what was found count, if anything was (answering.py); says what."""
        knowledge, picture = self._knowledge, self._knowledge.view
        placement = picture.placements.get(target.ref)
        newest = Newest(
            picture.cluster,
            placement,
            picture.job(target.ref) if placement else None,
            knowledge.spec_bytes(target.ref),
        )
        found = self._judged(target, result, newest)
        if isinstance(found, Dropped):
            return found
        times = misses_in_a_row(knowledge.tried.get(target.ref), found)
        now = self._runtime.clock.now()
        tried = Tried(target.uid, target.generation, changes, now, took_s, times)
        knowledge.take_up(target.ref, found, tried)
        return found.said.phase.value.lower()


async def in_a_thread(work: Callable[[], T]) -> T:
    """Work beside the event loop, in a thread that nobody waits for when the process ends."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(result: T | None, defect: BaseException | None) -> None:
        if done.done():
            return
        if defect is not None:
            done.set_exception(defect)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        try:
            told: tuple[T | None, BaseException | None] = (work(), None)
        except BaseException as defect:  # noqa: BLE001 - it is raised where it is awaited
            told = (None, defect)
        if not loop.is_closed():
            loop.call_soon_threadsafe(tell, *told)

    threading.Thread(target=run, name="search", daemon=True).start()
    return await done
