"""How a launch ends whose operator fails: what becomes of the state that it tries to keep."""

from __future__ import annotations

import asyncio

import pytest

from millrace.runtime.clock import SystemClock
from millrace.runtime.endings import StoreFailed
from millrace.runtime.engine import Engine
from millrace.runtime.good_order import GoodOrder
from millrace.runtime.state_names import StateName
from millrace.runtime.stopping import Stopping
from tests.unit.millrace.keeping import MemoryStore

pytestmark = pytest.mark.looptime
NAME = StateName(1, 1, "stopped", 0)


class Tries(Engine):
    """Notes when its nodes try again."""

    def __init__(self) -> None:
        super().__init__([], SystemClock())
        self.times: list[float] = []

    def try_again(self) -> None:
        self.times.append(asyncio.get_running_loop().time())


async def test_a_hand_over_that_begins_as_the_state_is_not_kept_waits_for_no_pause() -> None:
    """It came while the PE was at rest to end, and begins once the PE goes on."""
    order, engine = GoodOrder(Stopping(30.0, saves=True), MemoryStore()), Tries()

    async def not_kept() -> bool:
        order.hurry()
        return False

    began = asyncio.get_running_loop().time()
    order.failing._ask()
    running = asyncio.create_task(order.run(not_kept, engine))
    await asyncio.sleep(0.5)
    running.cancel()
    assert engine.times == [began]


async def test_a_pe_that_is_late_for_a_hand_over_does_not_try_again_to_keep_its_state() -> None:
    """Others have begun without it by then: some would load it, and some have not."""
    stopping, writes = Stopping(30.0, saves=True), list[float]()
    order = GoodOrder(stopping, MemoryStore())

    async def write() -> None:
        writes.append(asyncio.get_running_loop().time())
        raise StoreFailed("it does not answer")

    keeping = asyncio.create_task(order.keep(NAME, write, left=1_000_000))
    await asyncio.sleep(0.5)
    stopping.late.set()
    assert await asyncio.wait_for(keeping, 100) is False
    assert len(writes) == 1
