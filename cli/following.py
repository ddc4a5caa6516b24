"""Follows the objects of one job (list and watch) and waits for states of its view.

The chassis lists and watches, `live.py` makes the view. This module also redraws the display.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from cli.connecting import JOBS, PES, PODS, REGIONS
from cli.failing import NotBegun, TimedOut
from cli.live import JobView, job_line, job_panel, view_of, waits_of
from cli.showing import Renderable, Screen, live
from contracts import labels
from services.chassis.kube.listing import ListWatch, Watched, items_of
from services.chassis.kube.port import (
    Json,
    KubeClient,
    ListPage,
    Resource,
    WatchEvent,
    WatchType,
)
from services.chassis.process.clock import SystemClock

REDRAW_S = 0.1
NAMED_MAX = 5
PRINT_S = 1.0


@dataclass
class _Collection:
    """The sink of one list-watch: its objects by name."""

    changed: asyncio.Condition
    objects: dict[str, Json] = field(default_factory=dict)
    listed_once: bool = False

    async def listed(self, pages: AsyncIterator[ListPage]) -> None:
        """Replace the objects by those of a list."""
        self.objects = {item["metadata"]["name"]: item for item in await items_of(pages)}
        self.listed_once = True
        await self._notify()

    async def seen(self, event: WatchEvent) -> None:
        """One event of the watch."""
        name = event.object["metadata"]["name"]
        if event.type is WatchType.DELETED:
            self.objects.pop(name, None)
        else:
            self.objects[name] = event.object
        await self._notify()

    async def _notify(self) -> None:
        async with self.changed:
            self.changed.notify_all()


def state_text(view: JobView | None) -> str:
    """The state of a job after a time-out: phase, message, and the PEs that do not run."""
    if view is None:
        return "The job does not exist."
    message = (view.message or "no message").rstrip(".")
    text = f"Its phase is {view.phase or 'not set'}: {message}."
    if waits := waits_of(view):
        text += f" {waits.rstrip('.')}."
    waiting = [pe.name for _, pe in sorted(view.pes.items()) if not pe.is_running]
    if not waiting:
        return text
    more = ", …" if len(waiting) > NAMED_MAX else ""
    names = ", ".join(waiting[:NAMED_MAX])
    return f"{text} Without a pod that runs: {names}{more}; `kubectl get stp -o wide` says why."


class Follower:
    """Watches one job; `view` is None while the Job does not exist."""

    def __init__(self, kube: KubeClient, namespace: str, job: str) -> None:
        self.job = job
        self._changed = asyncio.Condition()
        self._kube = kube
        self._namespace = namespace
        self._collections = {
            resource: _Collection(self._changed) for resource in (JOBS, REGIONS, PES, PODS)
        }

    @property
    def view(self) -> JobView | None:
        """The job as it is now."""
        job = self._collections[JOBS].objects.get(self.job)
        if job is None:
            return None
        return view_of(
            job,
            self._collections[REGIONS].objects.values(),
            self._collections[PES].objects.values(),
            self._collections[PODS].objects.values(),
        )

    @property
    def is_gone(self) -> bool:
        """Neither the Job nor any of its watched children exists."""
        return self.job not in self._collections[JOBS].objects and not any(
            self._collections[kind].objects for kind in (REGIONS, PES, PODS)
        )

    async def run(self, resource: Resource) -> None:
        """List and watch one collection until cancelled."""
        selector = "" if resource is JOBS else f"{labels.JOB}={self.job}"
        watched = Watched(resource, self._namespace, label_selector=selector)
        watch = ListWatch(self._kube, watched, clock=SystemClock(), random=random.Random())  # noqa: S311
        await watch.run(self._collections[resource])

    async def until(self, what: str, holds: Callable[[], bool], timeout_s: float) -> float:
        """The monotonic time at which `holds` was first true. Raises TimedOut after `timeout_s`."""
        try:
            async with asyncio.timeout(timeout_s), self._changed:
                await self._changed.wait_for(holds)
                return time.monotonic()
        except TimeoutError:
            late = f"job {self.job}: {what} did not come within {timeout_s:g} s."
            look = f"`millrace get {self.job} --watch` shows how it goes on."
            raise TimedOut(f"{late} {state_text(self.view)}", look) from None

    async def until_listed(self, timeout_s: float = 30.0) -> None:
        """Wait until every collection was listed once. Raises TimedOut."""
        await self.until(
            "the first list",
            lambda: all(each.listed_once for each in self._collections.values()),
            timeout_s,
        )


@asynccontextmanager
async def following(
    kube: KubeClient, namespace: str, job: str, *, has_written: bool = False
) -> AsyncIterator[Follower]:
    """A follower whose collections were all listed once.

    `has_written`: the caller wrote its request before. Raises NotBegun if it did not and the lists
    take too long, else TimedOut.
    """
    follower = Follower(kube, namespace, job)
    tasks = [asyncio.create_task(follower.run(r)) for r in (JOBS, REGIONS, PES, PODS)]
    try:
        try:
            await follower.until_listed()
        except TimedOut as late:
            raise late if has_written else NotBegun(*str(late).split("\n")) from None
        yield follower
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def shown_meanwhile(follower: Follower, console: Screen) -> AsyncIterator[None]:
    """Show the job in a live table inside of the block.

    Without a terminal, print a line after each change and the table at the end.
    """

    existed = follower.view is not None

    def draw(of_view: Callable[[JobView], Renderable]) -> Renderable:
        nonlocal existed
        view = follower.view
        existed = existed or view is not None
        if view is None:
            return f"job {follower.job} does not exist {'any more' if existed else 'yet'}"
        return of_view(view)

    # The caller prints a refusal on stderr: not here, too.
    panel = partial(job_panel, problems=False)
    if not console.is_terminal:
        printed: set[str] = set()
        try:
            async with _repeating(
                lambda: _print_once(console, str(draw(job_line)), printed), PRINT_S
            ):
                yield
        finally:
            console.print(draw(panel))
        return
    with live(console) as display:
        try:
            async with _repeating(lambda: display.update(draw(panel), refresh=True), REDRAW_S):
                yield
        finally:
            display.update(draw(panel), refresh=True)


def _print_once(console: Screen, line: str, printed: set[str]) -> None:
    if line not in printed:
        printed.add(line)
        console.print(line, soft_wrap=True)


@asynccontextmanager
async def _repeating(act: Callable[[], None], every_s: float) -> AsyncIterator[None]:
    """Call `act` at once and then every `every_s` seconds, until the end of the block."""

    async def repeat() -> None:
        while True:
            act()
            await asyncio.sleep(every_s)

    task = asyncio.create_task(repeat())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
