"""Both sides of a connection are launched again: what is lost, what comes twice, who is refused."""

from __future__ import annotations

import asyncio

import pytest

from millrace.runtime.barriers import Barrier, Origin, Spot
from millrace.runtime.receiving import Receivers
from millrace.runtime.resuming import Position, SavedSender
from millrace.runtime.sending import Limits
from tests.unit.millrace.wiring import ORIGIN, MemoryNetwork, Pair, until

pytestmark = pytest.mark.looptime
FINAL = Barrier("final")


async def test_a_receiver_that_ends_in_good_order_takes_the_rest_in_its_next_launch() -> None:
    async with Pair(MemoryNetwork(), Limits(tuples_max=100)) as pair:
        await pair.send(5)
        await pair.settled()
        pair.receivers.hold([ORIGIN])
        await pair.send(7)
        await asyncio.sleep(0.1)
        await pair.restart_receiver()
        await pair.settled()
        assert pair.got == list(range(12))
        assert pair.sender.counts.lost == 0


async def test_a_receiver_that_sent_bye_and_has_no_state_takes_the_rest() -> None:
    """Without a store the bye is all that the sender knows."""
    async with Pair(MemoryNetwork()) as pair:
        await pair.send(5)
        await pair.settled()
        pair.receivers.hold([ORIGIN])
        await pair.send(7)
        await asyncio.sleep(0.1)
        await pair.receivers.stop()
        await pair.launch_receiver()
        await pair.settled()
        assert pair.got == list(range(12))
        assert pair.sender.counts.lost == 0


async def test_a_receiver_that_ends_before_it_took_anything_sends_bye_all_the_same() -> None:
    async with Pair(MemoryNetwork()) as pair:
        pair.receivers.hold([ORIGIN])
        await until(lambda: pair.sender.is_connected)
        sending = asyncio.create_task(pair.send(5))
        await asyncio.sleep(0)
        await pair.restart_receiver()
        await sending
        await pair.settled()
        assert pair.got == list(range(5))
        assert pair.sender.counts.lost == 0


async def test_what_is_held_does_not_keep_a_seal_from_being_exact() -> None:
    """The first launch knows where its sender begins, though it takes nothing of it."""
    async with Pair(MemoryNetwork()) as pair:
        pair.receivers.hold([ORIGIN])
        await pair.send(5)
        await until(lambda: pair.receivers.positions()[0].is_exact, 1)
        assert pair.receivers.positions()[0].taken == 0


async def test_what_was_on_its_way_to_a_killed_receiver_is_lost_and_counted() -> None:
    async with Pair(MemoryNetwork()) as pair:
        await pair.send(5)
        await pair.settled()
        pair.receivers.hold([ORIGIN])
        await pair.send(7)
        await asyncio.sleep(0.1)
        await pair.kill_receiver()
        await pair.send(3)
        await pair.settled()
        assert pair.got == [0, 1, 2, 3, 4, 12, 13, 14]
        assert pair.sender.counts.lost == 7


async def test_what_a_checkpoint_has_taken_is_not_lost() -> None:
    async with Pair(MemoryNetwork()) as pair:
        await pair.send(5)
        await pair.settled()
        (position,) = pair.receivers.positions()
        pair.receivers.hold([ORIGIN])
        await pair.send(4)
        await pair.send(3)
        await asyncio.sleep(0.1)
        ahead = Position(ORIGIN, (Spot(position.spots[0].epoch, 9),), is_exact=True)
        await pair.kill_receiver((ahead,))  # it was saved, and its acknowledgement did not arrive
        await pair.settled()
        assert pair.sender.counts.lost == 3
        assert pair.sender.counts.tuples_transmitted == 9


async def test_the_seal_of_a_launch_that_nobody_connected_to_is_not_exact() -> None:
    """It began with nothing after a kill, so that it cannot know what the killed one took."""
    async with Pair(MemoryNetwork()) as pair:
        await pair.send(5)
        await pair.settled()
        pair.receivers.hold([ORIGIN])
        await pair.send(7)
        await asyncio.sleep(0.1)
        pair.sender.aim(None, pair.launch)
        await pair.kill_receiver()
        pair.sender.aim(None, pair.launch)
        await pair.restart_receiver()
        await pair.settled()
        assert pair.got == [0, 1, 2, 3, 4]
        assert pair.sender.counts.lost == 7


async def test_a_seal_whose_launch_went_on_is_not_exact() -> None:
    """As that of a hand-over that was superseded, and whose PE was killed later."""
    async with Pair(MemoryNetwork()) as pair:
        await pair.send(5)
        await pair.settled()
        seal = pair.receivers.positions()
        await pair.send(5)
        await pair.settled()
        pair.receivers.hold([ORIGIN])
        await pair.send(7)
        await asyncio.sleep(0.1)
        await pair.kill_receiver()
        await pair.receivers.stop()
        pair.sender.aim(None, pair.launch)
        await pair.launch_receiver(seal, is_exact=True)
        await pair.settled()
        assert pair.sender.counts.lost == 7
        assert pair.got == list(range(10))


