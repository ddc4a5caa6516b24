"""Our ends of pipes, read and written on the event loop."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import uvloop


async def reader_of(end: int) -> tuple[asyncio.StreamReader, asyncio.BaseTransport]:
    """Read a file descriptor, which belongs to the transport from here on."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), _file(end, "rb")
    )
    return reader, transport


async def writer_of(end: int) -> asyncio.StreamWriter:
    """Write to a file descriptor, which belongs to the writer from here on."""
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), _file(end, "wb")
    )
    return asyncio.StreamWriter(transport, protocol, None, loop)


def _file(end: int, mode: str) -> Any:
    """A file that asyncio's loop closes, and uvloop does not.

    uvloop closes the descriptor itself, and the file after it (uvloop issue 763). Meanwhile another
    thread may have got the same number: its file would be closed, or it would go on with a file of
    somebody else. A thread that removed the folder of a pod would then remove other folders.
    """
    closes = not isinstance(asyncio.get_running_loop(), uvloop.Loop)
    return os.fdopen(end, mode, buffering=0, closefd=closes)
