"""States in redis: the servers that the job's annotation names (`replicaGroups`).

Each replica group has one server a shard. The states of a PE are one hash, on the shard of its key,
in each group: a write counts when most groups have it, and what most groups do not have is missing.
A field of a hash is set only if it is not there (HSETNX), so nothing is overwritten.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from zlib import crc32

import msgspec

from millrace.protocol import HandOver
from millrace.runtime.choosing import removable
from millrace.runtime.endings import StoreFailed
from millrace.runtime.state_names import StateName, parsed, pes_in
from millrace.runtime.state_stores import StateDiffers, StateMissing, StoreFull

if TYPE_CHECKING:
    from redis.asyncio import Redis

LOG = logging.getLogger("millrace.runtime.redis_store")
T = TypeVar("T")
SCAN_KEYS: Final = 1_000
"""How many keys one command looks at; others use the server, too."""
TIMEOUT_S: Final = 10.0
"""The time-out of one command; a large state takes its time."""


class _Group(msgspec.Struct, frozen=True):
    servers: list[str]


class _Configuration(msgspec.Struct, frozen=True, rename="camel"):
    replicas: int
    shards: int
    replica_groups: list[_Group]


@dataclass(frozen=True, slots=True)
class Server:
    """One server. `restricted_property`: the name of that with its password, or ""."""

    host: str
    port: int
    restricted_property: str = ""


def servers_of(configuration: str) -> tuple[tuple[Server, ...], ...]:
    """The servers of each replica group, by shard. Raises StoreFailed."""
    try:
        found = msgspec.json.decode(configuration.encode(), type=_Configuration)
        groups = tuple(tuple(map(_server, group.servers)) for group in found.replica_groups)
    except (msgspec.MsgspecError, ValueError) as problem:
        raise StoreFailed(f"the configuration of redis cannot be used: {problem}") from None
    if len(groups) != found.replicas or any(len(group) != found.shards for group in groups):
        raise StoreFailed(
            f"the configuration of redis has to name {found.replicas} groups of {found.shards} "
            f"servers, and names {[len(group) for group in groups]}"
        )
    if not groups or not groups[0]:
        raise StoreFailed("the configuration of redis names no servers")
    return groups


_SERVER: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:\[\]]+)):([0-9]+)(?::([^./][^/]*)?)?")


def _server(text: str) -> Server:
    found = _SERVER.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:100]!r} is no server: it has to be host:port[:property]")
    address, host, port, name = found.groups()
    return Server(address or host, int(port), name or "")


class RedisStore:
    """The states of one job in redis. `prefix`: of all keys of the job."""

    def __init__(self, configuration: str, prefix: str, restricted: Path) -> None:
        """`restricted`: the folder of restricted properties, for passwords. Raises StoreFailed."""
        groups = servers_of(configuration)
        self._prefix = prefix
        self._groups = [[_client(server, restricted) for server in group] for group in groups]
        self._logged: set[str] = set()

    async def write(self, name: StateName, data: bytes) -> None:
        """Keep a state in most groups. Raises StateDiffers, StoreFull or StoreFailed."""
        key, field = self._key(name.pe), _field(name)
        made: list[Redis] = []

        async def put(client: Redis) -> bool:
            if await _result(client.hsetnx(key, field, data)):
                made.append(client)
                return True
            return bool(await _result(client.hget(key, field)) == data)

        try:
            written = await self._most(key, put)
        except _TooFew as few:
            await self._take_back(made, key, field)
            if few.is_full:
                raise StoreFull(name.path, len(data), "redis has no memory left") from None
            raise
        if not all(written):
            raise StateDiffers(f"{name.path} exists with other content, and is never overwritten")

    async def _take_back(self, made: Sequence[Redis], key: str, field: str) -> None:
        """Remove what too few groups have: each try has another name, and would fill them."""
        removing = (_result(client.hdel(key, field)) for client in made)
        for each in await asyncio.gather(*removing, return_exceptions=True):
            if isinstance(each, BaseException) and not isinstance(each, _failures()):
                raise each

    async def read(self, name: StateName) -> bytes:
        """From the first group that has it. Raises StateMissing or StoreFailed."""
        key, field = self._key(name.pe), _field(name)
        absent = 0
        problems: list[BaseException] = []
        for client in self._clients(key):
            try:
                found = await _result(client.hget(key, field))
            except _failures() as problem:
                problems.append(problem)
                continue
            if found is not None:
                return bytes(found)
            absent += 1
        if problems and absent < self._majority:
            raise StoreFailed(f"redis does not answer for {name.path}: {problems[0]}")
        raise StateMissing(f"{name.path} is not there")

    async def names(self, pe: int) -> tuple[StateName, ...]:
        """Those that any group has. Raises StoreFailed."""
        key = self._key(pe)

        async def keys(client: Redis) -> list[bytes]:
            return list(await _result(client.hkeys(key)))

        fields = {field for each in await self._most(key, keys) for field in each}
        found = [parsed(f"pe-{pe}/{field.decode('utf-8', 'replace')}") for field in fields]
        return tuple(sorted((name for name in found if name), key=lambda name: name.age))

    async def remove_older(self, pe: int, hand_over: HandOver | None) -> int:
        """Raises StoreFailed."""
        gone = removable(hand_over, pe, await self.names(pe))
        key = self._key(pe)

        async def remove(client: Redis) -> None:
            await _result(client.hdel(key, *map(_field, gone)))

        if gone:
            await self._most(key, remove)
        return len(gone)

    async def pes(self) -> tuple[int, ...]:
        """Those of the servers that answer."""
        clients = [client for group in self._groups for client in group]
        found = await asyncio.gather(*map(self._pes_of, clients), return_exceptions=True)
        pes: set[int] = set()
        for each in found:
            if not isinstance(each, BaseException):
                pes.update(each)
            elif not isinstance(each, _failures()):
                raise each
        return tuple(sorted(pes))

    async def _pes_of(self, client: Redis) -> tuple[int, ...]:
        begin = f"{self._prefix}/"
        keys = [
            key.decode("utf-8", "replace")
            async for key in client.scan_iter(match=f"{begin}pe-*", count=SCAN_KEYS)
        ]
        return pes_in(key.removeprefix(begin) for key in keys)

    async def remove_all(self, pe: int) -> None:
        """Raises StoreFailed."""
        key = self._key(pe)

        async def remove(client: Redis) -> None:
            await _result(client.delete(key))

        await self._most(key, remove)

    async def close(self) -> None:
        """Close the connections."""
        for client in (client for group in self._groups for client in group):
            await client.aclose()

    # ------------------------------------------------------------------ groups

    @property
    def _majority(self) -> int:
        return len(self._groups) // 2 + 1

    def _key(self, pe: int) -> str:
        return f"{self._prefix}/pe-{pe}"

    def _clients(self, key: str) -> Sequence[Redis]:
        """The server of a key in each group."""
        return [group[crc32(key.encode()) % len(group)] for group in self._groups]

    async def _most(self, key: str, command: Callable[[Redis], Awaitable[T]]) -> list[T]:
        """The results of all groups that answer. Raises StoreFailed if fewer than most do."""
        results = await asyncio.gather(
            *(command(client) for client in self._clients(key)), return_exceptions=True
        )
        answered, problems = [], []
        for result in results:
            if not isinstance(result, BaseException):
                answered.append(result)
            elif isinstance(result, _failures()):
                problems.append(result)
            else:
                raise result
        if len(answered) < self._majority:
            raise _TooFew(key, len(answered), problems)
        for problem in {f"{type(each).__name__}: {each}" for each in problems} - self._logged:
            self._logged.add(problem)
            LOG.warning("a redis server of %s does not answer: %s", key, problem)
        return answered


class _TooFew(StoreFailed):
    """Fewer than most replica groups answer; `is_full`: some have no memory left."""

    def __init__(self, key: str, answered: int, problems: Sequence[BaseException]) -> None:
        from redis.exceptions import OutOfMemoryError

        super().__init__(
            f"{answered} of {answered + len(problems)} redis servers answer for {key}: "
            f"{problems[0]}"
        )
        self.is_full = any(isinstance(each, OutOfMemoryError) for each in problems)


def _field(name: StateName) -> str:
    return name.path.partition("/")[2]


async def _result(result: Any) -> Any:
    """redis-py gives its types for both of its clients; ours is async."""
    return await result


def _failures() -> tuple[type[Exception], ...]:
    from redis.exceptions import RedisError

    return (RedisError, OSError, TimeoutError)


def _client(server: Server, restricted: Path) -> Redis:
    try:
        from redis.asyncio import Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
    except ImportError:
        message = "states in redis need its client: install millrace-streams[redis]"
        raise StoreFailed(message) from None
    password = None
    if server.restricted_property:
        path = restricted / server.restricted_property
        try:
            password = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as problem:
            raise StoreFailed(f"the password of redis cannot be read: {problem}") from None
    return Redis(
        host=server.host,
        port=server.port,
        password=password,
        protocol=2,
        retry=Retry(NoBackoff(), 1),  # the connection may be an old one; other groups answer
        socket_timeout=TIMEOUT_S,
        socket_connect_timeout=TIMEOUT_S,
    )