async def test_a_sender_that_is_launched_again_sends_what_was_not_acknowledged() -> None:
    async with Pair(MemoryNetwork()) as pair:
        await pair.send(5)
        await pair.settled()
        pair.receivers.hold([ORIGIN])
        await pair.send(7)
        await asyncio.sleep(0.1)
        await pair.restart_sender()
        await pair.send(2)
        pair.receivers.release([ORIGIN])
        await pair.settled()
        assert pair.got == list(range(14))


async def test_a_sender_from_a_checkpoint_does_not_number_new_tuples_as_old_ones() -> None:
    """Its receiver took more than the checkpoint knows; what it sends now is new all the same."""
    async with Pair(MemoryNetwork()) as pair:
        await pair.send(5)
        await pair.settled()
        checkpoint = pair.sender.save()
        await pair.send(5)
        await pair.settled()
        await pair.end_sender()
        pair.launch_sender(checkpoint)
        await pair.send(3)
        await pair.settled()
        assert pair.got == list(range(13))


async def test_frames_of_a_checkpoint_that_a_receiver_has_are_not_sent_again() -> None:
    async with Pair(MemoryNetwork()) as pair:
        pair.receivers.hold([ORIGIN])
        await pair.send(5)
        await asyncio.sleep(0.1)
        checkpoint = pair.sender.save()
        assert len(checkpoint.frames) == checkpoint.written == 1
        pair.receivers.release([ORIGIN])
        await pair.settled()
        await pair.end_sender()
        pair.launch_sender(checkpoint)
        await pair.send(3)
        await pair.settled()
        assert pair.got == list(range(8))


async def test_frames_of_a_checkpoint_do_not_come_twice_when_it_is_loaded_twice() -> None:
    async with Pair(MemoryNetwork()) as pair:
        pair.receivers.hold([ORIGIN])
        await pair.send(5)
        await asyncio.sleep(0.1)
        checkpoint = pair.sender.save()
        pair.receivers.release([ORIGIN])
        await pair.settled()
        for _ in range(3):
            await pair.end_sender()
            pair.launch_sender(checkpoint)
            await pair.send(3)
            await pair.settled()
            pair.network.cut()
            await until(lambda: pair.sender.is_connected)
        assert pair.got == list(range(14))


async def test_lost_frames_of_a_checkpoint_do_not_come_after_all_when_it_is_loaded_twice() -> None:
    """A receiver that was killed has taken them, and its next launch does not know it."""
    async with Pair(MemoryNetwork()) as pair:
        pair.receivers.hold([ORIGIN])
        await pair.send(5)
        await asyncio.sleep(0.1)
        checkpoint = pair.sender.save()
        pair.receivers.release([ORIGIN])
        await pair.settled()
        await pair.end_sender()
        await pair.kill_receiver()
        for _ in range(2):
            pair.launch_sender(checkpoint)
            await pair.send(3)
            await pair.settled()
            await pair.end_sender()
        assert pair.got == list(range(11))
        assert pair.lost == 5


async def test_the_rest_of_a_frame_that_is_taken_in_part_is_delivered() -> None:
    async with Pair(MemoryNetwork()) as pair:
        await pair.receivers.stop()
        await pair.send(5)
        spot = Spot(pair.sender.save().epoch, 3)
        await pair.launch_receiver((Position(ORIGIN, (spot,), is_exact=True),), is_exact=True)
        await pair.settled()
        assert pair.got == [3, 4]


async def test_a_sender_that_was_frozen_and_wakes_is_refused() -> None:
    async with Pair(MemoryNetwork()) as pair:
        await pair.send(5)
        await pair.settled()
        frozen, run = pair.sender, pair._run
        pair.launch_sender(frozen.save(final=True))
        await pair.send(2)
        await pair.settled()
        await frozen.send([100, 101])
        await until(lambda: "has a newer connection" in str(frozen.trouble))
        await pair.send(2)
        await pair.settled()
        assert pair.got == list(range(9))
        frozen.close()
        assert run is not None
        await run


async def test_an_older_launch_at_a_reused_address_is_refused() -> None:
    async with Pair(MemoryNetwork()) as pair:
        await pair.send(5)
        await pair.settled()
        pair.sender.aim("receiver-1", 2)
        await pair.sender.send([5])
        await until(lambda: "it is launch 1, and 2 is the newest" in str(pair.sender.trouble))
        assert not pair.sender.is_connected
        assert pair.got == list(range(5))
        pair.sender.aim("receiver-1", 1)  # old news
        await asyncio.sleep(5)
        assert not pair.sender.is_connected


