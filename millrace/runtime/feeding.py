"""Reads a source into batches: what it has given so far, without waiting for more.

A plain iterable is read in a thread of its own, so that it may wait; an async one in the event
loop. Both stop when `LIMIT` tuples or `WAITING_BYTES` of large ones wait to be taken, and between
two tuples while the feed is held. One tuple is always read, however large it is.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable
from functools import partial
from itertools import chain, islice
from typing import Any, Final

from millrace.runtime.backlog import Backlog
from millrace.runtime.barriers import Barrier
from millrace.runtime.raising import SourceRaised, cancel, closed, is_ours
from millrace.runtime.turns import BATCH_MAX
from millrace.runtime.weighing import Scale

LIMIT: Final = 1024
_END: Final = object()
TURN_S: Final = 0.01
QUIET_TURNS: Final = 20
"""A source that gave nothing in so many turns while it is held waits for its input. It changes its
state right before it gives a tuple, so the state belongs to what it gave. A turn is a time in which
this process ran, and the source, too, if it could: a frozen process has no turns."""


class Feed:
    """A source that is read; `items` gives its tuples in batches.

    `stop` ends it. `hold` lets it rest: all that was read is given, then the barrier; nothing more
    comes until `resume`.
    """

    def __init__(self, source: Any, scale: Scale | None = None) -> None:
        """A feed of a plain or an async iterable. Nothing is read before `items`.

        `scale` weighs tuples; None: they weigh nothing.
        """
        self._source = source
        self._scale = scale
        self._items: deque[Any] = deque()
        self._backlog = Backlog(scale)
        self._loop = asyncio.get_running_loop()
        self._ready = asyncio.Event()
        self._room = threading.Condition()
        self._room_async = asyncio.Event()
        self._looks = False  # the source looks whether somebody waits, holds or has closed
        self._is_held = False
        self._is_parked = False
        self._is_still = False
        self._is_closed = False
        self._has_ended = False
        self._is_stopped = False
        self._quiet_turns = 0
        self._turn: asyncio.TimerHandle | None = None
        self._barrier: Barrier | None = None
        self._problem: BaseException | None = None

    @property
    def bytes(self) -> int:
        """The bytes of large tuples that wait to be taken."""
        return self._backlog.bytes

    def stop(self) -> None:
        """End the feed: what was read is still given."""
        self._is_stopped = True
        self._close()
        self._ready.set()

    def hold(self, barrier: Barrier) -> None:
        """Give what was read, then this barrier; read nothing more until `resume`."""
        self._barrier = barrier
        self._is_held = self._looks = True
        self._quiet_turns = 0
        if self._turn is not None:
            self._turn.cancel()
        self._turn = self._loop.call_later(TURN_S, self._count_turn)
        self._ready.set()

    def give(self, barrier: Barrier) -> None:
        """Give this barrier and nothing before it; nothing more comes until `resume`."""
        self._barrier = barrier
        self._is_held = self._looks = self._is_still = True
        self._ready.set()

    def drop(self) -> None:
        """Do not give a barrier that was not given yet; nothing more comes until `resume`."""
        self._barrier = None

    def _count_turn(self) -> None:
        if self._barrier is None or self._is_closed:
            return
        self._quiet_turns += 1
        if self._quiet_turns >= QUIET_TURNS:
            self._ready.set()
        self._turn = self._loop.call_later(TURN_S, self._count_turn)

    def resume(self) -> None:
        """Go on reading; a barrier that was not given yet is dropped."""
        self._barrier = None
        with self._room:
            self._is_held = self._is_parked = self._is_still = False
            self._room.notify_all()
        self._room_async.set()
        self._ready.set()

    async def items(self) -> AsyncGenerator[list[Any] | Barrier, None]:
        """Batches and barriers, until the source ends or the feed is stopped.

        Raises SourceRaised with what the source raises, after what it gave before.
        """
        if isinstance(self._source, list | tuple):
            async for item in self._listed(self._source):
                yield item
            return
        task = self._start()
        try:
            async for item in self._taken():
                yield item
        finally:
            self._close()
            if task is not None:
                cancel(task)
                await asyncio.gather(task, return_exceptions=True)

    def _start(self) -> asyncio.Task[None] | None:
        if isinstance(self._source, AsyncIterable):
            return asyncio.create_task(self._fill_async(self._source))
        context = contextvars.copy_context()
        run = partial(context.run, self._fill, self._source)
        threading.Thread(target=run, daemon=True).start()
        return None

    async def _listed(
        self, source: list[Any] | tuple[Any, ...]
    ) -> AsyncIterator[list[Any] | Barrier]:
        for begin in range(0, len(source), BATCH_MAX):
            if self._is_held:
                async for barrier in self._resting():
                    yield barrier
            if self._is_stopped:
                return
            batch = list(source[begin : begin + BATCH_MAX])
            for part in (batch,) if self._scale is None else self._scale.parts(batch):
                yield list(part)

    async def _resting(self) -> AsyncIterator[Barrier]:
        while self._is_held and not self._is_stopped:
            self._ready.clear()
            if (barrier := self._barrier) is not None:
                self._barrier = None
                yield barrier
            else:
                await self._ready.wait()

    # ----------------------------------------------------------------------- the side that reads

    def _fill(self, source: Iterable[Any]) -> None:
        """Runs in the thread: reads the source to its end, or to that of the feed."""
        items, add, weigh = self._items, self._items.append, self._backlog.weigh
        try:
            whole = chain(source)  # once the source has ended, this asks it for nothing more
            while (item := next(whole, _END)) is not _END:
                stretch = weigh(item)
                add(item)
                if not self._may_read_on():
                    return
                for item in islice(whole, stretch):
                    add(item)
                    if self._looks and not self._looked():
                        return
                    if len(items) >= LIMIT and not self._has_room():
                        return
        except BaseException as problem:  # noqa: BLE001 - `items` raises it in the event loop
            self._problem = problem
        self._has_ended = True
        self._wake_from_thread()

    def _may_read_on(self) -> bool:
        """Look, and wait for room, behind a tuple that was weighed; false: nobody takes more."""
        if self._looks and not self._looked():
            return False
        is_full = len(self._items) >= LIMIT or self._backlog.is_full
        return not is_full or self._has_room()

    def _looked(self) -> bool:
        """Wake who waits, and rest while the feed is held; false if nobody takes any more."""
        self._quiet_turns = 0
        self._wake_from_thread()
        with self._room:
            while self._is_held and not self._is_closed:
                self._is_parked = True
                self._wake_from_thread()
                self._room.wait()
        return not self._is_closed

    def _has_room(self) -> bool:
        """Wait for room; false if nobody takes any more."""
        with self._room:
            while (self._is_crowded or self._is_held) and not self._is_closed:
                self._is_parked = self._is_held
                if self._is_held:
                    self._wake_from_thread()
                self._room.wait()
        return not self._is_closed

    @property
    def _is_crowded(self) -> bool:
        return len(self._items) > LIMIT // 2 or not self._backlog.has_room

    def _wake_from_thread(self) -> None:
        self._looks = self._is_held or self._is_closed
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ready.set)

    async def _fill_async(self, source: AsyncIterable[Any]) -> None:
        """As `_fill`, in the event loop."""
        try:
            await self._read_async(source)
        except BaseException as problem:
            if is_ours(problem):
                raise
            self._problem = problem
        finally:
            self._has_ended = True
            self._ready.set()

    async def _read_async(self, source: AsyncIterable[Any]) -> None:
        items, stretch, backlog = aiter(source), 0, self._backlog
        try:
            async for item in items:
                stretch = stretch - 1 if stretch else backlog.weigh(item)
                self._items.append(item)
                self._quiet_turns = 0
                self._ready.set()
                while self._is_held or len(self._items) >= LIMIT or backlog.is_full:
                    self._is_parked = self._is_held
                    self._ready.set()
                    self._room_async.clear()
                    await self._room_async.wait()
        finally:
            await closed(items)

    # ----------------------------------------------------------------------- the side that takes

    async def _taken(self) -> AsyncIterator[list[Any] | Barrier]:
        while True:
            if self._is_held and self._barrier is None and not self._is_stopped:
                self._ready.clear()  # the barrier was given: what came later waits for `resume`
                await self._ready.wait()
            elif self._is_still and self._barrier is not None:
                barrier, self._barrier = self._barrier, None
                yield barrier
            elif batch := self._batch():
                yield batch
            elif self._is_stopped or (self._has_ended and not self._items):
                break
            elif self._barrier is not None and self._is_at_rest():
                barrier, self._barrier = self._barrier, None
                yield barrier
            else:
                await self._wait()
        if self._problem is not None and not self._is_stopped:
            raise SourceRaised(self._problem) from self._problem

    def _is_at_rest(self) -> bool:
        """All that was read is given. A source that ends meanwhile is seen to have ended."""
        if self._items:
            return False
        is_quiet = self._is_parked or self._quiet_turns >= QUIET_TURNS
        return is_quiet and not self._has_ended

    async def _wait(self) -> None:
        self._ready.clear()
        self._looks = True
        if self._items or self._has_ended or self._is_stopped:
            return  # came before the source could see that we wait
        await self._ready.wait()

    def _batch(self) -> list[Any]:
        count = self._backlog.take(min(len(self._items), BATCH_MAX))
        take = self._items.popleft
        batch = [take() for _ in range(count)]
        if batch:
            self._make_room()
        return batch

    def _make_room(self) -> None:
        self._room_async.set()
        if not self._is_crowded:
            with self._room:
                self._room.notify()

    def _close(self) -> None:
        """Nobody takes any more: a source that waits for room ends."""
        self._is_closed = self._looks = True
        with self._room:
            self._room.notify_all()
