"""However watch-ingest ends, no part of it goes on."""

from __future__ import annotations

import asyncio

import pytest

from services.chassis.process.tasks import end_tasks
from tests.virtual_time import virtually


@virtually
async def test_any_is_killed_while_its_tasks_come_to_their_end_ends_too() -> None:
    """A kill that is lost would leave two instances that speak."""

    async def takes_time_to_end() -> None:
        try:
            await asyncio.sleep(100.0)
        finally:
            await asyncio.sleep(1.0)

    task = asyncio.create_task(takes_time_to_end())
    await asyncio.sleep(0.1)
    ending = asyncio.create_task(end_tasks([task]))
    await asyncio.sleep(0.5)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    await asyncio.wait({task})
