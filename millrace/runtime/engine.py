"""Moves tuples through the operators of one process.

A batch goes from node to node by plain calls, until a queue, so that what is behind it overlaps.
Queues are bounded: a slow node makes those before it wait, up to the sources and to the connections
with other processes. Barriers travel with the tuples (`nodes.py`).
"""

from __future__ import annotations

import asyncio
from typing import Final

from millrace.errors import OperatorFailed
from millrace.runtime.barriers import FINAL, WINDOW, Barrier
from millrace.runtime.clock import Clock
from millrace.runtime.failing import Failing, tuples_of
from millrace.runtime.nodes import Node
from millrace.runtime.operators import Batch
from millrace.runtime.source_nodes import SourceNode
from millrace.runtime.splitting import Splitter
from millrace.runtime.targets import Target

FLUSHES: Final = 8
"""How often a flush that fails is tried again in the time that a launch has left."""


class Fork:
    """A splitter, and the targets of each channel."""

    def __init__(
        self, splitter: Splitter, channels: list[list[Target]], *, drops_windows: bool = False
    ) -> None:
        """A splitter of one producer."""
        self._splitter = splitter
        self._channels = channels
        self._drops_windows = drops_windows

    async def take(self, batch: Batch) -> None:
        """Split a batch to the channels."""
        for part, targets in zip(self._splitter.split(batch), self._channels, strict=True):
            if part:
                for target in targets:
                    await target.take(part)

    async def take_barrier(self, barrier: Barrier) -> None:
        """Pass a barrier on to all channels."""
        if barrier == WINDOW and self._drops_windows:
            return
        for targets in self._channels:
            for target in targets:
                await target.take_barrier(barrier)


class Engine:
    """The nodes of one process, and the tasks that move tuples between them."""

    def __init__(self, nodes: list[Node], clock: Clock) -> None:
        """Nodes that are connected with each other."""
        self.nodes = nodes
        self._clock = clock

    @property
    def sources(self) -> list[SourceNode]:
        """The nodes that bring tuples."""
        return [each for each in self.nodes if isinstance(each, SourceNode)]

    def fail_as(self, failing: Failing) -> None:
        """Name what follows where a node fails; otherwise it ends `run`."""
        for node in self.nodes:
            node.failing = failing

    def forget_state(self) -> None:
        """Encode no state where nodes rest: there is no store."""
        for node in self.nodes:
            node.keeps_state = False

    async def run(self) -> None:
        """Run until all nodes have ended. Raises OperatorFailed in an ExceptionGroup."""
        async with asyncio.TaskGroup() as tasks:
            for node in self.nodes:
                if isinstance(node, SourceNode):
                    tasks.create_task(node.run())
                elif node.begins:
                    tasks.create_task(node.begin())
                if node.queue is not None:
                    tasks.create_task(node.work())
                if node.execution is not None and node.execution.holds_back:
                    tasks.create_task(node.let_go())
                if node.execution is not None:
                    tasks.create_task(node.try_again())
                if node.keeps_time:
                    tasks.create_task(node.keep_time(self._clock))

    @property
    def left(self) -> int:
        """How many tuples nodes that are stuck have left."""
        return sum(tuples_of(each.left) for each in self.nodes)

    def try_again(self) -> None:
        """Let nodes that are stuck at a tuple try it again."""
        for node in self.nodes:
            if node.is_stuck:
                node.again.set()

    async def flush(self) -> None:
        """Let out what functions hold back, such as lines that a sink has not written yet."""
        await asyncio.gather(*(each.flush() for each in self.nodes))

    @property
    def held_back(self) -> list[Node]:
        """The nodes whose functions could not let out what they hold back."""
        return [each for each in self.nodes if each.held_back.failure is not None]

    async def let_out(self, within_s: float) -> tuple[OperatorFailed | None, int]:
        """Flush again, for so long, what could not be let out: no saved state has it.

        Returns why that failed still, and at most how many tuples are lost by it.
        """
        pauses_s = within_s / FLUSHES
        for _ in range(FLUSHES):
            if not self.held_back or not within_s:
                break
            await asyncio.sleep(pauses_s)
            await self.flush()
        held_back = self.held_back
        failure = held_back[0].held_back.failure if held_back else None
        return failure, sum(each.held_back.give_up(each.counts.taken) for each in held_back)

    async def at_rest(self, barrier: Barrier) -> None:
        """Return when every node has passed a barrier on, which is on its way to all of them."""
        for node in self.nodes:
            await node.expect(barrier)
        for node in self.nodes:
            await node.has_passed(barrier)

    async def ended(self) -> None:
        """Return when every node has ended, with all that it had to give."""
        for node in self.nodes:
            await node.has_passed(FINAL)

    def forget(self, barrier: Barrier, rests_at: Barrier) -> None:
        """Forget a barrier, and stay at rest at another one."""
        for node in self.nodes:
            node.forget(barrier, rests_at)

    def go_on(self, after: Barrier, until: Barrier | None = None) -> None:
        """Go on after the barrier of a hand-over that does not happen, or of a checkpoint.

        `until`: sources give nothing before this barrier.
        """
        for node in self.nodes:
            node.go_on(after, until)
