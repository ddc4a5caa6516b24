"""A simulated world whose every effect passes a tap, and may meet a mishap there.

What a mishap does is here: to a request and a watch (`_TappedTransport`), to the log
(`_TappedLog`), and to a whole instance, which dies or sleeps while another one takes over. After
every callback of the loop that wrote something the invariants are checked, whoever wrote it.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson

from sandbox.controllers.settings import Settings
from services.chassis.kube.port import Response
from services.chassis.log.bus import Bus, NewRecord, Partition, Record
from services.chassis.process.errors import Transient
from tests.simulation.effects import Effect, Kind, Mishap, Tap
from tests.simulation.mains import UNCONSTRAINED
from tests.simulation.one_at_a_time import INSTANCE, OneAtATimeLoop
from tests.simulation.paths import plural_of, with_query
from tests.simulation.watching_all import AllChanges
from tests.simulation.world import WRITES, World, _Recording, _Running

T = TypeVar("T")

CALM = Settings(heartbeat_period_s=60.0, node_status_period_s=1200.0, node_grace_s=240.0)
"""Nodes say seldom that they are there: nearly all of the silence is theirs."""
RESTART_S = 0.5
SLEEP_S = 60.0
"""Longer than a Lease lasts, so that another instance leads before the sleeper wakes."""
LATE_S = 5.0
TIME_OUT_S = 10.0
LATENCY_S_MAX = 0.02
GONE = {
    "type": "ERROR",
    "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"},
}


@dataclass
class FaultedWorld(World):
    """A world with a tap; `mishaps` says which effects go wrong, and how."""

    tap: Tap = field(default_factory=Tap)
    nodes: int = 2
    settings: Settings = CALM

    def __post_init__(self) -> None:
        super().__post_init__()
        self.dead: set[str] = set()
        self.older: dict[tuple[str, str], int] = {}
        self.old_version = 0
        self.changes: AllChanges | None = None
        self._news: dict[str, asyncio.Event] = {}
        self._has_partitions: dict[str, bool] = {}
        self._numbers: dict[str, int] = {}
        self._outside = contextvars.copy_context()
        self._behind: set[asyncio.Task[None]] = set()
        self._all_instances: list[_Running] = []
        self._checked_version = 0
        self._opened_s = 0.0

    def open_tap(self) -> None:
        """From here on effects are numbered, changes counted and mishaps met."""
        self.old_version = self.store.version
        self._opened_s = self.clock.now()
        self.changes = AllChanges(self.store)
        self.tap.is_open = True

    def after_each(self) -> None:
        """After every callback: what was written must not break an invariant."""
        if self.store.version == self._checked_version:
            return
        self._checked_version = self.store.version
        if self.changes is None or self.changes.take():
            self.check_invariants()

    # ------------------------------------------------------------------ instances

    def start(self, *services: str, bus: Bus | None = None) -> None:
        """Start services (as in a plain world), each as the instance that has all partitions."""
        for service in services or UNCONSTRAINED:
            self.start_instance(service, named=service)

    def start_instance(self, service: str, *, named: str) -> str:
        """Start another instance of a service; `named` is what it is called on its Lease."""
        number = self._numbers[service] = self._numbers.get(service, 0) + 1
        instance = f"{service}#{number}"
        self._has_partitions[instance] = True
        self._news[instance] = asyncio.Event()
        context = self._outside.copy()
        context.run(INSTANCE.set, instance)
        transport = _TappedTransport(self, service, instance)
        log = _TappedLog(self, instance)
        context.run(self._run_instance, service, instance, transport, log, named=named)
        self._all_instances.append(self._running[instance])
        return instance

    def crash(self, instance: str) -> None:
        """Nothing of the instance has an effect from now on; it is started again."""
        self.dead.add(instance)
        task = self._running.pop(instance).task
        task.cancel()
        self._do_behind(self._start_again(instance.partition("#")[0], task))

    async def _start_again(self, service: str, task: asyncio.Task[None]) -> None:
        await asyncio.wait([task])
        await asyncio.sleep(RESTART_S)
        self.start_instance(service, named=service)

    def put_to_sleep(self, instance: str) -> None:
        """The instance stops in the middle; another one gets its partitions and its Lease."""
        service = instance.partition("#")[0]
        self.loop.pause(instance)
        self._has_partitions[instance] = False
        self._news[instance].set()
        self.start_instance(service, named=f"{service}-other")
        self._do_behind(self._wake(instance))

    async def _wake(self, instance: str) -> None:
        await asyncio.sleep(SLEEP_S)
        self.loop.resume(instance)
        await asyncio.sleep(1.0)

    async def assigned(self, instance: str) -> AsyncIterator[bool]:
        """Whether the instance has the partitions, each time that changes."""
        before: bool | None = None
        while True:
            self._news[instance].clear()
            if (now := self._has_partitions[instance]) != before:
                before = now
                yield now
            await self._news[instance].wait()

    def outside(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Work of the world for an instance: it goes on while the instance sleeps."""
        return asyncio.get_running_loop().create_task(work, context=self._outside.copy())

    def behind(self, work: Coroutine[Any, Any, None]) -> None:
        """Something that goes on in the world until it ends, beside all services."""
        task = self.outside(work)
        self._behind.add(task)
        task.add_done_callback(self._note_failure)

    def _do_behind(self, work: Any) -> None:
        """A task of the world, whoever's task asks for it; a mishap is pending until it ends."""

        async def counted() -> None:
            await work
            self.tap.pending -= 1

        self.tap.pending += 1
        task = self.outside(counted())
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)
        task.add_done_callback(self._note_failure)

    def _note_failure(self, task: asyncio.Task[None]) -> None:
        if task.get_name() not in self.dead:
            super()._note_failure(task)

    def told_of(self, text: bytes, within_s: float) -> set[bytes]:
        """Keys of the records that say this; not of a sleeper that leads no more when it wakes."""
        held = (record for kept in self.log._kept.values() for record in kept.records)
        end = self._opened_s + within_s
        return {each.key for each in held if text in each.value and each.timestamp_s < end}

    def defects(self) -> list[str]:
        """Exceptions that services met and survived: each is a defect."""
        return [
            f"{running.runtime.service} crashed inside: {line}"
            for running in self._all_instances
            for line in running.runtime.metrics.text().splitlines()
            if line.startswith("millrace_crashes_total")
        ]

    # ------------------------------------------------------------------ what instances ask

    @property
    def loop(self) -> OneAtATimeLoop:
        """The loop, which must be one that can pause an instance."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, OneAtATimeLoop)
        return loop

    def reach(self, kind: Kind, whose: str, text: str) -> Mishap | None:
        """Note an effect; what goes wrong with it."""
        return self.tap.reach(Effect(kind, whose, text, self.clock.monotonic()))

    def latency_s(self) -> float:
        """How long a request takes on its way; a seed of 0 knows no latencies."""
        return self.random.uniform(0.0, LATENCY_S_MAX) if self.seed else 0.0

    async def end(self, instance: str) -> None:
        """The instance dies; whoever waits for this waits until it is cancelled."""
        self.crash(instance)
        await asyncio.Event().wait()

    def require_alive(self, instance: str) -> None:
        """What a dead instance still tries in its clean-up has no effect."""
        if instance in self.dead:
            raise Transient(f"{instance} is dead")


class _TappedTransport(_Recording):
    """Requests and watches of one instance."""

    def __init__(self, world: FaultedWorld, service: str, instance: str) -> None:
        super().__init__(world, service)
        self._faulted = world
        self._instance = instance

    async def request(
        self, method: str, path: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        """Once sent, a request goes its way also while the instance that sent it sleeps."""
        self._faulted.require_alive(self._instance)
        return await self._faulted.outside(self._delivered(method, path, body, headers))

    async def _delivered(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        world, instance = self._faulted, self._instance
        await asyncio.sleep(world.latency_s())
        if method not in WRITES:
            path = self._of_its_time(path)
            return await super().request(method, path, body=body, headers=headers)
        mishap = world.reach(Kind.WRITE, instance, f"{method} {path}")
        if mishap is Mishap.CRASH_BEFORE:
            await world.end(instance)
        if mishap is Mishap.LOST_UNAPPLIED:
            await asyncio.sleep(TIME_OUT_S)
            raise Transient(f"{method} {path}: timed out")
        if mishap is Mishap.ZOMBIE:
            world.put_to_sleep(instance)
        answer = await super().request(method, path, body=body, headers=headers)
        world.require_alive(instance)
        if mishap is Mishap.CRASH_AFTER:
            await world.end(instance)
        if mishap is Mishap.LOST_APPLIED:
            raise Transient(f"{method} {path}: connection lost")
        return answer

    def stream(
        self, path: str, *, headers: Mapping[str, str], silence_s: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._tapped(path, headers, silence_s)

    @asynccontextmanager
    async def _tapped(
        self, path: str, headers: Mapping[str, str], silence_s: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        self._faulted.require_alive(self._instance)
        since = self._faulted.older.pop((self._instance, plural_of(path)), None)
        if since is not None:
            path = with_query(path, "resourceVersion", str(since))
        async with super().stream(path, headers=headers, silence_s=silence_s) as lines:
            yield self._lines(plural_of(path), lines)

    async def _lines(self, plural: str, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        world, instance = self._faulted, self._instance
        async for line in lines:
            event = orjson.loads(line)
            if event["type"] in ("BOOKMARK", "ERROR"):
                yield line
                continue
            named = f"{event['type']} {plural}/{event['object']['metadata']['name']}"
            mishap = world.reach(Kind.EVENT, instance, named)
            if mishap is Mishap.CRASH_BEFORE:
                await world.end(instance)
            if mishap is Mishap.LATE_WATCH:
                await asyncio.sleep(LATE_S)
            if mishap is Mishap.ZOMBIE:
                world.put_to_sleep(instance)
                await asyncio.sleep(0)
            if mishap is Mishap.OLD_WATCH:
                world.older[(instance, plural)] = world.old_version
                raise Transient(f"watch of {plural}: cut")
            if mishap in (Mishap.EXPIRED, Mishap.OLD_LIST):
                if mishap is Mishap.OLD_LIST:
                    world.older[(instance, f"list of {plural}")] = world.old_version
                yield orjson.dumps(GONE)
                continue
            yield line
            if mishap is Mishap.DUPLICATE:
                yield line
            if mishap is Mishap.CRASH_AFTER:
                await world.end(instance)

    def _of_its_time(self, path: str) -> str:
        """A list that is to be of an older version is requested by that version."""
        is_list = "limit=" in path
        asked = (self._instance, f"list of {plural_of(path)}")
        if not is_list or asked not in self._faulted.older:
            return path
        path = with_query(path, "resourceVersion", str(self._faulted.older.pop(asked)))
        return with_query(path, "resourceVersionMatch", "Exact")


class _TappedLog:
    """The log as one instance meets it; partitions are given and taken by the world."""

    def __init__(self, world: FaultedWorld, instance: str) -> None:
        self._world = world
        self._instance = instance
        self._inner = world.log

    @property
    def is_answering(self) -> bool:
        return self._inner.is_answering

    async def ensure_topics(self, partitions_of: Mapping[str, int]) -> None:
        await self._inner.ensure_topics(partitions_of)

    async def produce(self, records: Sequence[NewRecord]) -> None:
        keys = ", ".join(sorted({record.key.decode() for record in records})[:3])
        topic = records[0].partition.topic
        mishap = await self._begin(Kind.APPEND, f"{len(records)} to {topic}: {keys}")
        await self._inner.produce(records)
        if mishap is Mishap.DUPLICATE:
            await self._inner.produce(records)
        await self._finish(mishap)

    async def commit(self, group: str, offsets: Mapping[Partition, int]) -> None:
        mishap = await self._begin(Kind.COMMIT, f"{group}: {len(offsets)} offsets")
        await self._inner.commit(group, offsets)
        await self._finish(mishap)

    async def _begin(self, kind: Kind, text: str) -> Mishap | None:
        world = self._world
        world.require_alive(self._instance)
        mishap = world.reach(kind, self._instance, text)
        if mishap is Mishap.CRASH_BEFORE:
            await world.end(self._instance)
        if mishap is Mishap.LOST_UNAPPLIED:
            await asyncio.sleep(TIME_OUT_S)
            raise Transient(f"{text}: timed out")
        if mishap is Mishap.ZOMBIE:
            world.put_to_sleep(self._instance)
            await asyncio.sleep(0)
        return mishap

    async def _finish(self, mishap: Mishap | None) -> None:
        if mishap is Mishap.CRASH_AFTER:
            await self._world.end(self._instance)
        if mishap is Mishap.LOST_APPLIED:
            raise Transient("the answer of the log was lost")

    async def read(
        self, start: Mapping[Partition, int], *, batch_max: int = 500
    ) -> AsyncIterator[Sequence[Record]]:
        world, instance = self._world, self._instance
        again: Sequence[Record] = ()
        async for batch in self._inner.read(start, batch_max=batch_max):
            keys = ", ".join(dict.fromkeys(record.key.decode() for record in batch[:3]))
            mishap = world.reach(Kind.READ, instance, f"{len(batch)}: {keys}")
            if mishap is Mishap.CRASH_BEFORE:
                await world.end(instance)
            if mishap is Mishap.ZOMBIE:
                world.put_to_sleep(instance)
                await asyncio.sleep(0)
            yield batch
            if mishap is Mishap.DUPLICATE:
                yield batch
            if again:
                yield again
                again = ()
            if mishap is Mishap.REDELIVERY:
                again = batch
            if mishap is Mishap.CRASH_AFTER:
                await world.end(instance)

    async def assignment(
        self, group: str, topics: Sequence[str]
    ) -> AsyncIterator[frozenset[Partition]]:
        (everything,) = [each async for each in self._inner.assignment(group, topics)]
        async for has_them in self._world.assigned(self._instance):
            yield everything if has_them else frozenset()

    async def end_offsets(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        return await self._inner.end_offsets(partitions)

    async def start_offsets(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        return await self._inner.start_offsets(partitions)

    async def committed(
        self, group: str, partitions: Sequence[Partition]
    ) -> dict[Partition, int | None]:
        return await self._inner.committed(group, partitions)

    async def close(self) -> None:
        """The log itself stays open: others read it."""
