"""Two instances of every service share the work; one of them dies, sleeps or leaves in between.

The instances of fusion-backend and pod-state-machine have some partitions each, so only one of the
two acts on a job: every fault is done to the one and then to the other. Of watch-ingest one leads.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from cli.controlling import ask
from contracts.topics import PARTITIONS
from services.roster import NAMES
from tests.e2e.following import CONVERGED_S_MAX, WIDER, WIDTH, Ordeal, ordeal
from tests.e2e.killing import pids_of
from tests.e2e.watching import TEST_S_MAX, Cluster, Obj, System
from tests.real.faults.placed import placed_ordeal, until_marks_are_whole
from tests.real.faults.processes import POLL_S, STAGES, metrics_of, tracebacks, until_ready

COVERS = (
    "services/chassis/running/leading.py",
    "services/chassis/kube/leases.py",
    "services/chassis/running/own_part.py",
    "services/fusion_backend/core/generation_rules.py",
    "services/launching/adapters/launches.py",
)

pytestmark = [pytest.mark.real, pytest.mark.e2e]
INSTANCES = 2
WIDTHS = (WIDER, WIDTH + 1)
READ_WHOLE = {"fusion-backend": 1, "pod-state-machine": 1}
"""Partitions that every instance reads, beside those that are shared."""


async def test_instances_share_the_partitions_and_one_of_them_acts_on_a_job(
    doubled: Cluster,
) -> None:
    """Both have some of the partitions, together all of them."""
    await until_ready(doubled.system, INSTANCES)
    for service in READ_WHOLE:
        shares = await _settled_shares(doubled.system, service)
        assert all(shares), f"{service}: {shares}"
    async with ordeal(doubled, "shared") as job:
        pes = len(job.job.of("pes"))
        await job.resize(WIDER)
        await job.converge("a resize, two instances", WIDER, pes + WIDER - WIDTH)
        await job.settle()
        job.check_launches()
        for service in READ_WHOLE:
            acting = [name for name in _names(service) if _effects(doubled.system, name, job)]
            assert len(acting) == 1, f"{job.job.job} was acted on by {acting}"
    assert not tracebacks(doubled.system)


@pytest.mark.timeout(2 * TEST_S_MAX)
async def test_a_killed_instance_loses_no_resize(doubled: Cluster) -> None:
    """Of each service: SIGKILL to the one during a resize, to the other during the next."""
    async with placed_ordeal(doubled, "one-killed") as job:
        outside = len(job.job.of("pes")) - WIDTH
        await until_ready(doubled.system, INSTANCES)
        for service in NAMES:
            for number, (victim, width) in enumerate(_each(doubled.system, service), 1):
                await job.resize(width)
                os.kill(victim, signal.SIGKILL)
                job.mark_fault_over()
                await job.converge(f"{service} {number} of 2 killed", width, outside + width)
                await until_ready(doubled.system, INSTANCES)
        await until_marks_are_whole(job)
    assert not tracebacks(doubled.system)


@pytest.mark.parametrize("service", [*STAGES, "watch-ingest"])
async def test_the_other_instance_goes_on_while_one_sleeps_which_then_does_no_harm(
    doubled: Cluster, service: str
) -> None:
    """SIGSTOP at a resize, which converges all the same; the sleeper wakes to work that is done.

    What sleeps through placements: `test_zombie_placing.py`.
    """
    async with ordeal(doubled, f"one-asleep-{service}") as job:
        outside = len(job.job.of("pes")) - WIDTH
        for number, (sleeper, width) in enumerate(_each(doubled.system, service), 1):
            with _asleep([sleeper]):
                await job.resize(width)
                await job.converge(f"{service} {number} of 2 asleep", width, outside + width)
            job.mark_fault_over()
            await job.settle()
            job.check_launches()
            await until_ready(doubled.system, INSTANCES)
    assert not tracebacks(doubled.system)


async def test_the_standby_of_watch_ingest_leads_when_the_leader_sleeps(doubled: Cluster) -> None:
    """The same process that stood by; the old leader wakes, and stands by in its place."""
    async with ordeal(doubled, "standby") as job:
        outside = len(job.job.of("pes")) - WIDTH
        pids = pids_of(doubled.system, "watch-ingest")
        (leader,) = [pid for pid in pids if await _resyncs_begun(pid)]
        (standby,) = {*pids} - {leader}
        with _asleep([leader]):
            await job.resize(WIDER)
            await job.converge("the leader of watch-ingest asleep", WIDER, outside + WIDER)
            assert await _resyncs_begun(standby)
        begun = await _resyncs_begun(leader)
        await job.resize(WIDTH)
        await job.converge("the leader of watch-ingest awake again", WIDTH, outside + WIDTH)
        await job.settle()
        assert await _resyncs_begun(leader) in (begun, 0), "the old leader speaks again"
    assert not tracebacks(doubled.system)


async def test_partitions_that_change_hands_in_the_middle_of_a_resize_lose_nothing(
    doubled: Cluster,
) -> None:
    """Instances leave in the middle of one resize and come back in the middle of the next."""
    state = doubled.system.state
    async with ordeal(doubled, "rebalanced") as job:
        outside = len(job.job.of("pes")) - WIDTH
        for number in ("", "-2"):
            names = [f"{service}{number}" for service in READ_WHOLE]
            for word, width in (("stop", WIDER), ("start", WIDTH)):
                await job.resize(width)
                await asyncio.gather(*(ask(state, word, name) for name in names))
                await job.converge(f"rebalance by {word} of {names}", width, outside + width)
    assert not tracebacks(doubled.system)


def _each(system: System, service: str) -> Iterator[tuple[int, int]]:
    """The instances that run now, each with a width that is new to the job."""
    pids = pids_of(system, service)
    assert len(pids) == INSTANCES
    return zip(pids, WIDTHS, strict=True)


@contextmanager
def _asleep(pids: Sequence[int]) -> Iterator[None]:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


async def _settled_shares(system: System, service: str) -> list[int]:
    """The shares once nothing is reported twice and nothing to nobody."""
    async with asyncio.timeout(CONVERGED_S_MAX):
        while True:
            shares = _shares(system, service)
            if sum(shares) == PARTITIONS:
                return shares
            await asyncio.sleep(POLL_S)


def _shares(system: System, service: str) -> list[int]:
    """How many of the shared partitions each instance of a service has, as their logs say."""
    shares = []
    for name in _names(service):
        lines = _lines(system, name, "assigned")
        shares.append(lines[-1]["partitions"] - READ_WHOLE[service] if lines else 0)
    return shares


def _effects(system: System, name: str, job: Ordeal) -> list[Obj]:
    """The effects on a job that an instance has carried out, or tried to."""
    events = ("effect", "effect_failed", "effect_crashed")
    return [line for line in _lines(system, name, *events) if line["job"] == job.job.job]


def _lines(system: System, name: str, *events: str) -> list[Obj]:
    """The lines of an instance's log that state one of these events."""
    text = (system.state / "logs" / f"{name}.log").read_text(errors="replace")
    marks = [f'"event":"{event}"' for event in events]
    # The last line may not be written to its end yet.
    lines = [line for line in text.splitlines() if line.endswith("}")]
    return [json.loads(line) for line in lines if any(mark in line for mark in marks)]


def _names(service: str) -> list[str]:
    """The instances of a service, as their logs are named."""
    return [service, f"{service}-2"]


async def _resyncs_begun(pid: int) -> float:
    return (await metrics_of(pid)).get("watch_ingest_resyncs_total", 0.0)
