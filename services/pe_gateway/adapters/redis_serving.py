"""Speaks the protocol of redis (RESP 2 and 3), as far as it takes to give a PE its bundle.

`HGET apps NAME` is what the image of the original sends, and `HELLO` what newer clients begin with.
`HEXISTS apps NAME`, `PING` and `QUIT` are for people who look. Every other command is refused:
nothing is kept here. What a connection may send, how long it may take and how many there are is
bounded, and so are the bundles that are sent at a time.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Final

from services.chassis.process.log_lines import log_of
from services.pe_gateway.core.answers import Answer
from services.pe_gateway.core.bundle_requests import NAME_CHARS_MAX

OFF: Final = 0
HASH: Final = b"apps"
RESP3: Final = 3
CONNECTIONS_MAX: Final = 10_000
SENDS_MAX: Final = 64
"""Bundles that are sent at a time; others wait in line."""
IDLE_S_MAX: Final = 75.0
COMMAND_S_MAX: Final = 5.0
"""From the first byte of a command to its last."""
PIECE_S_MAX: Final = 30.0
"""How long a client may take nothing of what is sent."""
PIECE_BYTES: Final = 256 * 1024
WORDS_MAX: Final = 16
WORD_BYTES_MAX: Final = 1024
_LINE_BYTES_MAX: Final = 32

Find = Callable[[str, str], Awaitable[Answer]]
"""The answer to who asks for the bundle of a name, from an address."""
ServeBundles = Callable[[Find], AbstractAsyncContextManager[None]]


def redis_serving(port: int, host: str) -> ServeBundles:
    """Serves on one address or on all of them while a context lasts; port 0 serves nothing."""
    return partial(_serve, port, host)


@asynccontextmanager
async def _serve(port: int, host: str, find: Find) -> AsyncIterator[None]:
    if port == OFF:
        yield
        return
    server = _Server(find)
    listening = await asyncio.start_server(server.talk, host or None, port, backlog=1024)
    log_of("redis_serving").info("serving_bundles", port=port)
    try:
        yield
    finally:
        listening.close()
        await server.close()


class _Malformed(Exception):
    """What was sent is no command of this protocol, or too much for one."""


@dataclass(slots=True)
class _Connection:
    """Where the client is, and which version of the protocol it chose."""

    address: str
    writer: asyncio.StreamWriter
    version: int = 2

    def null(self) -> bytes:
        """The reply for what is not there."""
        return b"_\r\n" if self.version == RESP3 else b"$-1\r\n"


class _Server:
    def __init__(self, find: Find) -> None:
        self._find = find
        self._talking: set[asyncio.Task[None]] = set()
        self._sends = asyncio.Semaphore(SENDS_MAX)

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until it ends."""
        task = asyncio.current_task()
        assert task is not None, "a connection is a task"
        self._talking.add(task)
        try:
            if len(self._talking) <= CONNECTIONS_MAX:
                await self._talk(reader, writer)
        except TimeoutError:
            writer.transport.abort()  # to close it would wait for the client, and nobody counts it
        except (OSError, asyncio.IncompleteReadError):
            pass  # it went away
        except asyncio.CancelledError:
            pass  # of `close`; asyncio takes a connection that is cancelled for a defect
        except Exception:  # noqa: BLE001 - a defect concerns this connection only
            log_of("redis_serving").exception("connection_crashed")
        finally:
            self._talking.discard(task)
            writer.close()

    async def close(self) -> None:
        """End every connection."""
        talking = list(self._talking)
        for task in talking:
            task.cancel()
        await asyncio.gather(*talking, return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(_address_of(writer), writer)
        while True:
            async with asyncio.timeout(IDLE_S_MAX):
                first = await reader.readexactly(1)
            try:
                async with asyncio.timeout(COMMAND_S_MAX):
                    words = await _words(first, reader)
            except _Malformed as problem:
                writer.write(_error(f"Protocol error: {problem}"))
                await _drained(writer)
                return
            if not words:
                continue
            goes_on = await self._do(words, connection)
            await _drained(writer)
            if not goes_on:
                return

    async def _do(self, words: Sequence[bytes], to: _Connection) -> bool:
        """One command; whether the connection goes on."""
        match words[0].upper(), *words[1:]:
            case b"HGET", hash_, field:
                await self._hget(hash_, field, to)
            case b"HEXISTS", hash_, field:
                found = await self._found(hash_, field, to.address)
                to.writer.write(b":1\r\n" if found.status == HTTPStatus.OK else b":0\r\n")
            case b"PING", *_:
                to.writer.write(b"+PONG\r\n")
            case b"HELLO", *rest if not rest or rest[0] in (b"2", b"3"):
                to.version = int(rest[0]) if rest else to.version
                to.writer.write(_greeting(to.version))
            case b"QUIT", *_:
                to.writer.write(b"+OK\r\n")
                return False
            case name, *_:
                text = name[:40].decode("ascii", "replace")
                to.writer.write(
                    _error(f"unknown command '{text}': pe-gateway knows HGET apps NAME alone")
                )
        return True

    async def _hget(self, hash_: bytes, field: bytes, to: _Connection) -> None:
        answer = await self._found(hash_, field, to.address)
        if answer.status == HTTPStatus.NOT_FOUND:
            to.writer.write(to.null())
        elif answer.status != HTTPStatus.OK:
            to.writer.write(_error(answer.body.decode(errors="replace")))
        else:
            async with self._sends:
                await _send_file(Path(answer.file), to.writer)

    async def _found(self, hash_: bytes, field: bytes, address: str) -> Answer:
        name = field.decode(errors="replace")
        if hash_ != HASH or len(name) > NAME_CHARS_MAX:
            return Answer(HTTPStatus.NOT_FOUND)
        return await self._find(name, address)


def _address_of(writer: asyncio.StreamWriter) -> str:
    """The address of a client as a pod's status has it."""
    peer = writer.get_extra_info("peername")
    address = ip_address(str(peer[0]).partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


async def _words(first: bytes, reader: asyncio.StreamReader) -> list[bytes]:
    """The words of a command: an array of bulk strings. Raises _Malformed."""
    if first != b"*":
        raise _Malformed("expected '*', an array of bulk strings")
    count = await _number(reader, "array")
    if not 0 <= count <= WORDS_MAX:
        raise _Malformed(f"a command has at most {WORDS_MAX} words")
    words = []
    for _ in range(count):
        if await reader.readexactly(1) != b"$":
            raise _Malformed("expected '$', a bulk string")
        size = await _number(reader, "bulk")
        if not 0 <= size <= WORD_BYTES_MAX:
            raise _Malformed(f"a word has at most {WORD_BYTES_MAX} bytes")
        words.append((await reader.readexactly(size + 2))[:size])
    return words


async def _number(reader: asyncio.StreamReader, what: str) -> int:
    line = b""
    while not line.endswith(b"\r\n"):
        if len(line) >= _LINE_BYTES_MAX:
            raise _Malformed(f"invalid {what} length")
        line += await reader.readexactly(1)
    text = line[:-2]
    if not text.isdigit():
        raise _Malformed(f"invalid {what} length")
    return int(text)


def _greeting(version: int) -> bytes:
    """The reply to HELLO: a map, which is an array of names and values in RESP2."""
    about = ("server", "millrace"), ("mode", "standalone"), ("role", "replica")
    texts = [f"${len(word)}\r\n{word}\r\n" for pair in about for word in pair]
    head = f"%{len(about) + 1}" if version == RESP3 else f"*{2 * (len(about) + 1)}"
    return f"{head}\r\n{''.join(texts)}$5\r\nproto\r\n:{version}\r\n".encode()


def _error(message: str) -> bytes:
    """An error reply, which is one line."""
    return f"-ERR {' '.join(message.split())}\r\n".encode()


async def _drained(writer: asyncio.StreamWriter) -> None:
    async with asyncio.timeout(PIECE_S_MAX):
        await writer.drain()


async def _send_file(path: Path, writer: asyncio.StreamWriter) -> None:
    """A bulk string with a file, piece by piece. Raises OSError where the file gets shorter."""
    try:
        file = await asyncio.to_thread(path.open, "rb")
    except OSError as problem:
        writer.write(_error(f"the file of the bundle cannot be opened: {problem.strerror}"))
        return
    with file:
        left = os.fstat(file.fileno()).st_size
        writer.write(b"$%d\r\n" % left)
        while left:
            piece = await asyncio.to_thread(file.read, min(PIECE_BYTES, left))
            if not piece:
                raise OSError(f"{path.name} is shorter than it was")
            writer.write(piece)
            left -= len(piece)
            await _drained(writer)
    writer.write(b"\r\n")