async def test_an_older_launch_is_left_as_soon_as_a_newer_one_is_known() -> None:
    async with Pair(MemoryNetwork()) as pair:
        await pair.send(5)
        await pair.settled()
        old = pair.receivers
        old.hold([ORIGIN])  # frozen
        await pair.launch_receiver(old.positions(), is_exact=True)
        await pair.send(5)
        await pair.settled()
        assert pair.got == list(range(10))
        assert not old.is_connected(ORIGIN)
        await old.stop()


async def test_a_receiver_without_an_address_keeps_its_connection() -> None:
    """A lost gateway stops nothing that runs."""
    async with Pair(MemoryNetwork()) as pair:
        await pair.send(5)
        await pair.settled()
        pair.sender.aim(None, 1)
        await pair.send(5)
        await pair.settled()
        assert pair.network.connections == 1
        pair.network.cut()
        await until(lambda: "no address" in str(pair.sender.trouble))
        pair.aim()
        await pair.send(5)
        await pair.settled()
        assert pair.got == list(range(15))
        assert pair.sender.counts.broken == 1


async def test_a_final_barrier_comes_again_to_a_launch_that_did_not_see_it() -> None:
    async with Pair(MemoryNetwork()) as pair:
        await pair.send(5)
        await pair.sender.take_barrier(FINAL)
        await pair.sender.take_barrier(FINAL)
        await pair.settled()
        assert pair.barriers == [(FINAL, 5)]
        await pair.restart_receiver()
        await pair.restart_sender()
        await asyncio.sleep(1)
        assert pair.barriers == [(FINAL, 5)]
        await pair.kill_receiver()
        await until(lambda: len(pair.barriers) == 2)
        await pair.settled()
        assert pair.barriers == [(FINAL, 5), (FINAL, 5)]


async def test_barriers_that_end_a_generation_survive_the_receiver_that_they_were_sent_to() -> None:
    async with Pair(MemoryNetwork()) as pair:
        await pair.send(1)
        await pair.settled()
        pair.receivers.hold([ORIGIN])
        await pair.sender.take_barrier(Barrier("window"))
        await pair.send(2)
        await pair.sender.take_barrier(Barrier("hand-over", 4))
        await asyncio.sleep(0.1)
        await pair.kill_receiver()
        await pair.send(1)
        await pair.settled()
        assert pair.got == [0, 3]
        assert pair.barriers == [(Barrier("hand-over", 4), 1)]
        assert pair.sender.counts.lost == 2


async def test_what_is_held_stays_and_goes_on_when_it_is_released() -> None:
    async with Pair(MemoryNetwork()) as pair:
        pair.receivers.hold([ORIGIN])
        await pair.send(5)
        pair.network.cut()
        await asyncio.sleep(60)
        await pair.send(5)
        await asyncio.sleep(60)
        assert pair.got == []
        assert pair.receivers.positions()[0].taken == 0
        assert pair.sender.is_connected
        pair.receivers.release([ORIGIN])
        await pair.settled()
        assert pair.got == list(range(10))


async def test_a_new_connection_waits_for_what_the_old_one_delivers() -> None:
    """Otherwise the answer would not count it, and it would come twice."""
    async with Pair(MemoryNetwork()) as pair:
        pair.pause_s = 120
        await pair.send(5)
        await asyncio.sleep(1)
        pair.network.cut()
        await asyncio.sleep(60)
        assert pair.network.connections == 2
        pair.pause_s = 0
        await pair.settled()
        assert pair.got == list(range(5))
        assert pair.sender.counts.lost == 0


async def test_a_delivery_that_does_not_end_is_not_counted_when_the_receiver_stops() -> None:
    async with Pair(MemoryNetwork()) as pair:
        pair.pause_s = 1_000
        await pair.send(5)
        await asyncio.sleep(1)
        await pair.receivers.stop(within_s=2)
        assert pair.receivers.positions()[0].taken == 0
        pair.pause_s = 0
        await pair.launch_receiver(pair.receivers.positions(), is_exact=True)
        await pair.settled()
        assert pair.got == list(range(5))


async def test_a_saved_sender_and_positions_of_other_origins_are_ignored() -> None:
    async with Pair(MemoryNetwork()) as pair:
        foreign = Position(Origin(9, 9, 9), (Spot("epoch", 5),), is_exact=True)
        await pair.receivers.stop()
        await pair.launch_receiver((foreign,), is_exact=True)
        await pair.send(2)
        await pair.settled()
        assert [each.origin for each in pair.receivers.positions()] == [ORIGIN]
        assert isinstance(pair.sender.save(), SavedSender)


async def test_a_position_that_was_not_exact_is_not_exact_because_a_seal_has_it() -> None:
    """Nobody connected to the launch that sealed, so it stands where the launch before it stood."""

    async def deliver(_: Origin, __: object) -> None:
        """Never called."""

    saved = (Position(ORIGIN, (Spot("epoch", 7),), is_exact=False),)
    receivers = Receivers(1, 2, 3, {0: bytes}, {ORIGIN}, deliver, saved=saved, is_exact=True)  # type: ignore[dict-item]
    assert receivers.positions() == saved
