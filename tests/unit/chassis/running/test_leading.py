"""A stage under a Lease: others read and stand by, and whoever leads looks before it decides."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from sandbox.http.in_process import Fault
from services.chassis.kube.leases import LEASE
from services.chassis.kube.resources import resource_of
from services.chassis.kube.writing import Writer
from services.chassis.process.errors import Superseded
from services.chassis.running.leading import Leadership, list_again
from services.chassis.running.reconciling import StageRunner
from services.chassis.running.wiring import Runtime
from services.chassis.table.table import Table
from tests.sandboxed import MERGE, Sandboxed
from tests.unit.chassis.running.saying import present
from tests.unit.chassis.running.staging import (
    Bench,
    SmallStage,
    idle,
    new_log,
    new_runtime,
    succeed,
)
from tests.virtual_time import virtually

SERVICE = resource_of("Service")
LEADERSHIP = Leadership("default", "lead", ("Service",))


class Scene:
    """A cluster and a log, for several instances of one stage."""

    def __init__(self) -> None:
        self.sandbox = Sandboxed()
        home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}}
        self.sandbox.cluster.store.create(self.sandbox.kind("Namespace"), None, home)

    @asynccontextmanager
    async def instances(self, *names: str) -> AsyncIterator[list[Bench]]:
        """Run them one after the other's start, until the end of the block."""
        log = await new_log()
        found, tasks = [], []
        for name in names:
            runtime = replace(new_runtime(log), kube=self.sandbox.client(), instance=name)
            runner = StageRunner(
                lambda wiring: SmallStage(wiring, idle, succeed), runtime, leadership=LEADERSHIP
            )
            assert isinstance(runner.stage, SmallStage)
            found.append(Bench(log, runtime, runner, runner.stage))
            tasks.append(asyncio.create_task(runner.run()))
            await asyncio.sleep(1)
        try:
            yield found
        finally:
            for each in found:
                each.runtime.stopping.set()
            await asyncio.gather(*tasks)

    def create(self, name: str) -> None:
        """A Service that no fact speaks of."""
        body = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": "ns"},
            "spec": {"ports": [{"port": 1}]},
        }
        self.sandbox.cluster.store.create(self.sandbox.kind("Service"), "ns", body)

    def give_lease_to(self, holder: str) -> None:
        """Somebody takes it without asking."""
        stolen = {"spec": {"holderIdentity": holder, "acquireTime": "2026-01-01T00:00:00.000000Z"}}
        kind = self.sandbox.kind(LEASE.kind)
        self.sandbox.cluster.store.patch(kind, "default", "lead", stolen, MERGE)


@virtually
async def test_one_instance_decides_and_the_other_one_reads_until_it_leads() -> None:
    scene = Scene()
    scene.create("a")
    async with scene.instances("one", "two") as (one, two):
        await one.sync()
        await one.settle(3)
        assert (one.stage.decided, two.stage.decided) == (["a"], [])
        assert two.is_live()
        one.runtime.stopping.set()
        await two.settle(3)
        assert two.stage.decided == ["a"]


@virtually
async def test_an_instance_that_loses_the_lease_decides_and_writes_nothing() -> None:
    scene = Scene()
    async with scene.instances("one") as (one,):
        await one.sync()
        await one.settle(3)
        scene.give_lease_to("somebody")
        await one.settle(8)
        scene.create("a")
        await one.say(present("a", version=1000))
        assert one.stage.decided == []
        with pytest.raises(Superseded, match="another instance"):
            await one.stage.wiring.writer.create(SERVICE, "ns", {"metadata": {"name": "a"}})
        await one.settle(20)
        assert one.stage.decided == ["a"], "a Lease that nobody renews is taken again"


@virtually
async def test_what_no_fact_has_confirmed_is_known_before_the_first_decision() -> None:
    scene = Scene()
    scene.create("unsaid")
    async with scene.instances("one") as (one,):
        await one.say(present("gone"))
        await one.sync()
        await one.settle(3)
        assert one.stage.decided == ["unsaid"]


@virtually
async def test_a_list_that_fails_is_tried_again_and_nothing_is_decided_before() -> None:
    scene = Scene()
    scene.create("a")
    failing = True
    scene.sandbox.faults = lambda method, path: (
        Fault(status=503) if failing and path.startswith("/api/v1/services") else None
    )
    async with scene.instances("one") as (one,):
        await one.sync()
        await one.settle(20)
        assert one.stage.decided == []
        failing = False
        await one.settle(5)
        assert one.stage.decided == ["a"]


@virtually
async def test_a_list_of_some_namespaces_says_nothing_of_the_others() -> None:
    scene = Scene()
    scene.create("there")
    runtime: Runtime = replace(
        new_runtime(await new_log()), kube=scene.sandbox.client(), namespaces=("ns",)
    )
    table = Table()
    writer = Writer(runtime.kube, table, now=runtime.clock.now)
    for namespace in ("ns", "elsewhere"):
        table.observe("Service", namespace, "x", uid=namespace, resource_version=1, data={})
    await list_again(runtime, table, writer, "Service")
    assert [entry.ref[1:] for entry in table.of_kind("Service")] == [
        ("elsewhere", "x"),
        ("ns", "there"),
    ]
