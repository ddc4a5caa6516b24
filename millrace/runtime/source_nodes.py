"""The node of a source: it reads what the author's function gives, and gives it on in batches."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from itertools import count
from typing import Any

from millrace.errors import InputRefused, OperatorFailed
from millrace.graph import Operator
from millrace.runtime.barriers import Barrier
from millrace.runtime.checking import Checker
from millrace.runtime.clock import pause_of
from millrace.runtime.failing import Give
from millrace.runtime.feeding import Feed
from millrace.runtime.nodes import Node
from millrace.runtime.operators import Batch
from millrace.runtime.racing import first_of
from millrace.runtime.raising import READ_ON_S, Skips, SourceRaised, going_on
from millrace.runtime.stores import Saved, Single, saved_by
from millrace.runtime.turns import Turns
from millrace.runtime.weighing import Scale

LOG = logging.getLogger("millrace")


class SourceNode(Node):
    """The instance of an operator that brings tuples, of its own accord.

    With the policy `skip` a source that raises goes on where it can: an iterator that is no
    generator is read on, and with state its function is called again. Otherwise it ends.
    """

    def __init__(
        self,
        name: str,
        operator: Operator,
        begin: Callable[[], Any],
        store: Single[Any] | None = None,
        *,
        path: str = "",
    ) -> None:
        """`begin` calls the author's function, in the context of the source's channel."""
        super().__init__(name, path=path)
        assert operator.gives is not None, "a source gives tuples"
        self._operator = operator
        self._begin = begin
        self._store = store
        self._checker = Checker(operator.gives)
        self._scale = Scale(operator.gives)
        self._skips = Skips(operator)
        self.feed: Feed | None = None
        self._is_over = False
        self._held: Barrier | None = None
        self._passed_on: Barrier | None = None
        self._changed = asyncio.Event()

    @property
    def waiting_bytes(self) -> int | None:
        """The bytes of large tuples that were read and wait."""
        return 0 if self.feed is None else self.feed.bytes

    def check_in_full(self) -> None:
        """As of each node."""
        self._checker.in_full = True

    def state(self) -> Saved | None:
        """Where the source stands."""
        return saved_by(self._store) if self.keeps_state else None

    def load(self, data: bytes) -> None:
        """Where the source stood. Raises msgspec.MsgspecError."""
        assert self._store is not None, "only a source with state is saved"
        self._store.load(data)

    @property
    def is_over(self) -> bool:
        """Whether it was read to its end, by this launch or by an earlier one."""
        return self._is_over or self.has_ended

    def load_end(self) -> None:
        """An earlier launch read it to its end: it is not begun again."""
        self._is_over = True

    def hold(self, barrier: Barrier) -> None:
        """Give what was read, pass this barrier on, and read nothing more until `go_on`.

        One that rests at another barrier already gives nothing between the two.
        """
        before, self._held = self._held, barrier
        self._changed.set()
        if before is not None and before != barrier and before in self.saved:
            self.saved[barrier] = self.saved[before]
            if self.feed is not None:
                self.feed.give(barrier)
        elif self.feed is not None:
            self.feed.hold(barrier)
        else:
            self.saved[barrier] = self.state()  # nothing is given before the barrier

    def forget(self, barrier: Barrier, rests_at: Barrier) -> None:
        """As of each node."""
        super().forget(barrier, rests_at)
        if self._held == barrier:
            self._held = self._passed_on = rests_at
            if self.feed is not None:
                self.feed.drop()

    def go_on(self, after: Barrier, until: Barrier | None = None) -> None:
        """Read on; with `until` give nothing but that barrier."""
        has_passed = after in self.saved  # one that has ended passed no barrier on
        passed = self.saved[after] if has_passed else self.state()
        super().go_on(after)
        self._held, self._passed_on = until, None  # the same barrier may come again
        self._changed.set()
        if until is not None:
            self.saved[until] = passed  # what it has read since then comes again
        if self.feed is not None and until is not None:
            self.feed.give(until)
        elif self.feed is not None:
            self.feed.resume()

    def stop(self) -> None:
        """End the source: what was read is still given."""
        if self.feed is not None:
            self.feed.stop()

    async def run(self) -> None:
        """Read the source to its end. Raises OperatorFailed."""
        await self.begin()
        if self._is_over:
            await self.finish()
            return
        try:
            self.feed = Feed(await self._open(), self._scale)
            if self._held is not None:
                self.feed.give(self._held)
            turns = Turns()
            async with aclosing(self.feed.items()) as items:  # or what reads it may go on
                async for item in items:
                    await self._take_item(item)
                    await turns.give_way()
        except SourceRaised as raised:
            if failure := self._failure_at(None, raised.problem):
                self.is_stuck = not await self.failing.failed(self.name, failure)
                if not self.is_stuck:
                    raise failure from raised.problem  # nobody can read on
                await self._stay(failure)
        self.failing.recovered(self.name)
        await self.finish()

    async def _take_item(self, item: Any) -> None:
        """Give what was read. Once something does not fit, keep it until the PE comes to rest."""
        if isinstance(item, Barrier):
            await self._rest_at(item)
        elif self.is_stuck:
            self._keep(item)
        else:
            await self._give(item)
        if self.is_stuck:
            await self._until_held()

    async def _rest_at(self, barrier: Barrier) -> None:
        self._passed_on = barrier
        await self.rest(barrier)

    async def _open(self) -> Any:
        """What the author's function gives; called again where a source goes on after it raised.

        Raises SourceRaised.
        """
        for attempt in count():
            try:
                if not self._goes_on:
                    return self._begin()
                has_state = self._store is not None
                return going_on(self._begin, self._raised, self._end, has_state=has_state)
            except BaseException as problem:  # code of the author
                if not self._goes_on:
                    raise SourceRaised(problem) from problem
                self._raised(problem)
            await asyncio.sleep(pause_of(READ_ON_S, attempt))
        raise AssertionError("it is tried for ever")

    @property
    def _goes_on(self) -> bool:
        return self._operator.on_error == "skip" or self.failing.reads_on

    def _raised(self, problem: BaseException) -> None:
        """It is read on. Called where it is read: in a thread, if it is plain."""
        if failure := self._failure_at(None, problem):
            self.failing.waits(self.name, failure)

    def _end(self, problem: BaseException) -> None:
        """Its generator has ended. Raises what it raised, unless that is skipped."""
        if self._failure_at(None, problem):
            raise problem
        LOG.error(
            "source %s has ended, since its generator raised: nothing more comes from it; a source"
            " with state, or an iterator that is no generator, would go on",
            self.name,
        )

    async def _give(self, batch: Batch) -> None:
        """Send what fits into the type of the source; the rest is skipped, or fails."""
        while (refused := self._checker.first_refused(batch)) is not None:
            place, problem = refused
            if place:
                await self.send(batch[:place])
            failure = self._failure_at(batch[place], problem)
            batch = batch[place + 1 :]
            if failure is not None:
                self.failing.waits(self.name, failure)
                self.is_stuck = True
                self._keep(batch)
                return
        if batch:
            self.failing.recovered(self.name)
            await self.send(batch)

    def _keep(self, batch: Batch) -> None:
        """Leave what fits to the next launch; what does not could not be saved."""
        for item in batch:
            if (refused := self._checker.first_refused((item,))) is None:
                self.left.append(Give((item,)))
            else:
                LOG.error("source %s gave what nobody can send: %s", self.name, refused[1])

    async def _stay(self, failure: OperatorFailed) -> None:
        """Pass barriers on when they are due, until the PE ends: here nobody can read on."""
        while True:
            await first_of(self._until_held(), self.again.wait())
            if self.again.is_set():
                self.again.clear()
                await self.failing.failed(self.name, failure)
            elif self._held is not None:
                await self._rest_at(self._held)

    async def _until_held(self) -> None:
        """Return when a barrier is to be passed on that was not."""
        while self._held is None or self._held == self._passed_on:
            self._changed.clear()
            await self._changed.wait()

    def _failure_at(self, item: object, problem: BaseException) -> OperatorFailed | None:
        """Count and log what is skipped, and let the source pass it by; else the failure."""
        failure = self._skips.failure_at(item, problem)
        self.counts.skipped = self._skips.count
        if failure is None and isinstance(problem, InputRefused):
            problem.pass_by()
        return failure
