"""A file descriptor of a pipe is closed once: its number may belong to another thread by then."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager

import pytest
import uvloop

from sandbox.containers.pipes import reader_of, writer_of

LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
TIMES = 300


@contextmanager
def thread_that_opens_files() -> Iterator[None]:
    """Files that it opened are open until it closes them. The numbers that are free come first."""
    ends, problems = threading.Event(), list[OSError]()

    def open_and_close() -> None:
        while not ends.is_set():
            file = os.open(os.devnull, os.O_RDONLY)
            time.sleep(0)
            try:
                os.close(file)
            except OSError as problem:
                problems.append(problem)

    thread = threading.Thread(target=open_and_close)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # or the thread seldom runs between two closes
    thread.start()
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        ends.set()
        thread.join()
    assert problems == []


async def read_some() -> None:
    for _ in range(TIMES):
        ours, theirs = os.pipe()
        reader, transport = await reader_of(ours)
        os.write(theirs, b"all")
        os.close(theirs)
        assert await reader.read() == b"all"
        transport.close()
        await asyncio.sleep(0)


async def write_some() -> None:
    for _ in range(TIMES):
        theirs, ours = os.pipe()
        writer = await writer_of(ours)
        writer.write(b"all")
        await writer.drain()
        assert os.read(theirs, 100) == b"all"
        writer.close()
        os.close(theirs)
        await asyncio.sleep(0)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("use", [read_some, write_some], ids=["read", "written"])
def test_an_end_of_a_pipe_is_closed_once(
    loop: str, use: Callable[[], Coroutine[None, None, None]]
) -> None:
    """Neither is another file closed, nor is a descriptor left open."""
    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        before = len(os.listdir("/dev/fd"))
        with thread_that_opens_files():
            runner.run(use())
        assert len(os.listdir("/dev/fd")) <= before + 3, "more are open than a loop needs"
