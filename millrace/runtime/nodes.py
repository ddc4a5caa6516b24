"""The nodes of an engine: one for each instance of an operator.

A node passes a final mark, and the marks of a hand-over, a stop or a checkpoint, once it has them
of all its inputs; then it has processed everything before them.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable

from millrace.channels import ONLY, Channel, within
from millrace.errors import OperatorFailed, TupleTooLarge, Unencodable
from millrace.runtime.clock import Clock, until
from millrace.runtime.failing import Failing, Give, Left, Raises, Stuck, Take
from millrace.runtime.holding_back import HeldBack
from millrace.runtime.marks import FINAL, WINDOW, Mark
from millrace.runtime.operators import Batch, Execution
from millrace.runtime.queues import Queue
from millrace.runtime.stores import Saved, saved_by
from millrace.runtime.targets import Counts, Target
from millrace.runtime.turns import Pace, Turns, others_run


class Node:
    """One instance of an operator, or with no execution a place where connections come together.

    `inputs` is the number of those who bring marks; `groups` that of key groups of its region.
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
        self.name, self.path = name, path or name
        self.targets: list[Target] = []
        self.inputs, self.counts = 0, Counts()
        self.has_ended = False
        self.execution, self.queue = execution, queue
        self.at_work = 0
        """Tuples that it took out of its queue, and has not handed on."""
        self.saved: dict[Mark, Saved | None] = {}
        self.failing: Failing = Raises()
        self.left: deque[Left] = deque()
        """What it has not done, in order: its function failed at the first tuple of it."""
        self.is_stuck = False
        """It keeps what it gets, and does nothing with it."""
        self.begins = False
        """An earlier launch left something, which comes first."""
        self._fails = self._waits_to_finish = False
        self._expected: Mark | None = None
        self._groups, self._channel = groups, channel or ONLY
        self._ends, self._rests = 0, False
        self._marks: dict[Mark, int] = defaultdict(int)
        self._taken_back = Mark("hand-over", -1)
        self._turn, self._pace, self.held_back = asyncio.Lock(), Pace(), HeldBack()
        self._armed, self._passed = asyncio.Event(), asyncio.Event()
        self._leaving, self._moved, self.again = (asyncio.Event() for _ in range(3))

    async def take(self, batch: Batch) -> None:
        """Process a batch, or queue it."""
        busy = self.is_stuck or self._turn.locked()
        if self.queue is not None:
            await self.queue.put(batch)
        elif self.inputs > 1 or self.keeps_time or self.begins or busy:
            await self._until_it_takes()
            async with self._turn:  # or what one input gives overtakes what another gave before
                await self._process(batch)
        else:
            await self._process(batch)

    async def mark(self, mark: Mark) -> None:
        """Take a mark in its place among the batches."""
        if self.queue is not None:
            await self.queue.put(mark)
        else:
            async with self._turn:
                await self._take_mark(mark)

    def check_in_full(self) -> None:
        """Check each attribute of each tuple that it gives, as somebody else decodes them."""
        if self.execution is not None and self.execution.checker is not None:
            self.execution.checker.in_full = True

    @property
    def keeps_time(self) -> bool:
        """It gives tuples because of the time."""
        return self.execution is not None and self.execution.operator.window is not None

    async def work(self) -> None:
        """Take what is in the queue, until all inputs have ended."""
        queue, turns = self.queue, Turns()
        assert queue is not None
        while not self.has_ended:
            item = await queue.get()
            self.at_work = 0 if isinstance(item, Mark) else len(item)
            await self._until_it_takes()
            async with self._turn:
                if isinstance(item, Mark):
                    await self._take_mark(item)
                else:
                    await self._process(item)
            self.at_work = 0
            self.counts.dropped = queue.dropped
            await turns.give_way()

    async def _until_it_takes(self) -> None:
        """Where it is stuck, return when a mark is on its way behind what comes, or it goes on."""
        while self.is_stuck and self._expected is None and not self._marks:
            self._moved.clear()
            await self._moved.wait()

    async def _process(self, batch: Batch) -> None:
        for part in (batch,) if self.execution is None else self._pace.parts(batch):
            await self._process_part(part)
            if part is not batch:
                await others_run()

    async def _process_part(self, batch: Batch) -> None:
        self.counts.taken += len(batch)
        if self.execution is None:
            await self.send(batch)
        elif self.left or self.is_stuck:
            self.left.append(Take(batch))
            await self._work_off()
        elif (stuck := await self._execute(self.execution, batch)) is not None:
            await self._stand_at(stuck)
            await self._work_off()
        elif self._fails:
            self._recover()

    async def _execute(self, execution: Execution, batch: Batch) -> Stuck | None:
        self._pace.begin()
        try:
            with within(self._channel):
                if execution.is_async:
                    given = await execution.process_async(batch)
                else:
                    given = await execution.given_by(execution.process, batch)
        except Stuck as stuck:
            return stuck
        finally:
            self._pace.end(len(batch))
            self.counts.skipped = execution.skipped
            if execution.due is not None:
                self._armed.set()
        if given:
            await self.send(given)
        return None

    async def _stand_at(self, stuck: Stuck) -> None:
        """Keep what is left; return to try it again, or to keep what comes. May raise."""
        self._fails = True
        self.left.extendleft(reversed(stuck.left))
        if stuck.done:
            await self.send(stuck.done)
        self.is_stuck = not await self.failing.failed(self.name, stuck.failure)

    async def _work_off(self) -> None:
        """Do what is left, in order: its first tuple alone, with the state that it had before."""
        has_failed, turns = bool(self.left), Turns()
        while self.left and not self.is_stuck:
            each = self.left.popleft()
            if isinstance(each, Mark):
                await self._pass(each)
            elif isinstance(each, Give):
                await self.send(each.batch)
            elif has_failed and each.batch:
                has_failed = await self._try_again(each.batch)
            elif each.batch:
                assert self.execution is not None, "only an operator has something left"
                if (stuck := await self._execute(self.execution, each.batch)) is not None:
                    await self._stand_at(stuck)
                    has_failed = True
            await turns.give_way()

    async def _try_again(self, batch: Batch) -> bool:
        """Process the first tuple; what is behind it is left. Whether it failed again."""
        assert self.execution is not None, "only an operator has something left"
        self.left.extendleft(reversed([*map(Take, self._pace.parts(batch[1:]))]))
        put_back = self.execution.remembered(batch[0])
        if (stuck := await self._execute(self.execution, batch[:1])) is not None:
            put_back()
            await self._stand_at(stuck)
            return True
        self._recover()
        return False

    async def try_again(self) -> None:
        """Do what is left each time that `again` is set, until it has ended."""
        while not self.has_ended:
            await self.again.wait()
            self.again.clear()
            async with self._turn:
                if not self.is_stuck or self._rests:
                    continue
                self.is_stuck = False
                await self._work_off()
                self._moved.set()
                self._armed.set()  # the time may have made it fail
                if self._waits_to_finish and not self.is_stuck:
                    self._waits_to_finish = False
                    await self.finish()

    def _recover(self) -> None:
        self._fails = False
        self.failing.recovered(self.name)

    async def begin(self) -> None:
        """Do what an earlier launch left, before anything else."""
        async with self._turn:
            await self._work_off()
            self.begins = False

    def restore(self, left: Iterable[Left]) -> None:
        """Let `begin` do what an earlier launch left."""
        self.left.extend(left)
        self.begins = bool(self.left)

    async def send(self, batch: Batch) -> None:
        """Pass a batch on to all targets."""
        self.counts.given += len(batch)
        try:
            for target in self.targets:
                await target.take(batch)
        except (TupleTooLarge, Unencodable) as problem:  # of an outlet: it was changed since
            raise OperatorFailed(self.name, None, problem) from problem

    async def _take_mark(self, mark: Mark) -> None:
        await self._work_off()  # what is left was there before the mark
        if mark == WINDOW:
            self.counts.windows += 1
            if self.left or self.is_stuck:
                self.left.append(mark)
            else:
                await self._pass(mark)
            return
        if mark.is_covered_by(self._taken_back):
            return  # it waited in a queue, or before one
        if mark == FINAL:
            self._ends += 1
            self.counts.finals += 1
            if self._ends >= self.inputs and not self.has_ended:
                await self.finish()
                return
        else:
            self._marks[mark] += 1
        for each, count in list(self._marks.items()):
            if count + self._ends >= self.inputs and self._may_pass(each):
                del self._marks[each]
                await self.rest(each)

    def _may_pass(self, mark: Mark) -> bool:
        """Behind the mark of a hand-over nothing comes, and the next launch does what is left."""
        return mark.kind != "hand-over" or not self.is_stuck

    async def rest(self, mark: Mark) -> None:
        """Keep the state as it is now, and pass the mark on: everything before it is processed."""
        await self._flush()
        self._rests = True  # what it gave now would be in its saved state, and be given again
        self.saved.setdefault(mark, self.state())
        await self._pass(mark)

    async def flush(self) -> None:
        """Let out what the function holds back, once it is done with what it works on."""
        async with self._turn:
            await self._flush()

    async def _flush(self) -> None:
        if self.execution is not None and not self.has_ended:
            await self._let_out(self.execution.flush)

    async def _let_out(self, flush: Callable[[], Awaitable[None]]) -> None:
        with within(self._channel):
            await self.held_back.let_out(flush, self.name, self.counts.taken, self.failing)

    def go_on(self, after: Mark, until: Mark | None = None) -> None:
        """Go on after a mark, and forget it and older ones that did not come in by all inputs.

        `until` is for sources.
        """
        for mark in [each for each in self._marks if each.is_covered_by(after)]:
            del self._marks[mark]
        if after.kind == self._taken_back.kind:
            self._taken_back = after
        self._expected = None
        self.saved.clear()
        self._rests = False
        self._armed.set()

    async def _pass(self, mark: Mark) -> None:
        for target in self.targets:
            await target.mark(mark)
        self._passed.set()

    async def has_passed(self, mark: Mark) -> None:
        """Return when the node has passed this mark on, or has ended."""
        while mark not in self.saved and not self.has_ended:
            self._passed.clear()
            await self._passed.wait()

    def state(self) -> Saved | None:
        """The state as it is now, or why it cannot be kept; None without any."""
        return None if self.execution is None else saved_by(self.execution.store, self._groups)

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
            if given:
                await self.send(given)
            break
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
        """End what could not end at once, unless a mark is behind which nothing comes."""
        await self._leaving.wait()
        while not self.has_ended:
            await asyncio.sleep(self.held_back.pause_s)
            async with self._turn:
                if not self._rests and not self.has_ended:
                    await self._leave()

    async def _wait_to_finish(self) -> None:
        """No mark comes by its inputs any more, and those behind it wait for one."""
        self._waits_to_finish = True
        if self._expected is not None and self._may_pass(self._expected):
            await self.rest(self._expected)

    async def expect(self, mark: Mark) -> None:
        """A mark is on its way to all nodes; one that waits to finish passes it by itself."""
        self._expected = mark
        self._moved.set()
        if self._waits_to_finish and self._may_pass(mark):
            async with self._turn:
                await self.rest(mark)

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
            async with self._turn:
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
