"""The whole system in one event loop under virtual time: sandbox, log in memory, every service.

A test is a coroutine that gets a `World`; `simulate` runs it on a loop whose time jumps to the next
timer, so minutes of back-off cost nothing. Services can be stopped, killed and started again;
every request that they make is recorded, held against their rights (`rights.py`), and may meet a
fault. After every write the invariants of `invariants.py` are checked.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from contracts.topics import CLUSTER, RESOURCES, TopicLayout
from deploy.roles import PERMISSIONS
from sandbox.controllers.settings import Settings
from sandbox.http.in_process import Fault
from sandbox.store.resources import LEASE, ResourceType
from services.chassis.kube.permissions import Permission
from services.chassis.kube.port import KubeClient, Response
from services.chassis.log.bus import Bus, NewRecord, Partition, Record
from services.chassis.log.memory_log import MemoryLog
from services.chassis.process.clock import LoopClock
from services.chassis.process.spans import Span
from services.chassis.running.hosting import Main
from services.chassis.running.wiring import Runtime
from services.roster import BY_NAME
from tests.sandboxed import MERGE, SandboxTransport, kind_of, new_cluster, newest_change
from tests.simulation.invariants import WATCHES, Watch, leftovers, podless
from tests.simulation.mains import MAINS, UNCONSTRAINED
from tests.simulation.node_invariants import left_marks, shared_on_held
from tests.simulation.rights import is_discovery, needed_for, used_of
from tests.virtual_time import run_virtually

Obj = dict[str, Any]
GROUP = "streams.ibm.com"
SETTLED_S = 600.0
WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a service; `body` of a PATCH alone."""

    service: str
    method: str
    path: str
    body: bytes = b""


