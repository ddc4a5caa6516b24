"""A lease has one holder at a time, and holders know when it is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count

import pytest

from sandbox.cluster import Cluster
from sandbox.http.in_process import Fault
from services.chassis.kube.leases import LEASE, RELEASE_S_MAX, LeaderLease, LeaseLost
from services.chassis.kube.port import KubeClient
from services.chassis.process.clock import LoopClock
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
async def test_an_instance_that_starts_again_under_its_name_takes_the_lease_at_once() -> None:
    """The process before it is gone; one that is not finds out."""
    scene = Scene()
    before, after = scene.candidate("a"), scene.candidate("a")
    first_incarnation = await before.acquire()
    await asyncio.sleep(1)
    began = scene.clock.monotonic()
    assert await after.acquire() > first_incarnation
    assert scene.clock.monotonic() == began
    with pytest.raises(LeaseLost, match="a holds"):
        await before.keep()


@virtually
async def test_a_renewal_that_waits_for_an_absent_server_is_given_up_in_time() -> None:
    scene = Scene()
    first = scene.candidate(
        "a", lambda method, _path: Fault(delay_s=3600) if hangs(method) else None
    )
    hanging = False

    def hangs(method: str) -> bool:
        return hanging and method == "PATCH"

    await first.acquire()
    began, hanging = scene.clock.monotonic(), True
    with pytest.raises(LeaseLost, match="not renewed in time"):
        await first.keep()
    assert scene.clock.monotonic() - began <= 10


@virtually
async def test_a_server_that_knows_no_roles_yet_is_requested_again() -> None:
    """kube-apiserver refuses everybody until it has read its roles."""
    scene, roles_known_at_s = Scene(), 3.0

    def starting(_method: str, _path: str) -> Fault | None:
        return Fault(status=403) if scene.clock.monotonic() < roles_known_at_s else None

    first = scene.candidate("a", starting)
    await first.acquire()
    keeping = asyncio.create_task(first.keep())
    roles_known_at_s = scene.clock.monotonic() + 8
    await asyncio.sleep(60)
    assert not keeping.done()
    keeping.cancel()


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
async def test_giving_it_back_delays_the_end_of_a_service_by_little() -> None:
    """Whoever comes next waits until the Lease has ended, as after a crash."""
    scene = Scene()
    ends = False

    def slow(_method: str, _path: str) -> Fault | None:
        return Fault(delay_s=60) if ends else None

    first = scene.candidate("a", slow)
    await first.acquire()
    ends = True
    began_s = scene.clock.monotonic()
    await first.release()
    assert scene.clock.monotonic() - began_s == RELEASE_S_MAX
    lease = await scene.kube.get(LEASE, NS, "lead")
    assert lease["spec"]["holderIdentity"] == "a"


@virtually
async def test_of_two_who_want_it_at_once_one_gets_it() -> None:
    scene = Scene()
    wanting = [asyncio.create_task(scene.candidate(name).acquire()) for name in "ab"]
    await asyncio.sleep(5)
    assert sum(task.done() for task in wanting) == 1
    for task in wanting:
        task.cancel()
