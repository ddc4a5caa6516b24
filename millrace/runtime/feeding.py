"""Reads a source into batches: what it has given so far, without waiting for more.

A plain iterable is read in a thread of its own, so that it may wait; an async one in the event
loop. Both stop when `LIMIT` tuples wait to be taken.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from functools import partial
from typing import Any, Final

LIMIT: Final = 1024
BATCH_MAX: Final = 256
"""Few live tuples: more of them start the garbage collector more often (`make bench-run`)."""


async def batches(source: Any, stop: asyncio.Event) -> AsyncIterator[list[Any]]:
    """The tuples of a source in batches, until it ends or `stop` is set.

    Raises what the source raises, after what it gave before.
    """
    if isinstance(source, list | tuple):
        for begin in range(0, len(source), BATCH_MAX):
            if stop.is_set():
                return
            yield list(source[begin : begin + BATCH_MAX])
        return
    buffer = _Buffer(stop)
    task = None
    if isinstance(source, AsyncIterable):
        task = asyncio.create_task(buffer.fill_async(source))
    else:
        context = contextvars.copy_context()
        run = partial(context.run, buffer.fill, source)
        threading.Thread(target=run, daemon=True).start()
    try:
        async for batch in buffer.taken():
            yield batch
    finally:
        buffer.end()
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


class _Buffer:
    """Tuples between a source and the event loop that takes them.

    `append` and `popleft` of a deque are atomic; the lock only guards waiting for room.
    """

    def __init__(self, stop: asyncio.Event) -> None:
        self._items: deque[Any] = deque()
        self._loop = asyncio.get_running_loop()
        self._stop = stop
        self._ready = asyncio.Event()
        self._room = threading.Condition()
        self._room_async = asyncio.Event()
        self._is_idle = False
        self._ended = False
        self._problem: BaseException | None = None

    def fill(self, source: Iterable[Any]) -> None:
        """Runs in the thread: reads the source to its end, or to that of the run."""
        items, add = self._items, self._items.append
        try:
            for item in source:
                add(item)
                if self._is_idle:
                    if self._ended:
                        return
                    self._wake_from_thread()
                if len(items) >= LIMIT and not self._has_room():
                    return
        except BaseException as problem:  # noqa: BLE001 - the reader raises it in the event loop
            self._problem = problem
        self._ended = True
        self._wake_from_thread()

    def _has_room(self) -> bool:
        """Wait for room; false if nobody takes any more."""
        with self._room:
            while len(self._items) > LIMIT // 2 and not self._ended:
                self._room.wait()
        return not self._ended

    def _wake_from_thread(self) -> None:
        self._is_idle = False
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ready.set)

    async def fill_async(self, source: AsyncIterable[Any]) -> None:
        """As `fill`, in the event loop."""
        try:
            async for item in source:
                self._items.append(item)
                self._ready.set()
                while len(self._items) >= LIMIT:
                    self._room_async.clear()
                    await self._room_async.wait()
        except Exception as problem:  # noqa: BLE001 - the reader raises it
            self._problem = problem
        self._ended = True
        self._ready.set()

    async def taken(self) -> AsyncIterator[list[Any]]:
        """Batches of what there is. Raises what the source raised."""
        stopped = asyncio.create_task(self._stop.wait())
        try:
            while not self._stop.is_set():
                if batch := self._batch():
                    yield batch
                elif self._ended and not self._items:
                    break
                else:
                    await self._wait(stopped)
        finally:
            stopped.cancel()
        if self._stop.is_set():  # its state counts what it gave, so that nothing of it is dropped
            self.end()
            while batch := self._batch():
                yield batch
        elif self._problem is not None:
            raise self._problem

    async def _wait(self, stopped: asyncio.Task[Any]) -> None:
        self._ready.clear()
        self._is_idle = True
        if self._items or self._ended:  # came before the source could see that we wait
            self._is_idle = False
            return
        waiting = asyncio.create_task(self._ready.wait())
        await asyncio.wait((waiting, stopped), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        self._is_idle = False

    def _batch(self) -> list[Any]:
        count = min(len(self._items), BATCH_MAX)
        take = self._items.popleft
        batch = [take() for _ in range(count)]
        if batch:
            self._make_room()
        return batch

    def _make_room(self) -> None:
        self._room_async.set()
        if len(self._items) <= LIMIT // 2:
            with self._room:
                self._room.notify()

    def end(self) -> None:
        """Nobody takes any more: a source that waits for room ends."""
        self._ended = True
        self._is_idle = True  # so that the source looks
        with self._room:
            self._room.notify_all()
