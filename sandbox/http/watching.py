"""From a watch of the store to the chunks of a stream.

A store's watch never waits; here its `on_ready` sets an asyncio event, and that is all the waiting
there is: nothing polls. Two timers of the loop end the stream and say how far it has come.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from sandbox.http.answers import WatchAnswer

BOOKMARK_INTERVAL_S = 60.0


async def chunks(answer: WatchAnswer) -> AsyncIterator[bytes]:
    """Every line of the watch, several at once when several events wait.

    Ends at the time-out of the watch (with a bookmark, if it wanted bookmarks) or when the watch
    is closed; closes the watch in any case.
    """
    watch = answer.watch
    ready = asyncio.Event()
    watch.on_ready = ready.set
    timers = _Timers(answer)
    try:
        while True:
            if events := watch.take():
                yield b"".join([answer.line(event) for event in events])
                continue  # the consumer may have been slow: look again before waiting
            if watch.closed:
                return
            ready.clear()
            await ready.wait()
    finally:
        timers.cancel()
        watch.on_ready = None
        watch.close()


class _Timers:
    """The bookmarks about every minute, and the end of the stream."""

    def __init__(self, answer: WatchAnswer) -> None:
        loop = asyncio.get_running_loop()
        self._watch = answer.watch
        self._end = loop.call_later(answer.timeout_s, self._finish)
        self._next: asyncio.TimerHandle | None = None
        if answer.bookmarks:
            self._next = loop.call_later(BOOKMARK_INTERVAL_S, self._bookmark)

    def cancel(self) -> None:
        self._end.cancel()
        if self._next is not None:
            self._next.cancel()

    def _bookmark(self) -> None:
        self._watch.offer_bookmark()
        loop = asyncio.get_running_loop()
        self._next = loop.call_later(BOOKMARK_INTERVAL_S, self._bookmark)

    def _finish(self) -> None:
        self._watch.offer_bookmark()
        self._watch.close()
