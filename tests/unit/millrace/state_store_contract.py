"""What every store of states keeps to; its tests are run with each of them."""

from __future__ import annotations

import asyncio

import pytest

from millrace.runtime.state_names import StateName
from millrace.runtime.state_stores import StateDiffers, StateMissing, StateStore

SEAL = StateName(4, 2, "handover", 5)
STOPPED = StateName(4, 2, "stopped")
FIRST = StateName(4, 1, "checkpoint", 9)
SECOND = StateName(4, 2, "checkpoint", 10)
OTHER = StateName(40, 1, "stopped")


class StoreContract:
    """Subclasses have a fixture `store`."""

    async def test_a_state_is_read_as_it_was_written(self, store: StateStore) -> None:
        data = bytes(range(256)) * 1_000
        await store.write(SEAL, data)
        assert await store.read(SEAL) == data

    async def test_an_empty_state_is_a_state(self, store: StateStore) -> None:
        await store.write(SEAL, b"")
        assert await store.read(SEAL) == b""

    async def test_equal_bytes_may_be_written_again_and_others_never(
        self, store: StateStore
    ) -> None:
        await store.write(SEAL, b"first")
        await store.write(SEAL, b"first")
        with pytest.raises(StateDiffers, match=r"pe-4/launch-2/handover-5\.state"):
            await store.write(SEAL, b"second")
        assert await store.read(SEAL) == b"first"

    async def test_names_are_those_of_the_pe_from_the_oldest(self, store: StateStore) -> None:
        for name in (STOPPED, SECOND, OTHER, SEAL, FIRST):
            await store.write(name, b"x")
        assert await store.names(4) == (FIRST, SEAL, SECOND, STOPPED)
        assert await store.names(40) == (OTHER,)
        assert await store.names(5) == ()

    async def test_a_state_that_is_not_there_is_missing(self, store: StateStore) -> None:
        with pytest.raises(StateMissing, match="launch-2/stopped"):
            await store.read(STOPPED)

    async def test_what_nobody_needs_is_removed(self, store: StateStore) -> None:
        names = [StateName(4, 2, "checkpoint", number) for number in range(5)]
        for name in (FIRST, *names, OTHER):
            await store.write(name, b"x")
        assert await store.remove_older(4, None) == 4
        assert await store.names(4) == tuple(names[3:])
        assert await store.names(40) == (OTHER,)
        assert await store.remove_older(4, None) == 0
        assert await store.remove_older(5, None) == 0

    async def test_all_states_of_a_pe_are_removed_and_those_of_others_stay(
        self, store: StateStore
    ) -> None:
        assert await store.pes() == ()
        for name in (FIRST, SEAL, STOPPED, OTHER):
            await store.write(name, b"x")
        assert await store.pes() == (4, 40)
        await store.remove_all(4)
        await store.remove_all(5)
        assert await store.pes() == (40,)
        assert await store.names(4) == ()
        assert await store.read(OTHER) == b"x"

    async def test_states_written_at_once_are_all_there(self, store: StateStore) -> None:
        names = [StateName(4, 2, "checkpoint", number) for number in range(20)]
        await asyncio.gather(*(store.write(name, name.path.encode()) for name in names))
        assert await store.names(4) == tuple(names)
        assert await asyncio.gather(*map(store.read, names)) == [
            name.path.encode() for name in names
        ]
