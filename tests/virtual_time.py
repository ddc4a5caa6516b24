"""Runs a test on an event loop whose time jumps to the next timer: minutes cost nothing."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import looptime

T = TypeVar("T")


LOOKS = 42
"""How often the loop looks what threads and sockets did before its time jumps, by looptime."""


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
