"""What a sender does after it has saved the last state of its launch."""

from __future__ import annotations

import asyncio

import pytest

from tests.unit.millrace.wiring import MemoryNetwork, Pair

pytestmark = pytest.mark.looptime


async def test_a_sender_that_has_saved_its_last_state_writes_nothing_more() -> None:
    """Or its next launch sends again what a receiver took that was killed meanwhile."""
    async with Pair(MemoryNetwork()) as pair:
        await pair.send(5)
        await pair.settled()
        await pair.send(7)
        saved = pair.sender.save(final=True)
        await asyncio.sleep(0.1)
        await pair.kill_receiver()
        await pair.end_sender()
        pair.launch_sender(saved)
        await pair.settled()
        assert pair.got == list(range(12))
        assert pair.sender.counts.lost == 0


async def test_a_sender_whose_last_state_was_not_the_last_goes_on() -> None:
    async with Pair(MemoryNetwork()) as pair:
        await pair.send(5)
        pair.sender.save(final=True)
        await asyncio.sleep(0.1)
        assert not pair.got
        pair.sender.go_on()
        await pair.settled()
        assert pair.got == list(range(5))
