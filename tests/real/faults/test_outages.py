"""Brokers, the API server and services go away and come back; nothing runs twice."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from itertools import cycle

import aiohttp
import pytest

from loadtest.api import CORE, Refused
from services.roster import NAMES
from tests.e2e.following import WIDER, WIDTH, Ordeal, ordeal
from tests.e2e.killing import end, running_pids
from tests.e2e.test_why import until_named
from tests.e2e.watching import TEST_S_MAX, Cluster, Obj
from tests.real.faults.placed import placed_ordeal, until_marks_are_whole
from tests.real.faults.processes import until_ready
from tools.real.pair import Pair, start_part, stop_part

COVERS = (
    "services/chassis/log/kafka_log.py",
    "services/chassis/kube/retrying.py",
    "services/chassis/kube/http.py",
    "services/chassis/process/backoff.py",
    "services/chassis/running/leading.py",
    "services/chassis/kube/leases.py",
)

pytestmark = [pytest.mark.real, pytest.mark.e2e]
ALL_S_MAX = TEST_S_MAX * 2
"""A guard for tests of one service after the other."""
POLL_S = 0.1
PAUSED_S = 20.0
"""Longer than a session of a group (10 s) and than a Lease (15 s)."""


async def test_a_broker_that_stops_during_a_resize_and_starts_loses_nothing(
    cluster: Cluster, pair: Pair
) -> None:
    """The width is set while there is no log; it comes to pass when there is one again.

    Until then `why` names the log.
    """
    async with ordeal(cluster, "broker") as job:
        pes = len(job.job.of("pes"))
        await stop_part(pair, "kafka-1")
        await job.resize(WIDER)
        cause = "the log does not answer ("
        await until_named(cluster, job.job.job, cause, "Start the brokers", log=True)
        await start_part(pair, "kafka-1")
        job.mark_fault_over()
        await job.converge("broker stopped and started", WIDER, pes + WIDER - WIDTH)


async def test_an_api_server_that_stops_during_a_resize_and_starts_loses_nothing(
    cluster: Cluster, pair: Pair
) -> None:
    """Every service goes on where it was."""
    async with ordeal(cluster, "api-server") as job:
        pes = len(job.job.of("pes"))
        await job.resize(WIDER)
        await stop_part(pair, "kube-apiserver")
        await start_part(pair, "kube-apiserver")
        job.mark_fault_over()
        async with asyncio.TaskGroup() as both:
            both.create_task(_until_pods_come_and_go(job))
            both.create_task(
                job.converge("API server stopped and started", WIDER, pes + WIDER - WIDTH)
            )


async def _until_pods_come_and_go(job: Ordeal) -> None:
    """Wait until a pod of nobody's is scheduled, runs, and goes when it is deleted.

    Scheduler and kwok find an API server that was away after up to half a minute, by their own
    back-off: of the time until a job converges so much is theirs.
    """
    api, path = job.cluster.api, f"{CORE}/pods"
    container = {"name": "c", "image": "nobody/runs:this"}
    pod = {"metadata": {"name": "canary"}, "spec": {"containers": [container]}}
    await _in_the_end(lambda: api.call("POST", path, pod))
    is_running, is_there = False, True
    while not is_running:
        await asyncio.sleep(POLL_S)
        seen = await _in_the_end(lambda: api.call("GET", f"{path}/canary"))
        is_running = seen["status"].get("phase") == "Running"
    await _in_the_end(lambda: api.call("DELETE", f"{path}/canary"))
    while is_there:
        await asyncio.sleep(POLL_S)
        listing = await _in_the_end(lambda: api.call("GET", path))
        is_there = "canary" in {each["metadata"]["name"] for each in listing["items"]}
    job.say("scheduler and kwok: a pod came and went")


async def _in_the_end(ask: Callable[[], Awaitable[Obj]]) -> Obj:
    """The answer, once the API server gives one: what has just started refuses much."""
    while True:
        with suppress(aiohttp.ClientError, Refused):
            return await ask()
        await asyncio.sleep(POLL_S)


@pytest.mark.timeout(ALL_S_MAX)
async def test_a_paused_service_goes_on_when_others_took_it_for_dead(cluster: Cluster) -> None:
    """SIGSTOP for longer than its session and its Lease, then SIGCONT, with a resize between."""
    async with placed_ordeal(cluster, "paused") as job:
        outside = len(job.job.of("pes")) - WIDTH
        for service, width in _each_with_a_width():
            pids = running_pids(cluster.system, service)
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            await job.resize(width)
            await asyncio.sleep(PAUSED_S)
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
            job.mark_fault_over()
            await job.converge(f"{service} paused {PAUSED_S:g} s", width, outside + width)
        await until_marks_are_whole(job)


@pytest.mark.timeout(ALL_S_MAX)
async def test_a_service_killed_during_a_resize_starts_again_and_goes_on(cluster: Cluster) -> None:
    """SIGKILL as soon as the width is set, to one service after the other."""
    async with placed_ordeal(cluster, "killed") as job:
        outside = len(job.job.of("pes")) - WIDTH
        for service, width in _each_with_a_width():
            pids = running_pids(cluster.system, service)
            await job.resize(width)
            end(pids)
            job.mark_fault_over()
            await job.converge(f"{service} killed", width, outside + width)
            await until_ready(cluster.system)
        await until_marks_are_whole(job)


def _each_with_a_width() -> Iterator[tuple[str, int]]:
    """Every service, with a width that is new to the job."""
    return zip(NAMES, cycle((WIDER, WIDTH)), strict=False)
