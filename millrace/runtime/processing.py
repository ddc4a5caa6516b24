"""What a node does with tuples: its operator processes them, and what it gives is sent on.

Where the operator fails at a tuple, that and all behind it is left, in order. It is tried again
from there, the first tuple alone.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from millrace.channels import ONLY, Channel, within
from millrace.errors import OperatorFailed, TupleTooLarge, Unencodable
from millrace.runtime.barriers import Barrier
from millrace.runtime.failing import Failing, Give, Left, Raises, Stuck, Take
from millrace.runtime.holding_back import HeldBack
from millrace.runtime.operators import Batch, Execution
from millrace.runtime.targets import Counts, Target
from millrace.runtime.turns import Pace, Turns, others_run
from millrace.runtime.weighing import Scale


class Processing:
    """The tuples of one operator instance; with no execution they are sent on as they are.

    A caller holds `_lock`, unless nobody else can give the node anything meanwhile.
    """

    def __init__(self, name: str, execution: Execution | None, channel: Channel | None) -> None:
        """Nothing is processed yet. `channel`: that of the operator, None outside of regions."""
        self.name = name
        self.targets: list[Target] = []
        self.counts = Counts()
        self.execution = execution
        self.failing: Failing = Raises()
        self.left: deque[Left] = deque()
        """What it has not done, in order: its function failed at the first tuple of it."""
        self.is_stuck = False
        """It keeps what it gets, and does nothing with it."""
        self.has_ended = False
        self.held_back = HeldBack()
        self._channel = channel or ONLY
        self.scale: Scale | None = None
        """It weighs what is given. None: that is in small parts already."""
        if execution is not None and execution.checker is not None:
            self.scale = Scale(execution.checker.type)
        self._fails = False
        self._lock, self._pace = asyncio.Lock(), Pace()
        self._armed, self._passed = asyncio.Event(), asyncio.Event()

    def _is_busy(self, batch: Batch) -> bool:
        """Whether another batch may come before this one is done, or something comes first."""
        in_parts = self.execution is not None and len(batch) > self._pace.tuples
        return in_parts or self.is_stuck or self._lock.locked()

    async def _process(self, batch: Batch) -> None:
        if self.execution is None:
            self.counts.taken += len(batch)
            await self.send(batch)
        elif len(batch) <= self._pace.tuples:
            await self._process_part(self.execution, batch)
        else:
            for part in self._pace.parts(batch):
                await self._process_part(self.execution, part)
                await others_run()

    async def _process_part(self, execution: Execution, batch: Batch) -> None:
        self.counts.taken += len(batch)
        if self.left or self.is_stuck:
            self.left.append(Take(batch))
            await self._work_off()
        elif (stuck := await self._execute(execution, batch)) is not None:
            await self._stand_at(stuck)
            await self._work_off()
        elif self._fails:
            self._recover()

    async def _execute(self, execution: Execution, batch: Batch) -> Stuck | None:
        """Process tuples, in rounds if what they give is heavy."""
        while batch:
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
                self._pace.end(len(batch) - len(execution.unprocessed))
                self.counts.skipped = execution.skipped
                if execution.due is not None:
                    self._armed.set()
            if given:
                await self.send(given, is_light=execution.gives_light)
            batch, given = execution.unprocessed, []  # or both rounds would be in memory
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
            if isinstance(each, Barrier):
                await self._pass(each)
            elif isinstance(each, Give):
                await self.send(each.batch)
            elif each.batch:
                has_failed = await self._take_left(each.batch, again=has_failed)
            await turns.give_way()

    async def _take_left(self, batch: Batch, *, again: bool) -> bool:
        """Process the first tuples; what is behind them is left. Whether the function failed.

        `again`: it failed at the first tuple, which is processed alone.
        """
        assert self.execution is not None, "only an operator has something left"
        count = 1 if again else self._pace.tuples
        self.left.extendleft(reversed([*map(Take, self._pace.parts(batch[count:]))]))
        put_back = self.execution.remembered(batch[0]) if again else None
        if (stuck := await self._execute(self.execution, batch[:count])) is not None:
            if put_back is not None:
                put_back()
            await self._stand_at(stuck)
            return True
        if again:
            self._recover()
        return False

    def _recover(self) -> None:
        self._fails = False
        self.failing.recovered(self.name)

    async def send(self, batch: Batch, *, is_light: bool = False) -> None:
        """Pass a batch on to all targets, in parts if it is heavy. `is_light`: it is not."""
        self.counts.given += len(batch)
        try:
            if is_light or self.scale is None:
                for target in self.targets:
                    await target.take(batch)
                return
            for part in self.scale.parts(batch):
                for target in self.targets:
                    await target.take(part)
        except (TupleTooLarge, Unencodable) as problem:  # of an outlet: it was changed since
            raise OperatorFailed(self.name, None, problem) from problem

    async def _pass(self, barrier: Barrier) -> None:
        for target in self.targets:
            await target.take_barrier(barrier)
        self._passed.set()

    async def _flush(self) -> None:
        if self.execution is not None and not self.has_ended:
            await self._let_out(self.execution.flush)

    async def _let_out(self, flush: Callable[[], Awaitable[None]]) -> None:
        with within(self._channel):
            await self.held_back.let_out(flush, self.name, self.counts.taken, self.failing)
