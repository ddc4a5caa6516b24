"""A lease has one holder at a time, and holders know when it is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count

import pytest

from sandbox.cluster import Cluster
from sandbox.http.in_process import Fault
from services.chassis.clock import LoopClock
from services.chassis.kube import KubeClient
from services.chassis.leases import LEASE, LeaderLease, LeaseLost
from tests.sandboxed import SandboxTransport
from tests.virtual_time import virtually

NS = "default"


class Scene:
    """A cluster with a lease that several want; faults hit one of them by name."""

    def __init__(self) -> None:
        self.clock, uids = LoopClock(), count(1)
        self.cluster = Cluster(now=self.clock.now, new_uid=lambda: f"u-{next(uids)}", nodes=0)
        self.kube = KubeClient(SandboxTransport(self.cluster), "others")

    def candidate(
        self, holder: str, fault: Callable[[str, str], Fault | None] | None = None
    ) -> LeaderLease:
        kube = KubeClient(SandboxTransport(self.cluster, fault), holder)
        return LeaderLease(kube, namespace=NS, name="lead", holder=holder, clock=self.clock)


@virtually
async def test_a_free_lease_is_acquired_at_once_and_its_version_is_the_incarnation() -> None:
    scene = Scene()
    incarnation = await scene.candidate("a").acquire()
    lease = await scene.kube.get(LEASE, NS, "lead")
    assert lease["spec"]["holderIdentity"] == "a"
    assert incarnation == int(lease["metadata"]["resourceVersion"])


@virtually
async def test_a_held_lease_is_waited_for_until_its_holder_falls_silent() -> None:
    scene = Scene()
    first, second = scene.candidate("a"), scene.candidate("b")
    first_incarnation = await first.acquire()
    keeping = asyncio.create_task(first.keep())
    acquiring = asyncio.create_task(second.acquire())
    await asyncio.sleep(300)
    assert not acquiring.done()
    keeping.cancel()
    silent_since = scene.clock.monotonic()
    assert await acquiring > first_incarnation
    assert 9 <= scene.clock.monotonic() - silent_since <= 17


@virtually
async def test_a_lease_that_was_given_back_is_taken_without_waiting() -> None:
    scene = Scene()
    first, second = scene.candidate("a"), scene.candidate("b")
    await first.acquire()
    await first.release()
    began = scene.clock.monotonic()
    await second.acquire()
    assert scene.clock.monotonic() - began < 2


@virtually
async def test_a_holder_who_cannot_renew_gives_up_before_another_takes_over() -> None:
    scene = Scene()
    cut = False

    def away(_method: str, _path: str) -> Fault | None:
        return Fault(status=503) if cut else None

    first, second = scene.candidate("a", away), scene.candidate("b")
    await first.acquire()
    keeping = asyncio.create_task(first.keep())
    acquiring = asyncio.create_task(second.acquire())
    await asyncio.sleep(20)
    cut = True
    with pytest.raises(LeaseLost):
        await keeping
    assert not acquiring.done()
    await acquiring


@virtually
async def test_a_holder_who_slept_learns_that_somebody_else_leads() -> None:
    scene = Scene()
    first, second = scene.candidate("a"), scene.candidate("b")
    await first.acquire()
    await second.acquire()
    with pytest.raises(LeaseLost, match="b holds"):
        await first.keep()


@virtually
async def test_a_label_on_the_lease_does_not_end_the_leadership() -> None:
    scene = Scene()
    first = scene.candidate("a")
    incarnation = await first.acquire()
    label = {"metadata": {"labels": {"seen": "yes"}}}
    await scene.kube.patch(LEASE, NS, "lead", label, resource_version=incarnation)
    keeping = asyncio.create_task(first.keep())
    await asyncio.sleep(60)
    assert not keeping.done()
    keeping.cancel()


@virtually
async def test_a_deleted_lease_is_lost() -> None:
    scene = Scene()
    first = scene.candidate("a")
    await first.acquire()
    lease = await scene.kube.get(LEASE, NS, "lead")
    await scene.kube.delete(LEASE, NS, "lead", uid=lease["metadata"]["uid"])
    with pytest.raises(LeaseLost, match="deleted"):
        await first.keep()


@virtually
async def test_of_two_who_want_it_at_once_one_gets_it() -> None:
    scene = Scene()
    wanting = [asyncio.create_task(scene.candidate(name).acquire()) for name in "ab"]
    await asyncio.sleep(5)
    assert sum(task.done() for task in wanting) == 1
    for task in wanting:
        task.cancel()
