"""A loop in virtual time looks for threads and sockets before its time jumps, if there are any."""

from __future__ import annotations

import asyncio
import socket
import threading

import pytest

from tests.virtual_time import LOOKS, run_virtually

JUMPS = 10


async def turns() -> int:
    """How many turns a loop makes while its time jumps."""
    loop = asyncio.get_running_loop()
    selector, looks = loop._selector, 0  # type: ignore[attr-defined]
    select = selector.select

    def counted(timeout: float | None) -> object:
        nonlocal looks
        looks += 1
        return select(timeout)

    selector.select = counted
    for _ in range(JUMPS):
        await asyncio.sleep(1)
    return looks


def test_it_looks_for_nobody() -> None:
    assert run_virtually(turns()) <= 4 * JUMPS


@pytest.mark.looptime
async def test_the_loop_of_a_marked_test_does_not_either() -> None:
    assert await turns() <= 4 * JUMPS


def test_it_looks_for_a_thread() -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        assert run_virtually(turns()) >= LOOKS * JUMPS
    finally:
        end.set()
        thread.join()


def test_it_looks_for_a_socket() -> None:
    async def with_socket() -> int:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            asyncio.get_running_loop().add_reader(ours, print)
            try:
                return await turns()
            finally:
                asyncio.get_running_loop().remove_reader(ours)

    assert run_virtually(with_socket()) >= LOOKS * JUMPS
