"""One launch of a PE: from its state to its end.

1. It waits until it may load its state: former owners may still hand over.
2. It connects its operators and its neighbours, and runs.
3. It follows pe-gateway: addresses of its peers, hand-overs, trace levels.
4. When it is stopped, it comes to rest, saves its state, and ends (`quiescing.py`).
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import cache

from millrace.errors import OperatorFailed
from millrace.graph import Graph
from millrace.protocol import Ended, HandOver, Sealed, Seen
from millrace.runtime import saving
from millrace.runtime.barriers import STOP, Barrier
from millrace.runtime.beginning import Begun, begin
from millrace.runtime.checkpointing import Checkpoints
from millrace.runtime.endings import Ending, LaunchOver, StoreFailed
from millrace.runtime.failing import TriesAgain
from millrace.runtime.gathering import needs_of
from millrace.runtime.good_order import GoodOrder
from millrace.runtime.launch import RECORDED_S, Launch, Surroundings
from millrace.runtime.loading import Loaded, Loading
from millrace.runtime.noticing import Looking, Losses, in_hand_of, taken_in, tell_awaited
from millrace.runtime.own_states import OwnStates
from millrace.runtime.quiescing import Quiescing, Reasons, until_needless
from millrace.runtime.racing import first_of, unless
from millrace.runtime.reading import Description
from millrace.runtime.reading_again import started
from millrace.runtime.states import SavedPe
from millrace.runtime.stopping import BYE_S, Stopping
from millrace.runtime.tidying import tidy
from millrace.runtime.tracing import level_named, set_levels

LOG = logging.getLogger("millrace.runtime.pe")


class Pe:
    """A launch that runs. `stop` makes it end in good order."""

    def __init__(
        self, launch: Launch, description: Description, graph: Graph, around: Surroundings
    ) -> None:
        """A launch that has not begun."""
        self.launch, self.description = launch, description
        self.losses = Losses(around.gateway.report)
        self._failure: OperatorFailed | None = None
        self._graph, self._around = graph, around
        self.refused, self._news = around.gateway.refused, asyncio.Event()
        self._seen: Seen | None = None
        self.states = OwnStates(launch, around)
        self._has_store = self.states.are_kept
        self._stopping = Stopping(launch.stop_s, saves=self._has_store)
        self._order, self._resting = GoodOrder(self._stopping, around.store), asyncio.Lock()
        self._failing = self._order.failing if self._has_store else TriesAgain()
        self._checkpoints = Checkpoints(description.checkpoint_s if self._has_store else None)
        self._reasons = Reasons()
        self._handing: asyncio.Task[None] | None = None
        self._begun: Begun | None = None
        self._tasks = asyncio.TaskGroup()
        self.hand_over_s: float | None = None
        self._taken_at_checkpoint = 0  # tuples, by the newest

    @property
    def has_begun(self) -> bool:
        """Whether there is something `begun`."""
        return self._begun is not None

    @property
    def begun(self) -> Begun:
        """What the launch has, once it has begun."""
        assert self._begun is not None, "it has begun"
        return self._begun

    def stop(self) -> None:
        """Come to rest, save the state, and end `run`."""
        self._stopping.request()

    def end(self, over: LaunchOver) -> None:
        """The same, since pe-gateway says that this launch is over."""
        LOG.info("%s: it stops", over)
        if over.is_late and self.has_begun and not self._stopping.is_saved:
            self._be_late(self._newest_hand_over())
        if over.is_job_deleted:
            self._stopping.job_deleted.set()
        self.stop()

    async def run(self) -> Ending:
        """Run until `stop`. Raises MillraceError, as it comes or in an ExceptionGroup."""
        async with self._tasks as tasks:
            helpers = [tasks.create_task(self._follow())]
            try:
                loaded = await unless(self._stopping.requested.wait(), self._load())
                if loaded is None or self._stopping.job_ended.is_set():
                    return self._stopping.ending
                self._begun = self._begin(loaded)
                if await unless(self._stopping.until_deadline(), self._keep_begin(loaded)) is None:
                    return Ending.STOPPED_LATE  # it took nothing in
                return await self._run(helpers, loaded)
            finally:
                for each in helpers:
                    each.cancel()

    async def _run(self, helpers: list[asyncio.Task[None]], loaded: Loaded) -> Ending:
        await self.begun.parts.receivers.start(self.launch.host)
        self._on_hand_over(self._newest_hand_over())  # before a source gives anything
        runs = [self.begun.made.engine.run(), *(each.run() for each in self.begun.parts.senders)]
        checkpoints = self._checkpoints.keep(self._checkpoint)
        troubles = self._failing, self._checkpoints
        looking = Looking(self._around.gateway.report, troubles, self.begun.parts)
        looks = looking.run(self.losses, has_state=self.begun.has_state)
        ending = self._order.run(self._end_if_kept, self.begun.made.engine)
        runs += [self.begun.parts.inlets.run(loaded.ended), looks, checkpoints, ending]
        runs += [] if self.description.keeps_running else [self._report_end(looking)]
        runs += [self._forget_recorded()] if self.begun.unrecorded else []
        if loaded.is_handed:
            runs.append(tidy(self.launch.pe, self._around, self._newest_hand_over))
        helpers += [self._tasks.create_task(each) for each in runs]
        self._around.gateway.report(started(self.launch, self.begun.made.placed, loaded))
        helpers.append(self._tasks.create_task(self._follow_hand_overs()))
        await self._stopping.requested.wait()
        return await self._stop(looking)

    # ------------------------------------------------------------------ beginning

    async def _follow(self) -> None:
        """See what is new. A newer launch is intended before this one is deleted: come to rest."""
        try:
            async for seen in self._around.gateway.watch(self.description.peers):
                self._seen = seen
                if seen.has_ended:
                    self._stopping.job_ended.set()
                    self.stop()
                self._news.set()
        except LaunchOver as over:
            self.end(over)

    async def _next_news(self) -> Seen:
        """What is seen next; at once if there is something new."""
        await self._news.wait()
        self._news.clear()
        assert self._seen is not None, "news are seen"
        return self._seen

    async def _load(self) -> Loaded:
        """The state to begin with, once it is known."""
        launch, needs = self.launch, needs_of(self.description, self._graph)
        loading = Loading(self._around.store, launch.pe, launch.number, launch.generation, needs)
        while not isinstance(found := await loading.loaded(await self._next_news()), Loaded):
            if found is not None:  # a seal of an earlier launch, whose report was lost
                seal = self.states.name("handover", found.name.number)
                await saving.copy(self._around.store, found.name, seal)
                self._around.gateway.report(Sealed(seal.number))
        self._news.set()  # the addresses of its peers are still to be taken
        return found

    async def _keep_begin(self, loaded: Loaded) -> bool:
        """Save what was loaded as the own state; then later launches need no other PE."""
        if loaded.own is not None or loaded.is_handed:
            who, placed = self.states.identity(self.begun.job), self.begun.made.placed
            receivers, lost = self.begun.parts.receivers, self.begun.unrecorded
            begun = saving.saved_at_begin(who, placed, loaded, receivers, lost)
            await self.states.write(self.states.name("checkpoint"), begun)
            for why, tuples in lost.items():  # not before: a full store would repeat it
                self.losses.add(tuples, why)
            if lost and await self._around.gateway.recorded(RECORDED_S):
                with suppress(StoreFailed):  # it is tried again
                    name = self.states.name("checkpoint", self._checkpoints.next())
                    await self.states.write(name, saving.without_losses(begun))
                    lost.clear()
            await self._around.store.remove_older(self.launch.pe, self._newest_hand_over())
        return True

    def _begin(self, loaded: Loaded) -> Begun:
        assert self._seen is not None, "the state was loaded by what is seen"
        given = self.launch, self.description, self._graph, self._around, self._failing, loaded
        return begin(*given, job=self._seen.job_id, has_store=self._has_store)

    def _newest_hand_over(self) -> HandOver | None:
        assert self._seen is not None, "the state was loaded by what is seen"
        return self._seen.hand_over

    # ------------------------------------------------------------------ running

    async def _checkpoint(self, number: int) -> bool:
        """Save the state, unless in a hand-over. Raises StoreFailed; the PE has gone on by then."""
        async with self._resting:
            if self._reasons:
                return False  # going on after a checkpoint would take in what the seal lacks
            quiescing = Quiescing(self.begun.parts, Barrier("checkpoint", number))
            await quiescing.rest()
            try:
                state, is_whole = self._saved_at(quiescing), not self.begun.made.engine.held_back
            finally:
                quiescing.go_on()
            if not is_whole:
                return False  # the trouble of that operator is reported
            await self.states.write(self.states.name("checkpoint", number), state)
            self._taken_at_checkpoint = sum(tuples for _, tuples in state.taken)
        await self._around.store.remove_older(self.launch.pe, self._newest_hand_over())
        return True

    async def _forget_recorded(self) -> None:
        await self._around.gateway.recorded()
        self.begun.unrecorded.clear()
        await self._checkpoints.keep_last(self._checkpoint)  # or each next launch counts them

    async def _report_end(self, looking: Looking) -> None:
        """Save that nothing is left to do, and report it: the job ends once all of its PEs do."""
        await self.begun.made.engine.ended()
        if self._has_store:
            await self._checkpoints.keep_last(self._checkpoint)
        LOG.info("all streams of this PE have ended")
        looking.last()
        self._around.gateway.report(Ended())

    async def _follow_hand_overs(self) -> None:
        here = self.launch.pe, self.launch.number
        while True:
            seen = await self._next_news()
            # Once a hand-over is over, they might end the next launches of its peers.
            senders = () if seen.is_over_for(*here) else self.begun.parts.senders
            for each in senders:
                peer = seen.peers.get(each.route.receiver)
                each.aim(peer.address if peer else None, peer.launch if peer else 0)
            self._on_hand_over(seen.hand_over)
            set_levels(level_named(seen.trace.app), level_named(seen.trace.runtime))

    def _on_hand_over(self, news: HandOver | None) -> None:
        """Begin, go on with or take back a hand-over, as the newest one says."""
        now = self._reasons.newest
        known = now.barrier.generation if now is not None else 0
        if news is None or news.generation < known or self._stopping.is_saved:
            return
        if news.is_over_without(self.launch.pe, self.launch.number):
            self._be_late(news)  # also while it stops: others begin without what it would save
            return
        if now is not None and now.barrier == STOP:
            return  # the next launch hands over
        if now is not None and news.generation == known:
            now.without((news.gone | news.sealed.keys()) - {self.launch.pe})
            return
        if now is not None:
            self._take_back(now)
        if news.pes.get(self.launch.pe) == self.launch.number and not news.complete:
            self._begin_hand_over(news)

    def _begin_hand_over(self, news: HandOver) -> None:
        barrier = Barrier("hand-over", news.generation)
        quiescing = self._reasons.add(Quiescing(self.begun.parts, barrier, news.pes))
        quiescing.without((news.gone | news.sealed.keys()) - {self.launch.pe})
        self._handing = self._tasks.create_task(self._hand_over(quiescing))
        self._order.hurry()

    def _be_late(self, over: HandOver | None = None) -> None:
        """Nobody takes what this PE has in hand; a hand-over may be over without it."""
        begun = self.begun
        begun.parts.receivers.seal()  # peers of the next plan may begin before this launch ends
        if self._handing is not None:
            self._handing.cancel()  # its seal would be another one than that of a late PE
        # The next launch, or what takes its place, begins with its newest checkpoint.
        goes_back = self._has_store and begun.has_state
        lacks = taken_in(begun.parts) - self._taken_at_checkpoint if goes_back else 0
        self.losses.be_late(in_hand_of(begun.parts), lacks, again=self._stopping.late.is_set())
        self._stopping.late.set()
        if over is not None and over.pes.get(self.launch.pe) == self.launch.number:
            seal = self.states.name("handover", over.generation)
            self._tasks.create_task(saving.leave_late_seal(self._around.store, seal, begun.job))

    def _take_back(self, quiescing: Quiescing) -> None:
        LOG.info("the hand-over for generation %d does not happen", quiescing.barrier.generation)
        if self._handing is not None:
            self._handing.cancel()
        self._stopping.late.clear()
        self._reasons.over(quiescing)
        self._handing = None

    async def _hand_over(self, quiescing: Quiescing) -> None:
        generation = quiescing.barrier.generation
        begun = self._around.clock.now()
        LOG.info("hand-over for generation %d: this PE comes to rest", generation)
        telling = tell_awaited(quiescing, self.begun.parts, self._around.gateway.report)
        beside = self._tasks.create_task(telling)
        try:
            async with self._resting:  # a checkpoint may be under way
                await quiescing.rest()
            await self.losses.let_out(self.begun.parts)
        finally:
            beside.cancel()
        if self._stopping.late.is_set():
            return
        if left := quiescing.not_taken(self.begun.places if self._has_store else ()):
            self.losses.add(left, "PeerGone")  # others do in its place what is kept
        seal, state = self.states.name("handover", generation), self._saved_at(quiescing)
        await self._checkpoints.keep_seal(lambda: self.states.write(seal, state))
        # The next launch does not know of these.
        self.losses.look(self.begun.parts, has_state=self.begun.has_state)
        self.hand_over_s = self._around.clock.now() - begun
        self._around.gateway.report(Sealed(generation))
        LOG.info("sealed for generation %d after %.2f s", generation, self.hand_over_s)

    async def _save_stopped(self, at: Quiescing) -> bool:
        """Save the state of a stop, with all connections; false where it goes on without."""
        name, left = self.states.name("stopped"), self.begun.made.engine.left
        state = cache(lambda: self._saved_at(at))  # the same each time
        return await self._order.keep(name, lambda: self.states.write(name, state()), left)

    def _saved_at(self, at: Quiescing) -> SavedPe:
        begun, barrier = self.begun, at.barrier
        who = self.states.identity(begun.job, barrier.generation)
        given = who, begun.made.placed, barrier, begun.parts, begun.places
        return saving.saved_at(*given, at.live, begun.unrecorded)

    # ------------------------------------------------------------------ ending

    async def _stop(self, looking: Looking) -> Ending:
        """Come to rest in time, save the state, and say goodbye."""
        end = self._stopping
        try:
            async with asyncio.timeout_at(end.deadline):
                await first_of(self._come_to_rest(), end.until_cut_short())
            end.is_saved = not end.is_cut_short
        except TimeoutError:
            self._be_late()
        if end.is_cut_short and self._handing is not None:
            self._handing.cancel()  # or `run` waits for barriers that never come
        flushed = first_of(self.begun.made.engine.flush(), asyncio.sleep(BYE_S))
        await asyncio.gather(flushed, self.begun.parts.receivers.stop(end.bye_s))
        held_back = await self.losses.let_out(self.begun.parts, 0)
        self._failure = self._failure or held_back or self._failing.failure
        for each in self.begun.parts.senders:
            each.close()
        self.losses.look(self.begun.parts, has_state=self.begun.has_state)
        looking.last()
        if self._failure is not None:
            raise self._failure
        return end.ending

    async def _end_if_kept(self) -> bool:
        """Come to rest and save, as an operator fails; if that is not kept, go on: false."""
        self._failure, end = self._failing.failure, self._stopping
        # Where a hand-over goes on, peers have its barrier: the launch is stopped.
        if not self._reasons and not end.is_cut_short:
            quiescing = self._reasons.add(Quiescing(self.begun.parts, STOP))
            async with self._resting:
                await quiescing.rest()
            await until_needless(self.begun.parts, saves=self._has_store)
            if not self.begun.made.engine.held_back:
                end.is_saved = await self._save_stopped(quiescing)
            if not end.is_saved and not end.is_cut_short:
                self._failure = None
                self._reasons.over(quiescing)
                self._on_hand_over(self._newest_hand_over())
                return False
        self.stop()
        return True

    async def _come_to_rest(self) -> None:
        await self._order.settled()
        if self._stopping.is_saved:
            return
        now, handing = self._reasons.newest, self._handing
        quiescing = self._reasons.add(Quiescing(self.begun.parts, STOP))
        if now is not None and handing is not None:
            handing.cancel()  # if it is not done, the next launch hands over in its place
            await asyncio.wait((handing,))
            if now.is_passed:  # if a newer hand-over replaces it, the next launch goes on from here
                if self._seen is None or not self._seen.is_handed_over(now.barrier.generation):
                    await self._save_stopped(now)
                return
            await now.passed_by_sources()
            self._reasons.over(now, until=STOP)
        async with self._resting:
            await quiescing.rest()
        within_s = self._stopping.left_s / 2
        self._failure = self._failure or await self.losses.let_out(self.begun.parts, within_s)
        await until_needless(self.begun.parts, saves=self._has_store)
        await self._save_stopped(quiescing)
