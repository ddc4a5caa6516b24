"""A job whose PEs run in this process: a small control plane for tests of the runtime.

PEs are connected by a network in memory. It plans with the planner, launches, hands over, restarts
and kills as the services do, and at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Self

from msgspec.structs import replace

from contracts.bundle_format import BundleLimits, open_bundle, pack
from millrace import App
from millrace.protocol import HandOver, Peer, Sealed, Seen
from millrace.runtime.clock import Clock, SystemClock
from millrace.runtime.endings import Ending, ending_of
from millrace.runtime.launch import Launch, Surroundings
from millrace.runtime.pe import Pe
from millrace.runtime.reading import description_of
from millrace.runtime.state_stores import NoStore
from planner.application.adl import read_application
from planner.numbering.records import Fusion, PlanRecord
from planner.planning import PlanResult
from services.fusion_backend.core.former_hand_overs import needed
from tests.unit.millrace.cluster_gateways import GatewayOfPod
from tests.unit.millrace.keeping import MemoryStore
from tests.unit.millrace.pods import Launches, Pod
from tests.unit.millrace.wiring import Host, MemoryNetwork
from tests.unit.planner.adl_writing import plan_of

JOB_ID = 7


class Cluster(Launches):
    """One job. Use it as an async context manager, which ends what runs."""

    def __init__(
        self,
        app: App,
        *,
        fusion: Fusion | None = None,
        store: MemoryStore | None = None,
        clock: Clock | None = None,
        stop_s: float = 5.0,
        values: Mapping[str, str] | None = None,
    ) -> None:
        """A job of an application. Without a store nothing is kept."""
        self.app = app
        self.store = store
        self.network = MemoryNetwork()
        self.pods, self.ended = {}, []
        self.intended: dict[int, int] = {}
        self.hand_over: HandOver | None = None
        self.is_gateway_away = self.is_deleted = self.launches_again = False
        self.is_deaf_to_losses = False
        """Whether the gateway records nothing that PEs report as lost."""
        self.blocked: set[int] = set()
        """The PEs whose next launches find no node."""
        self.silent: set[int] = set()
        """Blocked ones whose status does not say so: a hand-over waits for them first."""
        self.stopping: set[int] = set()
        """Those that come to rest before they end."""
        self._application = read_application(open_bundle(pack(app.adl()), BundleLimits()))
        self._fusion = fusion or Fusion("legacy")
        self._values = dict(values or {})
        self._clock = clock or SystemClock()
        self._stop_s = stop_s
        self._record: PlanRecord | None = None
        self._texts: dict[str, bytes] = {}
        self._contents: dict[int, str] = {}
        self._given: dict[int, tuple[str, int]] = {}
        self._launches: dict[int, int] = {}
        self.has_ended = False
        """What the status of the Job says: nothing is left to do."""
        self.changed = asyncio.Condition()

    async def __aenter__(self) -> Self:
        """Launch all PEs of the first plan."""
        for pe in self._plan({}):
            self._take_plan(pe)
            self.launch(pe, 1)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Kill what runs."""
        for pe in list(self.pods):
            await self.kill(pe)

    # ------------------------------------------------------------------ the control plane

    def _plan(self, widths: dict[str, int]) -> dict[int, str]:
        """The content of each PE in a new generation."""
        result: PlanResult = plan_of(
            self._application, self._fusion, widths, previous=self._record, values=self._values
        )
        self._record = result.record
        for each in result.record.pes:
            if each.id in result.aadls:
                self._texts[each.content_id] = result.aadls[each.id].encode()
        self._contents = {each.id: each.content_id for each in result.record.pes}
        return self._contents

    def _take_plan(self, pe: int) -> None:
        """Give a PE the content of the newest plan; its next launch has it."""
        assert self._record is not None, "a plan is made"
        if pe in self._contents and self._given.get(pe, ("", 0))[0] != self._contents[pe]:
            self._given[pe] = self._contents[pe], self._generation

    def launch(self, pe: int, number: int) -> None:
        """Start a launch; in the middle of its hand-over it takes the place of the last one."""
        self._launches[pe] = number
        if pe in self.blocked:
            if pe in self.silent:
                self._list(pe, number)
            else:
                self.give_up(pe)
            return
        content, generation = self._given[pe]
        description = description_of(self._texts[content])
        gateway = GatewayOfPod(self, pe, number)
        host = f"10.0.{pe}.{number}"
        launch = Launch(pe, number, host, stop_s=self._stop_s, generation=generation)
        net = Host(self.network, host)
        around = Surroundings(gateway, self.store or NoStore(), self._clock, net)
        running = Pe(launch, description, self.app.graph, around)
        task = asyncio.create_task(self._run(running), name=f"PE {pe}, launch {number}")
        self.pods[pe] = gateway.pod = Pod(pe, number, content, running, task, net)
        self._list(pe, number)
        self.tell()

    async def _run(self, running: Pe) -> Ending:
        return await running.run()

    def unblock(self, *pes: int) -> None:
        """There is room for the launches of these PEs."""
        self.blocked -= set(pes)
        self.silent -= set(pes)
        for pe in set(pes) & self._given.keys() - self.pods.keys():
            self.launch(pe, self._launches[pe])

    def give_up(self, pe: int) -> None:
        """It is gone in the hand-over that goes on."""
        now = self.hand_over
        if now is not None and not now.complete and pe in now.pes and pe not in self._sealed(now):
            self.hand_over = replace(now, gone=now.gone | {pe})
            self.tell()

    def _list(self, pe: int, number: int) -> None:
        now = self.hand_over
        if now is None or now.complete or pe not in now.pes:
            return
        if pe not in self._sealed(now) and self._given[pe][1] < now.generation:
            self.hand_over = replace(now, pes={**now.pes, pe: number})

    async def stop(self, pe: int) -> Ending:
        """SIGTERM; returns how it ended."""
        pod = self.pods.pop(pe)
        self.stopping.add(pe)
        pod.running.stop()
        try:
            ending = await pod.task
        except BaseExceptionGroup as problem:  # an operator failed before it came to rest
            ending = ending_of(problem)
        self.stopping.discard(pe)
        self.ended.append(pod)
        self.tell()
        return ending

    async def kill(self, pe: int) -> None:
        """SIGKILL: nothing of it happens any more, and its connections are reset."""
        pod = self.pods.pop(pe)
        pod.host.kill()
        pod.task.cancel()
        await asyncio.gather(pod.task, return_exceptions=True)
        self.ended.append(pod)
        self.tell()

    async def restart(self, pe: int) -> None:
        """As `kubectl delete pod`: the next launch begins when the old one is over."""
        await self.stop(pe)
        self.launch(pe, self._launches[pe] + 1)

    async def evict(self, pe: int) -> None:
        """Its status has the next launch at once; no report of this one counts any more."""
        pod = self.pods[pe]
        self.intended[pe] = pod.launch + 1
        await self.stop(pe)
        if pe in self._given:
            self.launch(pe, pod.launch + 1)

    async def restart_at_once(self, pes: Iterable[int]) -> None:
        """As a drain: all of them end at the same time, and begin again."""
        pods = [self.pods[pe] for pe in pes]
        await asyncio.gather(*(self.stop(pod.pe) for pod in pods))
        for pod in pods:
            self.launch(pod.pe, pod.launch + 1)

    async def restart_by_intent(self, pe: int) -> None:
        """The next launch is intended before the pod is deleted, and the PE learns of it first."""
        pod = self.pods[pe]
        self.intended[pe] = pod.launch + 1
        self.tell()
        assert await pod.task is Ending.STOPPED
        self.ended.append(self.pods.pop(pe))
        self.launch(pe, pod.launch + 1)

    async def relaunch_killed(self, pe: int) -> None:
        """Kill it and launch it again."""
        pod = self.pods[pe]
        await self.kill(pe)
        if pe in self._given:
            self.launch(pe, pod.launch + 1)

    async def resize(self, *, deadline_s: float = 20.0, **widths: int) -> HandOver:
        """Another width of regions; returns when all is launched that has to be.

        A later call that comes before the hand-over is complete replaces it: then the later call
        does what is left, and the earlier one returns at once. Else all launches have to have begun
        first: what was handed over to them would be forgotten.
        """
        if self.hand_over is None or self.hand_over.complete:
            await self._until_begun()
        plan = self._plan(widths)
        changed = [pe for pe, (content, _) in self._given.items() if plan.get(pe) != content]
        gone = self.blocked.difference(self.silent, self.pods)
        affected = {} if self.has_ended else {pe: self._launches[pe] for pe in changed}
        news = HandOver(
            generation=self._generation,
            pes=affected,
            gone=frozenset(gone & affected.keys()),
            former=self._former(),
        )
        if affected or self._has_resting:
            self.hand_over = news
        self.tell()
        for pe in plan.keys() - self._given.keys():
            self._take_plan(pe)
            self.launch(pe, 1)
        await self._replace([pe for pe in changed if pe not in affected], plan)
        if self.hand_over is not None and self.hand_over.generation == news.generation:
            await self._until_handed_over(deadline_s, news.generation)
        if self.hand_over is not None and self.hand_over.generation == news.generation:
            await self._replace(affected, plan)
            return self.hand_over
        return news

    def _former(self) -> tuple[HandOver, ...]:
        """The hand-overs so far that PEs still need, by the rule of the services."""
        newest = self.hand_over
        if newest is None or self.store is None:
            return ()
        every = newest.all if newest.complete else newest.former
        kept = needed(every, self._has_absent)
        return tuple(
            HandOver(generation=e.generation, pes={**e.pes}, sealed={**e.sealed}, complete=True)
            for e in kept
        )

    def _has_absent(self, former: HandOver) -> bool:
        return any(self._is_owed(pe, former) for pe in self._given)

    def _is_owed(self, pe: int, last: HandOver) -> bool:
        """Whether a PE has not taken over what a hand-over has for it."""
        if pe not in last.pes and self._given[pe][1] != last.generation:
            return False
        pods = [each for each in self.every_pod if each.pe == pe]
        return not any(e.is_started and e.launch > last.pes.get(pe, 0) for e in pods)

    async def _until_begun(self) -> None:
        """Return when all PEs have begun that can."""
        await self.until(lambda: all(map(self._is_started, self._given.keys() - self.blocked)))

    def has(self, pe: int) -> bool:
        """Whether the job has a PE."""
        return pe in self._given

    def _is_started(self, pe: int) -> bool:
        return self.has_ended or (pe in self.pods and self.pods[pe].is_started)

    def see_end(self) -> None:
        """Write into the status of the Job that all of its PEs have ended, once they have."""
        pods = [self.pods.get(pe) for pe in self._given]
        is_resized = self.hand_over is not None and not self.hand_over.complete
        is_planned = all(self._contents.get(pe) == given for pe, (given, _) in self._given.items())
        if not is_resized and is_planned and all(pod and pod.has_ended for pod in pods):
            self.has_ended = True

    @property
    def _has_resting(self) -> bool:
        """Whether a launch is at rest, or comes to rest, for the newest hand-over."""
        pes = self.hand_over.pes if self.hand_over is not None else {}
        return any(pe in self._given and self._launches[pe] == pes[pe] for pe in pes)

    async def _replace(self, pes: Iterable[int], plan: Mapping[int, str]) -> None:
        """End launches, and launch those again that the plan has."""
        for pe in pes:
            self._take_plan(pe)
            if pe not in plan:
                self._given.pop(pe, None)
        pes = list(pes)
        there = [pe for pe in pes if pe in self.pods]
        await asyncio.gather(*map(self.stop, there))
        for pe in pes:
            if pe in plan and (pe in there or pe in self.blocked):
                self.launch(pe, self._launches[pe] + 1)

    async def _until_handed_over(self, deadline_s: float, generation: int) -> None:
        try:
            async with asyncio.timeout(deadline_s), self.changed:
                await self.changed.wait_for(lambda: self._is_over(generation))
        except TimeoutError:
            pass
        now = self.hand_over
        if now is None or now.generation != generation:
            return
        sealed = self._sealed(now)
        self.hand_over = replace(
            now, sealed=sealed, gone=frozenset(now.pes.keys() - sealed.keys()), complete=True
        )
        self.tell()

    def _sealed(self, news: HandOver) -> dict[int, int]:
        return {
            pod.pe: pod.launch
            for pod in self.every_pod
            if news.pes.get(pod.pe) == pod.launch
            and any(each == Sealed(news.generation) for each in pod.reports)
        }

    def _is_over(self, generation: int) -> bool:
        now = self.hand_over
        if now is None or now.generation != generation:
            return True
        awaited = now.pes.keys() - self._sealed(now).keys() - now.gone
        return not self.is_gateway_away and not awaited

    def gateway(self, *, is_away: bool) -> None:
        """While the gateway is away, PEs see nothing new, and nobody sees what they report."""
        self.is_gateway_away = is_away
        self.tell()

    # ------------------------------------------------------------------ what PEs see

    @property
    def planned(self) -> frozenset[int]:
        """The PEs of the newest plan, and those that still run."""
        return frozenset(self._contents) | frozenset(self.pods)

    def seen_by(self, pe: int, peers: Iterable[int]) -> Seen:
        """What the gateway shows to a PE."""
        return Seen(
            version="",
            job_id=JOB_ID,
            job_uid="uid",
            launch=max(self.pods[pe].launch if pe in self.pods else 0, self.intended.get(pe, 0)),
            peers={
                each: Peer(address=self.pods[each].address, launch=self.pods[each].launch)
                for each in peers
                if each in self.pods
            },
            hand_over=self.hand_over,
            in_force=self._in_force,
            has_ended=self.has_ended,
        )

    @property
    def _in_force(self) -> int:
        is_over = self.hand_over is None or self.hand_over.complete
        return self._generation if is_over else 0

    @property
    def _generation(self) -> int:
        """That of the newest plan; 0 at submission, as on a cluster."""
        assert self._record is not None, "a plan is made"
        return self._record.generation - 1

    def tell(self) -> None:
        """Something has changed."""

        async def notify() -> None:
            async with self.changed:
                self.changed.notify_all()

        self._telling = asyncio.ensure_future(notify())

    async def until(self, holds: object, within_s: float = 20.0) -> None:
        """Wait until a function without arguments holds."""
        assert callable(holds)
        async with asyncio.timeout(within_s):  # unstretched: virtual
            while not holds():
                for pod in self.pods.values():
                    if pod.task.done() and not self.launches_again:
                        pod.task.result()
                await asyncio.sleep(0.005)
