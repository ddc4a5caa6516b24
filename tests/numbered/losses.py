"""What a job reports of lost tuples: in metrics, in the status of its PEs, and in Events.

Each launch counts from 0, and launches end: so the most that each reported is remembered.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from loadtest.api import CORE, STREAMS, Follower
from tests.e2e.watching import Cluster, JobObjects, Obj, followed_patiently
from tests.patience import patient

LOOK_S = 0.25
TIMEOUT_S = patient(2.0)
_SAMPLE = re.compile(r'^millrace_tuples_lost_total\{(?:.*,)?cause="(\w+)".*\} ([0-9.e+]+)$', re.M)
_EVENT = re.compile(r"^At most (\d+) tuples? (?:is|are) lost so far, as launch (\d+) reports")
PORT = 9696

Reported = Counter[str]
"""Tuples by cause, or by PE and launch."""


class _Statuses(Follower):
    """The most that each launch of each PE reported in the status."""

    def __init__(self, job: JobObjects) -> None:
        selector = f"?labelSelector=streams.ibm.com%2Fjob%3D{job.job}"
        super().__init__(job.api, f"{STREAMS}/streamspes{selector}", asyncio.Condition())
        self.most: Reported = Counter()
        self.uids: set[str] = set()

    def _keep(self, name: str, obj: Obj) -> None:
        super()._keep(name, obj)
        self.uids.add(str(obj["metadata"]["uid"]))
        runtime = (obj.get("status") or {}).get("runtime") or {}
        key = f"{name}, launch {runtime.get('launch')}"
        self.most[key] = max(self.most[key], int(runtime.get("lostTuples") or 0))


class Losses:
    """Follows what a job reports. Use `following`."""

    def __init__(self, cluster: Cluster, job: JobObjects) -> None:
        """Nothing is reported yet."""
        self._cluster = cluster
        self._job = job
        self._statuses = _Statuses(job)
        self._metrics: dict[tuple[str, str], float] = {}

    @property
    def by_status(self) -> int:
        """Tuples that statuses of PEs count, of all launches."""
        return self._statuses.most.total()

    @property
    def by_launch(self) -> Reported:
        """The same by PE and launch; those that lost nothing are left out."""
        return +self._statuses.most

    @property
    def by_cause(self) -> Reported:
        """Tuples that metrics count, of all launches, by cause."""
        found: Reported = Counter()
        for (_, cause), tuples in self._metrics.items():
            found[cause] += int(tuples)
        return found

    async def by_events(self) -> int:
        """Tuples that Events count, of all launches."""
        listing = await self._cluster.api.call("GET", f"{CORE}/events")
        most: Reported = Counter()
        for each in listing["items"]:
            uid, found = each["involvedObject"].get("uid", ""), _EVENT.match(each["message"])
            if each["reason"] == "TuplesLost" and uid in self._statuses.uids and found is not None:
                key = f"{uid}, launch {found[2]}"
                most[key] = max(most[key], int(found[1]))
        return most.total()

    @asynccontextmanager
    async def following(self) -> AsyncIterator[Losses]:
        """Follow until the block ends."""
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            tasks = [
                asyncio.create_task(followed_patiently(self._statuses)),
                asyncio.create_task(self._look(session)),
            ]
            try:
                yield self
            finally:
                for each in tasks:
                    each.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _look(self, session: aiohttp.ClientSession) -> None:
        while True:
            pods = list(self._job.of("pods").values())
            await asyncio.gather(*(self._look_at(session, each) for each in pods))
            await asyncio.sleep(LOOK_S)

    async def _look_at(self, session: aiohttp.ClientSession, pod: Any) -> None:
        address = pod["status"].get("podIP")
        if not address:
            return
        try:
            async with session.get(f"http://{address}:{PORT}/metrics") as answer:
                text = await answer.text()
        except (aiohttp.ClientError, TimeoutError, OSError):
            return
        for cause, tuples in _SAMPLE.findall(text):
            key = (str(pod["metadata"]["uid"]), cause)
            self._metrics[key] = max(self._metrics.get(key, 0.0), float(tuples))
