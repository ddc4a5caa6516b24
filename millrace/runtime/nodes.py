"""The nodes of an engine: one for each instance of an operator.

A node passes a final mark, and the marks of a hand-over, a stop or a checkpoint, once it has them
of all its inputs; then it has processed everything before them.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from millrace.errors import OperatorFailed, TupleTooLarge, Unencodable
from millrace.graph import Operator
from millrace.runtime.checking import Checker
from millrace.runtime.clock import Clock
from millrace.runtime.feeding import Feed
from millrace.runtime.marks import FINAL, WINDOW, Mark
from millrace.runtime.operators import Batch, Execution
from millrace.runtime.queues import Queue
from millrace.runtime.raising import Skips, SourceRaised, going_on
from millrace.runtime.stores import Keyed, Single

Saved = Mapping[int, bytes] | bytes
"""The state of a node: by key group, or as a whole."""


@dataclass(slots=True)
class Counts:
    """How many tuples an instance took, gave, skipped and dropped before a full queue."""

    taken: int = 0
    given: int = 0
    skipped: int = 0
    dropped: int = 0
    windows: int = 0
    finals: int = 0


class Target(Protocol):
    """Where tuples and marks go: a node, a splitter, or a connection to another process."""

    async def take(self, batch: Batch) -> None:
        """Take a batch; returns when there is room for more."""
        ...

    async def mark(self, mark: Mark) -> None:
        """Take a mark, after all batches before it."""
        ...


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
    ) -> None:
        """A node without targets."""
        self.name = name
        self.path = path or name
        self.targets: list[Target] = []
        self.inputs = 0
        self.counts = Counts()
        self.has_ended = False
        self.execution = execution
        self.queue = queue
        self.at_work = 0
        """Tuples that it took out of its queue, and has not handed on."""
        self.saved: dict[Mark, Saved | None] = {}
        self._groups = groups
        self._ends = 0
        self._marks: dict[Mark, int] = defaultdict(int)
        self._taken_back = Mark("hand-over", -1)
        self._rests = False
        self._turn = asyncio.Lock()
        self._armed = asyncio.Event()
        self._passed = asyncio.Event()

    async def take(self, batch: Batch) -> None:
        """Process a batch, or queue it."""
        if self.queue is not None:
            await self.queue.put(batch)
        elif self.inputs > 1 or self.keeps_time:
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
        queue = self.queue
        assert queue is not None
        while not self.has_ended:
            item = await queue.get()
            self.at_work = 0 if isinstance(item, Mark) else len(item)
            async with self._turn:
                if isinstance(item, Mark):
                    await self._take_mark(item)
                else:
                    await self._process(item)
            self.at_work = 0
            self.counts.dropped = queue.dropped

    async def _process(self, batch: Batch) -> None:
        execution = self.execution
        self.counts.taken += len(batch)
        if execution is None:
            await self.send(batch)
            return
        if execution.is_async:
            given = await execution.process_async(batch)
        else:
            given = execution.process(batch)
        self.counts.skipped = execution.skipped
        if execution.due is not None:
            self._armed.set()
        if given:
            await self.send(given)

    async def send(self, batch: Batch) -> None:
        """Pass a batch on to all targets."""
        self.counts.given += len(batch)
        try:
            for target in self.targets:
                await target.take(batch)
        except (TupleTooLarge, Unencodable) as problem:  # of an outlet: it was changed since
            raise OperatorFailed(self.name, None, problem) from problem

    async def _take_mark(self, mark: Mark) -> None:
        if mark == WINDOW:
            self.counts.windows += 1
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
            if count + self._ends >= self.inputs:
                del self._marks[each]
                await self.rest(each)

    async def rest(self, mark: Mark) -> None:
        """Keep the state as it is now, and pass the mark on: everything before it is processed."""
        if self.execution is not None:
            await self.execution.flush()
        self._rests = True  # what it gave now would be in its saved state, and be given again
        self.saved.setdefault(mark, self.state())
        await self._pass(mark)

    async def flush(self) -> None:
        """Let out what the function holds back, once it is done with what it works on."""
        async with self._turn:
            if self.execution is not None:
                await self.execution.flush()

    def go_on(self, after: Mark, until: Mark | None = None) -> None:
        """Go on after a mark, and forget it and older ones that did not come in by all inputs.

        `until` is for sources.
        """
        for mark in [each for each in self._marks if each.is_covered_by(after)]:
            del self._marks[mark]
        if after.kind == self._taken_back.kind:
            self._taken_back = after
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
        """The state as it is now; None without any."""
        store = self.execution.store if self.execution is not None else None
        if isinstance(store, Keyed):
            return store.save(self._groups)
        return store.save() if isinstance(store, Single) else None

    async def finish(self) -> None:
        """All inputs have ended: give what is left, and pass the end on."""
        self.has_ended = True
        if self.execution is not None:
            given = self.execution.finish()
            if given:
                await self.send(given)
            await self.execution.close()
        self._armed.set()
        await self._pass(FINAL)

    @property
    def _is_silent(self) -> bool:
        return self.has_ended or self._rests

    async def keep_time(self, clock: Clock) -> None:
        """Give what is due because of the time, until the node has ended."""
        assert self.execution is not None
        while not self.has_ended:
            due = self.execution.due
            if due is None or self._rests:
                self._armed.clear()
                await self._armed.wait()
                continue
            await _until(clock, due, self._armed)
            async with self._turn:
                given = [] if self._is_silent else self.execution.on_time(clock.now())
                if given:
                    await self.send(given)


async def _until(clock: Clock, due: float, woken: asyncio.Event) -> None:
    """Return when it is that time, or when somebody wakes us."""
    woken.clear()
    waiting = asyncio.create_task(clock.wait_until(due))
    other = asyncio.create_task(woken.wait())
    try:
        await asyncio.wait((waiting, other), return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        other.cancel()


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
        self._skips = Skips(operator.name)
        self.feed: Feed | None = None
        self._held: Mark | None = None

    def check_in_full(self) -> None:
        """As of each node."""
        self._checker.in_full = True

    def state(self) -> Saved | None:
        """Where the source stands."""
        return None if self._store is None else self._store.save()

    def load(self, data: bytes) -> None:
        """Where the source stood. Raises msgspec.MsgspecError."""
        assert self._store is not None, "only a source with state is saved"
        self._store.load(data)

    def hold(self, mark: Mark) -> None:
        """Give what was read, pass this mark on, and read nothing more until `go_on`."""
        self._held = mark
        if self.feed is not None:
            self.feed.hold(mark)
        else:
            self.saved[mark] = self.state()  # nothing is given before the mark

    def go_on(self, after: Mark, until: Mark | None = None) -> None:
        """Read on; with `until` give nothing but that mark."""
        passed = self.saved.get(after, self.state())  # one that has ended passed no mark on
        super().go_on(after)
        self._held = until
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
        self.feed = Feed(self._opened())
        if self._held is not None:
            self.feed.give(self._held)
        try:
            async for item in self.feed.items():
                if isinstance(item, Mark):
                    await self.rest(item)
                else:
                    await self._give(item)
        except SourceRaised as raised:
            self._skip(None, raised.problem)  # with `skip` only what nobody goes on after
        await self.finish()

    def _opened(self) -> Any:
        """What the author's function gives. Raises OperatorFailed."""
        try:
            if self._operator.on_error == "fail":
                return self._begin()
            has_state = self._store is not None
            return going_on(self._begin, self._skip_source, self.name, has_state=has_state)
        except (Exception, SystemExit) as problem:
            raise OperatorFailed(self._operator.name, None, problem) from problem

    async def _give(self, batch: Batch) -> None:
        """Send what fits into the type of the source; the rest is skipped, or fails."""
        while (refused := self._checker.first_refused(batch)) is not None:
            place, problem = refused
            if place:
                await self.send(batch[:place])
            self._skip(batch[place], problem)
            batch = batch[place + 1 :]
        if batch:
            await self.send(batch)

    def _skip_source(self, problem: BaseException) -> None:
        self._skip(None, problem)

    def _skip(self, item: object, problem: BaseException) -> None:
        """Count and log, or raise OperatorFailed, as the policy says."""
        if self._operator.on_error == "fail":
            raise OperatorFailed(self._operator.name, item, problem) from problem
        self.counts.skipped += 1
        self._skips.note(item, problem)
