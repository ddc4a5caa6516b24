"""Brokers, the API server and services go away and come back; nothing runs twice."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from cli.real.pair import Pair, start_part, stop_part
from tests.e2e.following import WIDER, WIDTH, ordeal
from tests.e2e.killing import pids_of
from tests.e2e.watching import Cluster

pytestmark = [pytest.mark.real, pytest.mark.e2e]
SERVICES = ("fusion_backend", "pod_state_machine", "watch_ingest")
PAUSED_S = 20.0
"""Longer than a session of a group (10 s) and than a Lease (15 s)."""


async def test_a_broker_that_stops_during_a_resize_and_starts_loses_nothing(
    cluster: Cluster, pair: Pair
) -> None:
    """The width is set while there is no log; it comes to pass when there is one again."""
    async with ordeal(cluster, "broker") as job:
        pes = len(job.job.of("pes"))
        await stop_part(pair, "kafka-1")
        await job.resize(WIDER)
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
        await job.converge("API server stopped and started", WIDER, pes + WIDER - WIDTH)


@pytest.mark.parametrize("service", SERVICES)
async def test_a_paused_service_goes_on_when_others_took_it_for_dead(
    cluster: Cluster, service: str
) -> None:
    """SIGSTOP for longer than its session and its Lease, then SIGCONT, with a resize between."""
    async with ordeal(cluster, f"paused-{service.replace('_', '-')}") as job:
        pes = len(job.job.of("pes"))
        pids = pids_of(cluster.system, service)
        assert pids
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        await job.resize(WIDER)
        await asyncio.sleep(PAUSED_S)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        job.mark_fault_over()
        await job.converge(f"{service} paused {PAUSED_S:g} s", WIDER, pes + WIDER - WIDTH)


@pytest.mark.parametrize("service", SERVICES)
async def test_a_service_killed_during_a_resize_starts_again_and_goes_on(
    cluster: Cluster, service: str
) -> None:
    """SIGKILL as soon as the width is set."""
    async with ordeal(cluster, f"killed-{service.replace('_', '-')}") as job:
        pes = len(job.job.of("pes"))
        await job.resize(WIDER)
        pids = pids_of(cluster.system, service)
        assert pids
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        job.mark_fault_over()
        await job.converge(f"{service} killed", WIDER, pes + WIDER - WIDTH)
