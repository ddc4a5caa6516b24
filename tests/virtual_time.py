"""Runs a test on an event loop whose time jumps to the next timer: minutes cost nothing.

Before its time jumps, the loop looks LOOKS times what threads and sockets did, as looptime has it.
That is most of what such a test costs. So here it looks only where there is somebody to look for:
nothing comes to a loop that has no file but its own, in a process without other threads. What the
executor of a loop runs does not count, since the loop waits for it.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

import looptime
from looptime import LoopTimeEventLoop

T = TypeVar("T")

LOOKS: Final = 42
"""How often the loop looks what threads and sockets did before its time jumps, by looptime."""
_OF_RUNNER: Final = set[threading.Thread]()
"""Threads of the test runner and its plugins, which know no loop of a test."""
_SILENT: Final = ("asyncio_", "millrace-")
"""So names of threads begin that give a loop nothing: its own executor's, and who watches it."""


def note_threads_of_runner() -> None:
    """Those that are there now, before any test, give no loop anything."""
    _OF_RUNNER.update(threading.enumerate())


class _Looks:
    """The attribute of a loop that says how often it looks, as often as it is about to."""

    def __get__(self, loop: Any, _: object = None) -> int:
        return loop.__dict__["_looks"] if _has_outside(loop) else 0

    def __set__(self, loop: Any, looks: int) -> None:
        loop.__dict__["_looks"] = looks


def _has_outside(loop: Any) -> bool:
    """Whether a thread or a file may have something for a loop."""
    return len(loop._selector.get_map()) > 1 or any(
        each not in _OF_RUNNER and not each.name.startswith(_SILENT)
        for each in threading.enumerate()
    )


LoopTimeEventLoop._LoopTimeEventLoop__noop_cycles = _Looks()  # type: ignore[attr-defined]


def run_virtually(test: Coroutine[Any, Any, T], *, looks: int = LOOKS) -> T:
    """Run a test on a loop of its own, from time 0 on; tasks that it leaves are cancelled.

    `looks` may be 0 where nothing outside of the loop takes part but what executors run, which the
    loop waits for: looking is most of what such a test costs.
    """
    loop = looptime.new_event_loop(start=0, noop_cycles=looks)
    try:
        return loop.run_until_complete(test)
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def virtually(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Make a synchronous test of a coroutine function."""

    @functools.wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        run_virtually(test(*arguments, **named))

    # pytest-asyncio would take the coroutine function behind the wrapper for the test.
    del run.__dict__["__wrapped__"]
    run.__dict__["__signature__"] = inspect.signature(test)
    return run
