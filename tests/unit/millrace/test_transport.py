"""Tuples between two PEs arrive in order and exactly once, wherever connections break."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest

from millrace.runtime.barriers import Barrier
from millrace.runtime.sending import Limits
from tests.unit.millrace.wiring import ORIGIN, MemoryNetwork, Pair, until

pytestmark = pytest.mark.looptime


async def test_tuples_and_barriers_arrive_in_their_order() -> None:
    async with Pair(MemoryNetwork()) as pair:
        await pair.send(3)
        await pair.sender.take_barrier(Barrier("window"))
        await pair.send(2)
        await pair.sender.take_barrier(Barrier("hand-over", 5))
        await pair.settled()
        assert pair.got == [0, 1, 2, 3, 4]
        assert pair.barriers == [(Barrier("window"), 3), (Barrier("hand-over", 5), 5)]
        assert pair.sender.counts.tuples_transmitted == 5
        assert pair.receivers.tuples(ORIGIN) == 5
        assert pair.receivers.is_connected(ORIGIN)


async def test_a_connection_cut_at_any_byte_loses_and_doubles_nothing() -> None:
    """Every byte of hello, of frames and of acknowledgements, in both directions."""
    for direction in (0, 1):
        for at in range(1, 330):
            cut = (at, None) if direction == 0 else (None, at)
            async with Pair(MemoryNetwork([cut, cut])) as pair:
                for count in (1, 2, 3):
                    await pair.send(count)
                    await pair.sender.take_barrier(Barrier("window"))
                    await asyncio.sleep(0)
                await pair.settled()
                assert pair.got == list(range(6)), (direction, at)
                assert [at for _, at in pair.barriers] == [1, 3, 6], (direction, at)
                assert pair.sender.counts.lost == 0


@pytest.mark.parametrize("seed", [*range(12), 1048, 2008])  # two that found something
async def test_random_cuts_and_restarts_in_good_order_lose_and_double_nothing(seed: int) -> None:
    random = Random(seed)
    cuts = [(random.randint(30, 9_000), random.choice([None, random.randint(90, 900)]))] * 40
    network = MemoryNetwork(cuts, random)
    async with Pair(network, Limits(tuples_max=500)) as pair:
        while pair.sent < 10_000:
            await pair.send(random.randint(1, min(100, 10_000 - pair.sent)))
            await _something(pair, random)
        await pair.settled()
        await pair.restart_sender()
        assert pair.got == list(range(10_000))
        assert pair.lost == 0


async def _something(pair: Pair, random: Random) -> None:
    match random.randint(0, 60):
        case 0:
            pair.network.cut()
        case 1:
            await pair.restart_receiver()
        case 2:
            await pair.restart_sender()
        case 3:
            pair.receivers.hold([ORIGIN])
            await asyncio.sleep(random.random())
            pair.receivers.release([ORIGIN])
        case 4:
            pair.pause_s = random.choice([0.0, 0.01])
        case 5:
            await asyncio.sleep(random.random() * 15)
        case 6:
            saved = await pair.end_sender()
            await pair.restart_receiver()
            pair.launch_sender(saved)


@pytest.mark.parametrize("seed", range(12))
async def test_random_kills_double_nothing_and_lose_what_is_counted(seed: int) -> None:
    """A killed receiver passes on what it took; what was on the way to it is counted as lost."""
    random = Random(seed)
    async with Pair(MemoryNetwork(random=random), Limits(tuples_max=500)) as pair:
        while pair.sent < 10_000:
            await pair.send(random.randint(1, min(100, 10_000 - pair.sent)))
            if random.random() < 0.03:
                pair.pause_s = random.choice([0.0, 0.01])
                await pair.kill_receiver(random.choice([(), pair.receivers.positions()]))
            await _something(pair, random)
        await pair.settled()
        await pair.restart_sender()
        assert pair.got == sorted(set(pair.got))
        missing = 10_000 - len(pair.got)
        assert missing <= pair.lost
        assert (missing > 0) or pair.lost >= 0


@pytest.mark.parametrize("seed", range(12))
async def test_random_kills_of_both_sides_double_nothing(seed: int) -> None:
    """A sender is launched from its newest checkpoint, which may be old, or from nothing."""
    random = Random(seed)
    checkpoint = None
    async with Pair(MemoryNetwork(random=random), Limits(tuples_max=500)) as pair:
        while pair.sent < 10_000:
            await pair.send(random.randint(1, min(100, 10_000 - pair.sent)))
            match random.randint(0, 90):
                case 0 | 1:
                    checkpoint = pair.sender.save()
                case 2 | 3 | 4:
                    await pair.end_sender()
                    pair.launch_sender(checkpoint)
                case 5 | 6:
                    pair.pause_s = random.choice([0.0, 0.01])
                    await pair.kill_receiver(random.choice([(), pair.receivers.positions()]))
                case 7:
                    await pair.restart_receiver()
                case 8:
                    pair.network.cut()
                case 9:
                    await pair.restart_sender()
                    checkpoint = None
                case 10:
                    await asyncio.sleep(random.random() * 5)
        await pair.settled()
        assert pair.got == sorted(set(pair.got))


async def test_a_slow_receiver_makes_the_sender_wait() -> None:
    async with Pair(MemoryNetwork(), Limits(tuples_max=100)) as pair:
        pair.receivers.hold([ORIGIN])
        sending = asyncio.create_task(_send_many(pair))
        await asyncio.sleep(5)
        assert pair.sent <= 120
        assert pair.sender.congestion == 1.0
        pair.receivers.release([ORIGIN])
        await sending
        await pair.settled()
        assert pair.got == list(range(1_000))
        assert pair.sender.congestion == 0.0


async def _send_many(pair: Pair) -> None:
    for _ in range(100):
        await pair.send(10)


async def test_a_connection_without_traffic_stays() -> None:
    async with Pair(MemoryNetwork()) as pair:
        await pair.send(1)
        await asyncio.sleep(300)
        await pair.send(1)
        await pair.settled()
        assert pair.network.connections == 1


async def test_a_peer_that_says_nothing_any_more_is_noticed_within_ten_seconds() -> None:
    async with Pair(MemoryNetwork()) as pair:
        await pair.send(1)
        await pair.settled()
        for end in pair.network.ends:
            end.is_stuck = True
        await until(lambda: pair.network.connections > 1, 10.5)
        await pair.send(1)
        await pair.settled()
        assert pair.got == [0, 1]


async def test_acknowledgements_are_fewer_than_frames_when_many_come() -> None:
    async with Pair(MemoryNetwork()) as pair:
        await pair.send(1)
        await pair.settled()
        acks = _count_acks(pair)
        for _ in range(500):
            await pair.send(1)
        await pair.settled()
        assert acks[0] < 50
        acks[0] = 0
        await pair.send(1)
        await asyncio.sleep(0.004)
        assert acks[0] == 1  # at once: nothing else comes


def _count_acks(pair: Pair) -> list[int]:
    counted = [0]
    hear = pair.sender._hear

    def counting(frame: Any) -> None:
        counted[0] += 1
        hear(frame)

    pair.sender._hear = counting  # type: ignore[method-assign]
    return counted


async def test_tuples_that_wait_together_go_in_one_write() -> None:
    async with Pair(MemoryNetwork()) as pair:
        await pair.send(1)
        await pair.settled()
        writes = 0
        (end,) = [each for each in pair.network.ends if each.wire is pair.sender._wire]
        write = end.writelines

        def counting(parts: Any) -> None:
            nonlocal writes
            writes += 1
            write(parts)

        end.writelines = counting  # type: ignore[method-assign]
        for _ in range(50):
            await pair.send(1)
        await pair.settled()
        assert writes == 1