class _Recording(SandboxTransport):
    """Records what passes in the world, and checks the invariants after every write."""

    def __init__(self, world: World, service: str) -> None:
        super().__init__(world.cluster, lambda method, path: world.fault(service, method, path))
        self._world = world
        self._service = service

    async def request(
        self, method: str, path: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        sent = (body or b"") if method == "PATCH" else b""
        self._world.requests.append(Request(self._service, method, path, sent))
        self._world.note_asked(self._service, method, path)
        answer = await super().request(method, path, body=body, headers=headers)
        if method in WRITES:
            self._world.check_invariants()
        return answer

    def stream(
        self, path: str, *, headers: Mapping[str, str], silence_s: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        self._world.note_asked(self._service, "GET", path)
        return super().stream(path, headers=headers, silence_s=silence_s)


@dataclass
class _Running:
    runtime: Runtime
    task: asyncio.Task[None]


@dataclass
class World:
    """One simulated cluster with its services."""

    folder: Path
    seed: int = 0
    nodes: int = 4
    settings: Settings | None = None
    is_permissive: bool = False
    clock: LoopClock = field(default_factory=LoopClock)
    requests: list[Request] = field(default_factory=list)
    rights_used: set[tuple[str, Permission]] = field(default_factory=set)
    faults: Callable[[Request], Fault | None] | None = None
    add_span: Callable[[str, Span], None] | None = None
    """Takes the spans of services that are started after it is set, with the name of theirs."""

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self._transports: list[_Recording] = []
        self._begin_cluster()
        self.log = MemoryLog(now=self.clock.now)
        self.bundles = self.folder / "bundles"
        self.bundles.mkdir(exist_ok=True)
        self.failures: list[BaseException] = []
        self._running: dict[str, _Running] = {}

    def _begin_cluster(self) -> None:
        self.cluster = new_cluster(
            now=self.clock.now,
            new_uid=self._new_uid,
            nodes=self.nodes,
            settings=self.settings,
            is_permissive=self.is_permissive,
        )
        self.store = self.cluster.store
        self._checked = 0
        self.watches: tuple[Watch, ...] = tuple(watch(self.store) for watch in WATCHES)

    @contextlib.asynccontextmanager
    async def running_cluster(self) -> AsyncIterator[None]:
        """Let scheduler, kubelet and the others of the cluster work inside of the block."""
        running = asyncio.create_task(self.cluster.run(), name="sandbox")
        try:
            yield
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    @contextlib.asynccontextmanager
    async def another_cluster(self) -> AsyncIterator[None]:
        """An empty cluster behind the same address; watches of the old one fall silent."""
        self._begin_cluster()
        for transport in self._transports:
            transport.turn_to(self.cluster)
        async with self.running_cluster():
            yield

    def _new_uid(self) -> str:
        digits = f"{self.random.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    # ------------------------------------------------------------------ services

    def start(self, *services: str, bus: Bus | None = None) -> None:
        """Start services; by default those that jobs without host constraints need."""
        for service in services or UNCONSTRAINED:
            self._run_instance(service, service, _Recording(self, service), bus or self.log)

    def _run_instance(
        self, service: str, instance: str, transport: _Recording, bus: Bus, *, named: str = ""
    ) -> None:
        """Start one instance of a service on its own transport and log."""
        self._transports.append(transport)
        runtime = Runtime(
            service=service,
            bus=bus,
            kube=KubeClient(transport, f"millrace-{service}"),
            clock=self.clock,
            random=random.Random(self.seed + len(self.requests)),
            new_id=self._new_uid,
            instance=named,
            shares=BY_NAME[service].shares,
            add_span=None if self.add_span is None else partial(self.add_span, service),
        )
        main: Main = MAINS[service](self.folder)
        task = asyncio.create_task(_as_coroutine(main(runtime)), name=instance)
        task.add_done_callback(self._note_failure)
        self._running[instance] = _Running(runtime, task)

    def _note_failure(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self.failures.append(task.exception())  # type: ignore[arg-type]

    async def stop(self, service: str) -> None:
        """Stop a service as SIGTERM does."""
        running = self._running.pop(service)
        running.runtime.stopping.set()
        await running.task

    async def kill(self, service: str) -> None:
        """End a service in the middle of whatever it does."""
        running = self._running.pop(service)
        running.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running.task

    async def stop_all(self) -> None:
        """Kill what runs."""
        for service in list(self._running):
            await self.kill(service)

    def note_asked(self, service: str, method: str, path: str) -> None:
        """Hold a request against what the service's account may do on a cluster."""
        if is_discovery(method, path):
            return
        used = used_of(PERMISSIONS[service], method, path)
        if used is None:
            needed = needed_for(method, path)
            self.failures.append(
                AssertionError(f"{service} has no right for {method} {path}: {needed}")
            )
            return
        self.rights_used.add((service, used))

    def check_invariants(self) -> None:
        """Note what is broken: the service under test would only retry an exception.

        What holds of objects holds until one changes; most writes of a world renew a Lease. A watch
        that a test adds may look at the clock as well.
        """
        version = newest_change(self.store, without=LEASE)
        is_as_before, self._checked = version == self._checked, version
        try:
            for watch in self.watches:
                if not (is_as_before and isinstance(watch, WATCHES)):
                    watch.check()
        except AssertionError as broken:
            self.failures.append(broken)

    def fault(self, service: str, method: str, path: str) -> Fault | None:
        """What goes wrong with a request, as the test's `faults` says."""
        return self.faults(Request(service, method, path)) if self.faults else None

    # ------------------------------------------------------------------ objects

    def kind(self, plural: str) -> ResourceType:
        """A resource type by its plural."""
        return kind_of(self.store, plural)

    def objects(self, plural: str, job: str | None = None) -> dict[str, Obj]:
        """Objects in namespace default by name, of one job if named."""
        selector = f"{GROUP}/job={job}" if job else ""
        listing = self.store.list(self.kind(plural), "default", labels=selector)
        return {item["metadata"]["name"]: dict(item) for item in listing.items}

    def submit(self, name: str, spec: Obj) -> None:
        """Create a Job as a person does."""
        body = {
            "apiVersion": f"{GROUP}/v1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": "default"},
            "spec": spec,
        }
        self.store.create(self.kind("streamsjobs"), "default", body)

    def resize(self, job: str, alias: str, width: int) -> None:
        """Set a region's width as a person does."""
        regions = self.objects("streamsprs", job)
        name = next(n for n, region in regions.items() if region["spec"]["alias"] == alias)
        patch = {"spec": {"width": width}}
        self.store.patch(self.kind("streamsprs"), "default", name, patch, MERGE)

    def phase(self, job: str) -> str:
        """The Job's phase."""
        found = self.objects("streamsjobs").get(job, {})
        return str((found.get("status") or {}).get("phase", ""))

    def live_pods(self, job: str) -> dict[str, Obj]:
        """Pods of a job that are not on their way out, by the name of their PE."""
        found: dict[str, Obj] = {}
        for pod in self.objects("pods", job).values():
            if not pod["metadata"].get("deletionTimestamp"):
                found[pod["metadata"]["ownerReferences"][0]["name"]] = pod
        return found

    def is_running(self, job: str) -> bool:
        """Submitted, widths in force, one running pod a PE, and nothing else of the job."""
        pes, pods = self.objects("streamspes", job), self.live_pods(job)
        regions = self.objects("streamsprs", job).values()
        return (
            self.phase(job) == "Submitted"
            and bool(pes)
            and pes.keys() == pods.keys()
            and len(self.objects("pods", job)) == len(pods)
            and all(pod["status"].get("phase") == "Running" for pod in pods.values())
            and all(r["spec"]["width"] == (r.get("status") or {}).get("width") for r in regions)
        )

    def writes(self, since: int = 0) -> list[Request]:
        """Writes of all services since a position in `requests`, Leases excepted."""
        return [
            request
            for request in self.requests[since:]
            if request.method in WRITES and "/leases" not in request.path
        ]

    # ------------------------------------------------------------------ time

    async def until(self, what: str, holds: Callable[[], bool], wait_s: float = SETTLED_S) -> None:
        """Let virtual time pass until `holds`; fails with what there was instead."""
        end = self.clock.now() + wait_s
        while not holds():
            if self.failures:
                raise self.failures[0]
            if self.clock.now() > end:
                jobs = {n: j.get("status") for n, j in self.objects("streamsjobs").items()}
                raise AssertionError(f"{what} did not come: {jobs}")
            await asyncio.sleep(0.01)

    async def facts(self) -> list[Record]:
        """Every fact that the log holds, by partition in order."""
        partitions = [
            Partition(topic.name(), number)
            for topic in (RESOURCES, CLUSTER)
            for number in range(TopicLayout().count(topic))
        ]
        start = await self.log.start_offsets(partitions)
        wanted = sum((await self.log.end_offsets(partitions)).values()) - sum(start.values())
        found: list[Record] = []
        async for batch in self.log.read(start):
            found += batch
            if len(found) >= wanted:
                break
        return found

    async def say_again(self, records: Sequence[Record]) -> None:
        """Append records of the past as they were."""
        await self.log.produce([NewRecord(r.partition, r.key, r.value, r.headers) for r in records])

    async def settle(self, quiet_s: float = 30.0, wait_s: float = SETTLED_S) -> None:
        """Let time pass until no service has written for a while; what must hold then is checked.

        Fails where it does not come to that within `wait_s`.
        """
        end = self.clock.now() + wait_s
        while not self.failures:
            before = len(self.writes())
            await asyncio.sleep(quiet_s)
            if len(self.writes()) == before:
                break
            last = self.writes()[-3:]
            assert self.clock.now() < end, f"still written after {wait_s:g} s: {last}"
        assert not (left := leftovers(self.store)), f"children of Jobs that are gone: {left}"
        assert not (wrong := podless(self.store)), f"not one live pod a PE: {wrong}"
        assert not (held := left_marks(self.store)), f"marks of nobody: {held}"
        assert not (both := shared_on_held(self.store)), f"shared and held at once: {both}"


async def _as_coroutine(work: Awaitable[None]) -> None:
    await work


Test = Callable[[World], Coroutine[Any, Any, None]]


def simulate(
    folder: Path,
    test: Test,
    *,
    seed: int = 0,
    nodes: int = 4,
    is_permissive: bool = False,
    settings: Settings | None = None,
) -> World:
    """Run a test in a world of its own, without threads or sockets, on a loop of virtual time."""

    def make() -> World:
        return World(folder, seed=seed, nodes=nodes, is_permissive=is_permissive, settings=settings)

    return run_virtually(_simulated(make, test), looks=0)


async def _simulated(make: Callable[[], World], test: Test) -> World:
    world = make()  # on the loop
    async with world.running_cluster():
        try:
            await test(world)
        finally:
            await world.stop_all()
    if world.failures:
        raise world.failures[0]
    return world
