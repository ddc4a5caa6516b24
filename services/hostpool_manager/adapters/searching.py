"""Searches that run beside everything else: one for new questions, one for those that wait.

A search takes the cluster as it is when it begins, and seconds at worst; what it found is checked
again on the cluster as it is when it ends, and counts from then on. So two searches may find the
same room, and one of them gets it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from contracts.reasons import Reason
from services.chassis.log_lines import log_of
from services.chassis.wiring import Wiring
from services.hostpool_manager.adapters.intake import CLUSTER, Found, JobKey, Knowledge
from services.hostpool_manager.core.following import without_lost
from services.hostpool_manager.core.placing.answers import Answer, Placed, Refused, Unknown
from services.hostpool_manager.core.placing.checking import violations
from services.hostpool_manager.core.placing.cluster import Cluster
from services.hostpool_manager.core.placing.deciding import Limits, decide
from services.hostpool_manager.core.placing.job import Job
from services.hostpool_manager.core.saying import said_of, too_long
from services.hostpool_manager.core.snapshot import (
    InForce,
    Placement,
    Question,
    Tried,
)

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
        self._running: dict[Question, asyncio.Task[None]] = {}
        self._log = log_of("searching")

    @property
    def running(self) -> tuple[Question, ...]:
        """What is searched now."""
        return tuple(self._running)

    def forget(self) -> None:
        """Let nothing come of the searches that run."""
        for task in self._running.values():
            task.cancel()
        self._running.clear()

    def begin(self, asked: Question) -> bool:
        """Begin a search, unless its lane is taken or the question is another by now."""
        placement = self._knowledge.picture.placements.get(asked.ref)
        is_busy = any(each.is_patient == asked.is_patient for each in self._running)
        if is_busy or placement is None or not _is_of(asked, placement):
            return False
        task = asyncio.create_task(self._run(asked, placement), name=f"search {asked.subject}")
        self._running[asked] = task
        return True

    async def _run(self, asked: Question, placement: Placement) -> None:
        clock, metrics = self._runtime.clock, self._runtime.metrics
        question, began_s = self._knowledge.picture.question(asked.ref), clock.monotonic()
        assert question is not None, "a spec that cannot be read is not searched"
        changes = self._knowledge.picture.changes
        try:
            answer = await self._answer(self._knowledge.picture.cluster, question)
            took_s = clock.monotonic() - began_s
            outcome = self._take_up(asked, answer, changes, took_s)
            metrics.count("hostpool_manager_searches_total", answer=outcome)
            metrics.observe("hostpool_manager_search_seconds", took_s)
            self._log.info("searched", job=asked.subject, answer=outcome, took_s=round(took_s, 3))
        finally:
            if self._running.get(asked) is asyncio.current_task():
                del self._running[asked]
                self._wake(JobKey(*asked.ref))
                self._wake(CLUSTER)

    async def _answer(self, cluster: Cluster, question: Job) -> Answer:
        """An answer in any case: a defect of ours must not keep others from theirs."""
        try:
            if not self._in_threads:
                return decide(cluster, question, self._limits)
            return await in_a_thread(lambda: decide(cluster, question, self._limits))
        except Exception as defect:  # noqa: BLE001 - it delays only this job
            self._runtime.metrics.count("millrace_crashes_total", where="search")
            self._log.exception("search_crashed", job=question.name)
            return Unknown(
                f"the search crashed ({type(defect).__name__}), which is a defect of millrace; "
                "the log of hostpool-manager has the traceback",
                Reason.CRASHING,
            )

    def _take_up(self, asked: Question, answer: Answer, changes: int, took_s: float) -> str:
        """Let what was found count, if it is still what is asked and still holds."""
        picture = self._knowledge.picture
        placement = picture.placements.get(asked.ref)
        if placement is None or not _is_of(asked, placement) or placement.asked is None:
            return "outdated"
        question = picture.question(asked.ref)
        assert question is not None
        if isinstance(answer, Placed) and violations(picture.cluster, question, answer):
            return "overtaken"
        unsayable = too_long(answer, question, self._knowledge.spec_bytes(asked.ref))
        if unsayable:
            answer = Refused(Reason.SPEC_INVALID, unsayable)
        in_force = _in_force(picture.cluster, placement, question, answer)
        said = said_of(answer, generation=placement.generation, in_force=in_force)
        is_placed = isinstance(answer, Placed)
        self._note_tried(asked, placement, changes, took_s, is_placed=is_placed)
        self._knowledge.take_up(
            asked.ref, Found(placement.uid, placement.generation, said, in_force)
        )
        return said.phase.value.lower()

    def _note_tried(
        self,
        asked: Question,
        placement: Placement,
        changes: int,
        took_s: float,
        *,
        is_placed: bool,
    ) -> None:
        before = self._knowledge.tried.get(asked.ref)
        in_a_row = before.times if before is not None and before.is_of(placement) else 0
        # What is placed and breaks again is a new trouble: its pause must not go on growing.
        times = 0 if is_placed else in_a_row + 1
        self._knowledge.tried[asked.ref] = Tried(
            asked.uid, asked.generation, changes, self._runtime.clock.now(), took_s, times
        )


def _is_of(asked: Question, placement: Placement) -> bool:
    return (asked.uid, asked.generation) == (placement.uid, placement.generation)


def _in_force(cluster: Cluster, placement: Placement, question: Job, answer: Answer) -> InForce:
    if isinstance(answer, Placed):
        return InForce(
            placement.asked_generation,
            {each.pool: each.nodes for each in answer.pools},
            answer.assignment,
            answer.is_as_preferred,
        )
    if placement.is_in_force:
        return without_lost(cluster, question, placement.in_force)
    return placement.in_force


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
