"""The nodes of an engine: one for each instance of an operator.

A node passes a final punctuation, and the barriers of a hand-over, a stop or a checkpoint, once it
has them of all its inputs; then it has processed everything before them.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable

from millrace.channels import Channel, within
from millrace.runtime.barriers import FINAL, WINDOW, Barrier
from millrace.runtime.clock import Clock, until
from millrace.runtime.failing import Left, Stuck
from millrace.runtime.operators import Batch, Execution
from millrace.runtime.processing import Processing
from millrace.runtime.queues import Queue
from millrace.runtime.stores import Saved, saved_by
from millrace.runtime.turns import Turns


class Node(Processing):
    """One instance of an operator, or with no execution a place where connections come together.

    `inputs` is the number of those who bring barriers; `groups` that of key groups of its region.
    """

    def __init__(
        self,
        name: str,
        execution: Execution | None = None,
        *,
        path: str = "",
        groups: int = 0,
        queue: Queue | None = None,
        channel: Channel | None = None,
    ) -> None:
        """A node without targets. `channel`: that of its operator, None outside of regions."""
        super().__init__(name, execution, channel)
        self.path, self.queue = path or name, queue
        self.inputs = 0
        self.at_work = 0
        """Tuples that it took out of its queue, and has not handed on."""
        self.saved: dict[Barrier, Saved | None] = {}
        self.begins = False
        """An earlier launch left something, which comes first."""
        self.keeps_time = execution is not None and execution.operator.window is not None
        """It gives tuples because of the time."""
        self.keeps_state = True
        """What it rests with is written to a store; else its state would be encoded for nothing."""
        self._waits_to_finish = False
        self._expected: Barrier | None = None
        self._groups = groups
        self._ends, self._rests = 0, False
        self._barriers: dict[Barrier, int] = defaultdict(int)
        self._taken_back = Barrier("hand-over", -1)
        self._leaving, self._moved, self.again = (asyncio.Event() for _ in range(3))

    @property
    def waiting_bytes(self) -> int | None:
        """The bytes of tuples that wait in front of it; None without a queue."""
        return None if self.queue is None else self.queue.bytes

    async def take(self, batch: Batch) -> None:
        """Process a batch, or queue it."""
        if self.queue is not None:
            await self.queue.put(batch)
        elif self.inputs > 1 or self.keeps_time or self.begins or self._is_busy(batch):
            await self._until_it_takes()
            async with self._lock:  # or what came later, or is tried again, overtakes it
                await self._process(batch)
        else:
            await self._process(batch)

    async def take_barrier(self, barrier: Barrier) -> None:
        """Take a barrier in its place among the batches."""
        if self.queue is not None:
            await self.queue.put(barrier)
        else:
            async with self._lock:
                await self._take_barrier(barrier)

    def check_in_full(self) -> None:
        """Check each attribute of each tuple that it gives, as somebody else decodes them."""
        if self.execution is not None and self.execution.checker is not None:
            self.execution.checker.in_full = True

    async def work(self) -> None:
        """Take what is in the queue, until all inputs have ended."""
        queue, turns = self.queue, Turns()
        assert queue is not None
        while not self.has_ended:
            item = await queue.get()
            self.at_work = 0 if isinstance(item, Barrier) else len(item)
            await self._until_it_takes()
            async with self._lock:
                if isinstance(item, Barrier):
                    await self._take_barrier(item)
                else:
                    await self._process(item)
            self.at_work = 0
            self.counts.dropped = queue.dropped
            await turns.give_way()

    async def _until_it_takes(self) -> None:
        """Where it is stuck, return when a barrier comes behind what it takes, or it goes on."""
        while self.is_stuck and self._expected is None and not self._barriers:
            self._moved.clear()
            await self._moved.wait()

    async def try_again(self) -> None:
        """Do what is left each time that `again` is set, until it has ended."""
        while not self.has_ended:
            await self.again.wait()
            self.again.clear()
            async with self._lock:
                if not self.is_stuck or self._rests:
                    continue
                self.is_stuck = False
                await self._work_off()
                self._moved.set()
                self._armed.set()  # the time may have made it fail
                if self._waits_to_finish and not self.is_stuck:
                    self._waits_to_finish = False
                    await self.finish()

    async def begin(self) -> None:
        """Do what an earlier launch left, before anything else."""
        async with self._lock:
            await self._work_off()
            self.begins = False

    def restore(self, left: Iterable[Left]) -> None:
        """Let `begin` do what an earlier launch left."""
        self.left.extend(left)
        self.begins = bool(self.left)

    async def _take_barrier(self, barrier: Barrier) -> None:
        await self._work_off()  # what is left was there before the barrier
        if barrier == WINDOW:
            self.counts.windows += 1
            if self.left or self.is_stuck:
                self.left.append(barrier)
            else:
                await self._pass(barrier)
            return
        if barrier.is_covered_by(self._taken_back):
            return  # it waited in a queue, or before one
        if barrier == FINAL:
            self._ends += 1
            self.counts.finals += 1
            if self._ends >= self.inputs and not self.has_ended:
                await self.finish()
                return
        else:
            self._barriers[barrier] += 1
        for each, count in list(self._barriers.items()):
            if count + self._ends >= self.inputs and self._may_pass(each):
                del self._barriers[each]
                await self.rest(each)

    def _may_pass(self, barrier: Barrier) -> bool:
        """Behind that of a hand-over nothing comes, and the next launch does what is left."""
        return barrier.kind != "hand-over" or not self.is_stuck

    async def rest(self, barrier: Barrier) -> None:
        """Keep the state as it is now, and pass the barrier on: all before it is processed."""
        await self._flush()
        self._rests = True  # what it gave now would be in its saved state, and be given again
        self.saved.setdefault(barrier, self.state())
        await self._pass(barrier)

    async def flush(self) -> None:
        """Let out what the function holds back, once it is done with what it works on."""
        async with self._lock:
            await self._flush()

    def go_on(self, after: Barrier, until: Barrier | None = None) -> None:
        """Go on after a barrier, and forget it and older ones that did not come in by all inputs.

        `until` is for sources.
        """
        self._take_back(after)
        self._expected = None
        self.saved.clear()
        self._rests = False
        self._armed.set()

    def forget(self, barrier: Barrier, rests_at: Barrier) -> None:
        """Forget a barrier as `go_on` does, and stay at rest at another one."""
        self._take_back(barrier)
        self._expected = rests_at
        self.saved.pop(barrier, None)

    def _take_back(self, barrier: Barrier) -> None:
        for each in [each for each in self._barriers if each.is_covered_by(barrier)]:
            del self._barriers[each]
        if barrier.kind == self._taken_back.kind:
            self._taken_back = barrier

    async def has_passed(self, barrier: Barrier) -> None:
        """Return when the node has passed this barrier on, or has ended."""
        while barrier not in self.saved and not self.has_ended:
            self._passed.clear()
            await self._passed.wait()

    def state(self) -> Saved | None:
        """The state as it is now, or why it cannot be kept; None without any."""
        if self.execution is None or not self.keeps_state:
            return None
        return saved_by(self.execution.store, self._groups)

    async def finish(self) -> None:
        """All inputs have ended: give what is left, and pass the end on."""
        await self._work_off()
        while self.execution is not None and not self.is_stuck:
            try:
                with within(self._channel):
                    given = await self.execution.given_by(self.execution.finish)
            except Stuck as stuck:
                await self._stand_at(stuck)
                continue
            self._recover()
            if not given:
                break
            await self.send(given)  # and ask for more: what is heavy is given in rounds
        if self.is_stuck:
            await self._wait_to_finish()
            return
        await self._leave()
        self._leaving.set()

    async def _leave(self) -> None:
        """Let go of everything, and pass the end on; where that fails, `let_go` tries it again."""
        if self.execution is not None:
            await self._let_out(self.execution.let_go)
        if self.held_back.failure is not None:
            await self._wait_to_finish()
            return
        await self._pass(FINAL)
        self.has_ended = True  # not before: who waits for its end takes all of this for done
        self._armed.set()
        self.again.set()
        self._passed.set()

    async def let_go(self) -> None:
        """End what could not end at once, unless a barrier is behind which nothing comes."""
        await self._leaving.wait()
        while not self.has_ended:
            await asyncio.sleep(self.held_back.pause_s)
            async with self._lock:
                if not self._rests and not self.has_ended:
                    await self._leave()

    async def _wait_to_finish(self) -> None:
        """No barrier comes by its inputs any more, and those behind it wait for one."""
        self._waits_to_finish = True
        if self._expected is not None and self._may_pass(self._expected):
            await self.rest(self._expected)

    async def expect(self, barrier: Barrier) -> None:
        """A barrier is on its way to all nodes; one that waits to finish passes it by itself."""
        self._expected = barrier
        self._moved.set()
        if self._waits_to_finish and self._may_pass(barrier):
            async with self._lock:
                await self.rest(barrier)

    async def keep_time(self, clock: Clock) -> None:
        """Give what is due because of the time, until the node has ended."""
        assert self.execution is not None
        while not self.has_ended:
            due = self.execution.due
            if due is None or self._rests or self.is_stuck:
                self._armed.clear()
                await self._armed.wait()
                continue
            await until(clock, due, self._armed)
            async with self._lock:
                if not (self.has_ended or self._rests or self.is_stuck):
                    await self._give_in_time(self.execution, clock)

    async def _give_in_time(self, execution: Execution, clock: Clock) -> None:
        try:
            with within(self._channel):
                given = await execution.given_by(execution.on_time, clock.now())
        except Stuck as stuck:
            await self._stand_at(stuck)
            return
        if self._fails:
            self._recover()
        if given:
            await self.send(given)
