"""What takes its time, and is given up when something else happens."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def first_of(*things: Coroutine[Any, Any, object]) -> None:
    """Return when one of them is done; the others are given up. Raises what that one raises."""
    tasks = [asyncio.ensure_future(each) for each in things]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            each.result()
    finally:
        for each in tasks:
            each.cancel()


async def unless(over: Coroutine[Any, Any, object], making: Coroutine[Any, Any, T]) -> T | None:
    """What is made, or None if `over` ends before. Raises what `making` raises."""
    made, ended = asyncio.ensure_future(making), asyncio.ensure_future(over)
    try:
        await asyncio.wait((made, ended), return_when=asyncio.FIRST_COMPLETED)
        return await made if made.done() else None
    finally:
        for task in (made, ended):
            task.cancel()
