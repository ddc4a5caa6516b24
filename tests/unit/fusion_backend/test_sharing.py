"""Fetches share: each namespace has its turn, and what several want at once is done once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import nullcontext

import pytest

from services.fusion_backend.adapters.bundles.sharing import FairSlots, SharedWork, Work


async def turns() -> None:
    """Let everybody go on until all of them wait."""
    for _ in range(10):
        await asyncio.sleep(0)


class Queue:
    """Parties that hold slots until they are reported to give them back."""

    def __init__(self, total: int, share: int) -> None:
        self.slots = FairSlots(total, share)
        self.holding: list[str] = []
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self._ends: dict[str, asyncio.Event] = {}

    async def wants(self, *names: str) -> None:
        """Somebody wants a slot, whose party is the first letter."""
        for name in names:
            self._ends[name] = asyncio.Event()
            self.tasks[name] = asyncio.create_task(self._hold(name))
        await turns()

    async def _hold(self, name: str) -> None:
        async with self.slots.of(name[0]):
            self.holding.append(name)
            await self._ends[name].wait()
        self.holding.remove(name)

    async def ends(self, name: str) -> None:
        self._ends[name].set()
        await turns()

    async def everybody_ends(self) -> None:
        for name in self._ends:
            await self.ends(name)
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)


async def test_a_party_has_no_more_than_its_share_and_others_go_on() -> None:
    """Jobs that all ask one slow server wait for each other, and for nobody else's."""
    queue = Queue(total=4, share=2)
    await queue.wants("a1", "a2", "a3", "a4", "b1")
    assert queue.holding == ["a1", "a2", "b1"]
    await queue.ends("a1")
    assert queue.holding == ["a2", "b1", "a3"]
    await queue.everybody_ends()
    assert queue.holding == []


async def test_a_free_slot_goes_to_who_has_fewest() -> None:
    queue = Queue(total=3, share=3)
    await queue.wants("a1", "a2", "a3", "a4", "b1", "c1")
    assert queue.holding == ["a1", "a2", "a3"]
    await queue.ends("a1")
    await queue.ends("a2")
    assert queue.holding == ["a3", "b1", "c1"]
    await queue.everybody_ends()


async def test_of_those_that_have_as_few_each_has_its_turn() -> None:
    """A namespace that never stops asking took every slot that it gave back."""
    queue = Queue(total=1, share=1)
    await queue.wants("a1", "a2", "a3", "b1", "b2", "c1")
    order = []
    while queue.holding:
        order.append(queue.holding[0])
        await queue.ends(order[-1])
    assert order == ["a1", "a2", "b1", "c1", "a3", "b2"]


async def test_who_gives_up_waiting_or_working_leaves_its_place_to_others() -> None:
    queue = Queue(total=1, share=1)
    await queue.wants("a1", "b1", "c1")
    queue.tasks["b1"].cancel()
    await turns()
    queue.tasks["a1"].cancel()
    await turns()
    assert "c1" in queue.holding
    await queue.wants("d1")
    await queue.ends("c1")
    assert queue.holding[-1] == "d1"
    await queue.everybody_ends()


async def test_a_slot_that_is_given_to_somebody_who_gives_up_is_not_lost() -> None:
    """It is handed out and cancelled in the same turn of the event loop."""
    queue = Queue(total=1, share=1)
    await queue.wants("a1", "b1")
    queue._ends["a1"].set()
    await asyncio.sleep(0)
    queue.tasks["b1"].cancel()
    await turns()
    await queue.wants("c1")
    assert queue.holding == ["c1"]
    await queue.everybody_ends()


class Counted:
    """Work that is counted, and ends when it is reported to."""

    def __init__(self) -> None:
        self.begun = 0
        self.stopped = 0
        self.gate = asyncio.Event()
        self.result: str | Exception = "done"

    async def do(self, work: Work[str]) -> str:
        work.has_begun = True
        self.begun += 1
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.stopped += 1
            raise
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


async def both(first: Awaitable[str], second: Awaitable[str], counted: Counted) -> list[object]:
    """Two ask, one after the other, before it ends."""
    tasks = [asyncio.ensure_future(first), asyncio.ensure_future(second)]
    await turns()
    counted.gate.set()
    return list(await asyncio.gather(*tasks, return_exceptions=True))


@pytest.mark.parametrize("result", ["done", ValueError("no")])
async def test_what_two_want_is_done_once_and_both_have_its_end(result: str | Exception) -> None:
    shared: SharedWork[str, str] = SharedWork()
    counted = Counted()
    counted.result = result
    first = shared.of("k", counted.do, may_be_begun=True)
    second = shared.of("k", counted.do, may_be_begun=True)
    assert await both(first, second, counted) == [result, result]
    assert counted.begun == 1
    with pytest.raises(ValueError, match="no") if isinstance(result, Exception) else nullcontext():
        assert await shared.of("k", counted.do, may_be_begun=True) == "done"
    assert counted.begun == 2, "what is over is done again"


async def test_what_began_before_we_asked_is_not_enough_where_the_newest_is_wanted() -> None:
    """A bundle that was replaced while somebody fetched the old one."""
    shared: SharedWork[str, str] = SharedWork()
    counted = Counted()
    first = shared.of("k", counted.do, may_be_begun=False)
    second = shared.of("k", counted.do, may_be_begun=False)
    early = asyncio.ensure_future(first)
    await turns()
    assert await both(early, second, counted) == ["done", "done"]
    assert counted.begun == 2


async def test_it_stops_when_the_last_who_wants_it_is_gone_and_not_before() -> None:
    shared: SharedWork[str, str] = SharedWork()
    counted = Counted()
    tasks = [asyncio.create_task(shared.of("k", counted.do, may_be_begun=True)) for _ in range(2)]
    await turns()
    tasks[0].cancel()
    await turns()
    assert counted.stopped == 0
    tasks[1].cancel()
    await turns()
    assert counted.stopped == 1
    counted.gate.set()
    assert await shared.of("k", counted.do, may_be_begun=True) == "done"
