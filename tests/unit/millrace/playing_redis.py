"""A server that speaks enough of redis for hashes, over real connections."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any


class PlayedRedis:
    """One server; `problem` is answered to every command of hashes, if it is set."""

    def __init__(self, password: str = "") -> None:
        self.hashes: dict[bytes, dict[bytes, bytes]] = defaultdict(dict)
        self.password = password.encode()
        self.problem = ""
        self.port = 0
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> PlayedRedis:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            for writer in self._writers:
                writer.close()
            await self._server.wait_closed()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        is_known = not self.password
        try:
            while line := await reader.readline():
                words = []
                for _ in range(int(line[1:])):
                    size = int((await reader.readline())[1:])
                    words.append((await reader.readexactly(size + 2))[:-2])
                name = words[0].upper()
                if name == b"AUTH" or b"AUTH" in [word.upper() for word in words[1:]]:
                    is_known = words[-1] == self.password or self.password in words
                writer.write(self._answer(name, words[1:], is_known=is_known))
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    def _answer(self, name: bytes, words: list[bytes], *, is_known: bool) -> bytes:
        if name == b"HELLO":
            return b"-ERR unknown command 'HELLO'\r\n"
        if name in (b"CLIENT", b"AUTH", b"SELECT"):
            return b"+OK\r\n" if is_known else b"-WRONGPASS invalid\r\n"
        if not is_known:
            return b"-NOAUTH Authentication required.\r\n"
        if self.problem:
            return f"-{self.problem}\r\n".encode()
        return _shown(self._of_hash(name, words))

    def _of_hash(self, name: bytes, words: list[bytes]) -> Any:
        if name == b"SCAN":
            begin = words[words.index(b"MATCH") + 1].removesuffix(b"*")
            return [
                b"0",
                [key for key, has in self.hashes.items() if has and key.startswith(begin)],
            ]
        if name == b"DEL":
            return int(bool(self.hashes.pop(words[0], None)))
        fields = self.hashes[words[0]]
        match name:
            case b"HSETNX":
                is_new = words[1] not in fields
                fields.setdefault(words[1], words[2])
                return int(is_new)
            case b"HGET":
                return fields.get(words[1])
            case b"HKEYS":
                return list(fields)
            case b"HDEL":
                return sum(fields.pop(word, None) is not None for word in words[1:])
        raise NotImplementedError(name)


def _shown(value: Any) -> bytes:
    match value:
        case int():
            return b":%d\r\n" % value
        case None:
            return b"$-1\r\n"
        case bytes():
            return b"$%d\r\n%b\r\n" % (len(value), value)
        case _:
            return b"*%d\r\n" % len(value) + b"".join(map(_shown, value))
