"""The end of tasks that somebody has begun."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any


async def end_tasks(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel what still runs and wait for its end; the caller can be cancelled meanwhile.

    Raises what a task raised while it ended.
    """
    unfinished = [task for task in tasks if not task.done()]
    for task in unfinished:
        task.cancel()
    if unfinished:
        await asyncio.wait(unfinished)
    for task in unfinished:
        if not task.cancelled():
            task.result()
