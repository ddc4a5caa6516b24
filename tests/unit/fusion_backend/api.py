"""fusion-backend's stage against the sandbox's API in process, driven decision by decision."""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

from contracts import labels
from contracts.bundle_format import pack
from sandbox.store.resources import ResourceType
from services.chassis.kube.port import KubeClient
from services.chassis.kube.writing import Writer
from services.chassis.log.memory_log import MemoryLog
from services.chassis.process.clock import LoopClock
from services.chassis.running.stage import Decision
from services.chassis.running.wiring import Runtime, Wiring
from services.chassis.table.table import Table
from services.fusion_backend.adapters.intake import JobKey
from services.fusion_backend.adapters.stage import FusionBackend, stage_maker
from services.fusion_backend.core.effects import Effect
from services.fusion_backend.settings import FusionBackendSettings
from tests.places import ROOT
from tests.sandboxed import SandboxTransport, kind_of, new_cluster

Obj = dict[str, Any]
GROUP = "streams.ibm.com"
KEY = JobKey("default", "shop")
STEPS_MAX = 50


class Api:
    """The sandbox's API with the custom resources, and a stage that talks to it."""

    def __init__(self, folder: Path) -> None:
        clock = LoopClock()
        self.cluster = new_cluster(now=lambda: 1_800_000_000.0, nodes=2)
        self.store = self.cluster.store
        self.kube = KubeClient(SandboxTransport(self.cluster), "test")
        self._clock = clock
        self.settings = FusionBackendSettings(
            bundle_root=folder / "root", bundle_store=folder / "store"
        )
        self.settings.bundle_root.mkdir(exist_ok=True)
        (adl,) = (ROOT / "examples" / "wordcount").glob("*.adl")
        (self.settings.bundle_root / "shop.sab").write_bytes(pack(adl.read_bytes()))
        self.restart()

    def restart(self) -> None:
        """A new process: table, answers and caches are empty."""
        self.woken: list[Hashable] = []
        runtime = Runtime(
            service="fusion-backend",
            bus=MemoryLog(now=self._clock.now),
            kube=self.kube,
            clock=self._clock,
            random=random.Random(1),
            new_id=lambda: "id",
            stopping=asyncio.Event(),
        )
        self.table = Table()
        writer = Writer(self.kube, self.table, now=self._clock.now)
        make_stage = stage_maker(self.settings, planner="inline")
        stage = make_stage(Wiring(self.table, writer, runtime, self.woken.append))
        assert isinstance(stage, FusionBackend)
        self.stage = stage
        self.table.declare_indexes(stage.indexes)
        self.writer = writer

    def kind(self, plural: str) -> ResourceType:
        """A resource type by its plural."""
        return kind_of(self.store, plural)

    def submit(self, more: Obj | None = None) -> Obj:
        """Create the Job as a person does, and see it; `more` is added to its spec."""
        body = {
            "apiVersion": f"{GROUP}/v1",
            "kind": "Job",
            "metadata": {"name": KEY.name, "namespace": KEY.namespace},
            "spec": {"bundle": {"name": "shop.sab"}, "fusion": {"legacy": True}} | (more or {}),
        }
        job = dict(self.store.create(self.kind("streamsjobs"), KEY.namespace, body))
        self.writer.observe("Job", job)
        return job

    def retry(self, value: str) -> None:
        """Give the annotation that begins another attempt a value, and see the Job."""
        kind = self.kind("streamsjobs")
        job = copy.deepcopy(dict(self.store.get(kind, KEY.namespace, KEY.name)))
        job["metadata"].setdefault("annotations", {})[labels.RETRY] = value
        self.writer.observe("Job", dict(self.store.replace(kind, KEY.namespace, KEY.name, job)))

    def names(self, plural: str) -> set[str]:
        """The names of the objects of a kind."""
        listing = self.store.list(self.kind(plural), KEY.namespace)
        return {item["metadata"]["name"] for item in listing.items}

    def decide(self) -> Decision[Effect]:
        """What the stage would do now."""
        return self.stage.decide(self.stage.snapshot(self.table, KEY), self._clock.now())

    async def step(self) -> tuple[Effect, ...]:
        """One decision, carried out."""
        snapshot = self.stage.snapshot(self.table, KEY)
        effects = self.stage.decide(snapshot, self._clock.now()).effects
        for effect in effects:
            await self.stage.carry_out(KEY, snapshot, effect)
        await asyncio.sleep(0)  # the planner answers behind
        return effects

    async def until(self, holds: Callable[[], bool]) -> None:
        """Step until something holds."""
        for _ in range(STEPS_MAX):
            if holds():
                return
            await self.step()
        raise AssertionError(f"it did not come: {self.decide()}")

    async def with_children(self) -> None:
        """Submit, and go on until only pods are missing."""
        self.submit()
        await self.until(lambda: self.decide().rules["clean-up"] == "PODS_MISSING")
