"""Several coroutines at once; each has to succeed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any


async def together(*work: Coroutine[Any, Any, Any]) -> None:
    """Run coroutines concurrently; if one fails, cancel the others and raise its exception."""
    tasks: Sequence[asyncio.Task[Any]] = [asyncio.ensure_future(one) for one in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
