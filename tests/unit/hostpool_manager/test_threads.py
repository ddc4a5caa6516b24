"""Searches run in threads of their own: the event loop goes on, and exceptions are raised."""

from __future__ import annotations

import threading

import pytest

from services.hostpool_manager.adapters.searching import in_a_thread


async def test_the_result_of_a_thread_comes_back_to_the_event_loop() -> None:
    here = threading.get_ident()
    assert await in_a_thread(threading.get_ident) != here


async def test_an_exception_in_a_thread_is_raised_where_it_is_awaited() -> None:
    def fail() -> int:
        raise ValueError("seven")

    with pytest.raises(ValueError, match="seven"):
        await in_a_thread(fail)


async def test_the_end_of_the_process_does_not_wait_for_a_search() -> None:
    assert await in_a_thread(lambda: threading.current_thread().daemon)
