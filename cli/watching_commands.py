"""Prints what changes, until Ctrl-C: of jobs, of one job, and its Events.

The chassis lists and watches. A list that follows a lost watch prints only what is new.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterable

from cli.describing import event_cells
from cli.following import following, shown_meanwhile
from cli.inspecting import JobObjects, all_jobs, is_event_of, one_job, time_of, uids_of
from cli.live import job_line
from cli.showing import Screen, answer
from contracts.unreadable import is_whole
from services.chassis.kube.events import EVENT
from services.chassis.kube.listing import ListWatch, Watched, items_of
from services.chassis.kube.port import Json, KubeClient, ListPage, WatchEvent, WatchType
from services.chassis.process.clock import SystemClock

Show = Callable[[Json], None]
POLL_S = 1.0
"""Between two looks at all jobs: a list of each kind."""


async def watch_job(kube: KubeClient, namespace: str, job: str, console: Screen) -> None:
    """Show one job until it is gone."""
    async with following(kube, namespace, job) as follower, shown_meanwhile(follower, console):
        await follower.until("its end", lambda: follower.is_gone, float("inf"))
    answer(f"job {job} is gone")


async def watch_jobs(kube: KubeClient, namespace: str | None) -> None:
    """Print a line for each job, and another one whenever it changes, for ever."""
    before: dict[tuple[str, str], str] = {}
    while True:
        now: dict[tuple[str, str], str] = {}
        for each in await all_jobs(kube, namespace):
            meta = each.job["metadata"]
            now[meta["namespace"], meta["name"]] = str(job_line(each.view))
        for key, line in now.items():
            if before.get(key) != line:
                answer(line if namespace else f"{key[0]}  {line}")
        for key in before.keys() - now.keys():
            answer(f"job {key[1]}  is gone")
        before = now
        await asyncio.sleep(POLL_S)


class _Printing:
    """The sink of the Events of a namespace: shows those of one job, each version once."""

    def __init__(
        self, kube: KubeClient, objects: JobObjects, show: Show, known: Iterable[Json]
    ) -> None:
        self._kube = kube
        self._objects = objects
        self._show = show
        self._printed = set(map(_version_of, known))

    async def listed(self, pages: AsyncIterator[ListPage]) -> None:
        """Print all that were not printed."""
        items = await items_of(pages)
        uids = uids_of(self._objects)
        ours = [each for each in items if is_whole(each) and is_event_of(each, self._objects, uids)]
        for each in sorted(ours, key=time_of):
            self._print(each)

    async def seen(self, event: WatchEvent) -> None:
        """Print an Event of the job; its objects are read again for one that is not known."""
        if event.type is WatchType.DELETED or not is_whole(event.object):
            return
        if not is_event_of(event.object, self._objects, uids_of(self._objects)):
            about = str((event.object.get("involvedObject") or {}).get("name") or "")
            meta = self._objects.job["metadata"]
            if not about.startswith(f"{meta['name']}-"):
                return
            self._objects = await one_job(self._kube, meta["namespace"], meta["name"])
            if not is_event_of(event.object, self._objects, uids_of(self._objects)):
                return
        self._print(event.object)

    def _print(self, event: Json) -> None:
        key = _version_of(event)
        if key not in self._printed:
            self._printed.add(key)
            self._show(event)


def _version_of(event: Json) -> tuple[str, str]:
    meta = event["metadata"]
    return str(meta["uid"]), str(meta["resourceVersion"])


def print_event(event: Json) -> None:
    """Print an Event as one line."""
    answer("  ".join((time_of(event), *event_cells(event))))


async def watch_events(
    kube: KubeClient, objects: JobObjects, show: Show = print_event, known: Iterable[Json] = ()
) -> None:
    """Show the Events of a job and of its objects, and new ones, for ever; not those known."""
    watched = Watched(EVENT, objects.job["metadata"]["namespace"])
    watch = ListWatch(kube, watched, clock=SystemClock(), random=random.Random())  # noqa: S311
    await watch.run(_Printing(kube, objects, show, known))
