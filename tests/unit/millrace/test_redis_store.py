"""States in redis: in most of its replica groups, and never overwritten."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from millrace.runtime import redis_store as module
from millrace.runtime.endings import StoreFailed
from millrace.runtime.environment import read_environment
from millrace.runtime.redis_store import RedisStore, Server, servers_of
from millrace.runtime.repositories import open_store
from millrace.runtime.state_stores import (
    FileStore,
    NoStore,
    StateDiffers,
    StateMissing,
    StoreFull,
)
from tests.patience import patient
from tests.unit.millrace.playing_redis import PlayedRedis
from tests.unit.millrace.state_store_contract import FIRST, OTHER, SEAL, STOPPED, StoreContract
from tests.unit.millrace.test_environment import LEAST


def configuration(*groups: list[str]) -> str:
    return json.dumps(
        {
            "replicas": len(groups),
            "shards": len(groups[0]) if groups else 0,
            "replicaGroups": [
                {"servers": servers, "description": f"redis#{index}"}
                for index, servers in enumerate(groups)
            ],
        }
    )


@pytest.fixture
async def servers() -> AsyncIterator[list[list[PlayedRedis]]]:
    """Three replica groups of two servers."""
    async with AsyncExitStack() as stack:
        yield [[await stack.enter_async_context(PlayedRedis()) for _ in range(2)] for _ in range(3)]


@pytest.fixture
async def store(
    servers: list[list[PlayedRedis]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[RedisStore]:
    monkeypatch.setattr(module, "TIMEOUT_S", patient(5.0))
    names = [[f"127.0.0.1:{each.port}" for each in group] for group in servers]
    found = RedisStore(configuration(*names), "millrace/team/shop-uid", tmp_path)
    yield found
    await found.close()


class TestRedisStore(StoreContract):
    """Redis keeps to the contract of stores."""


async def test_a_state_is_in_each_group_on_the_shard_of_its_pe(
    store: RedisStore, servers: list[list[PlayedRedis]]
) -> None:
    await store.write(SEAL, b"x")
    for group in servers:
        holding = [each for each in group if any(each.hashes.values())]
        assert len(holding) == 1
        assert holding[0].hashes == {
            b"millrace/team/shop-uid/pe-4": {b"launch-2/handover-5.state": b"x"}
        }
    assert len({group.index(each) for group in servers for each in group if each.hashes}) == 1


async def test_one_group_of_three_may_be_away(
    store: RedisStore, servers: list[list[PlayedRedis]], caplog: pytest.LogCaptureFixture
) -> None:
    await store.write(FIRST, b"before")
    for each in servers[0]:
        await each.stop()
    await store.write(SEAL, b"x")
    await store.write(OTHER, b"y")
    assert await store.read(SEAL) == b"x"
    assert await store.read(FIRST) == b"before"
    assert await store.names(4) == (FIRST, SEAL)
    assert "does not answer" in caplog.text


async def test_two_groups_of_three_may_not(
    store: RedisStore, servers: list[list[PlayedRedis]]
) -> None:
    await store.write(SEAL, b"x")
    for group in servers[:2]:
        for each in group:
            each.problem = "LOADING Redis is loading the dataset in memory"
    with pytest.raises(StoreFailed, match="1 of 3 redis servers answer"):
        await store.write(FIRST, b"x")
    with pytest.raises(StoreFailed, match="1 of 3"):
        await store.names(4)
    assert await store.read(SEAL) == b"x"
    with pytest.raises(StoreFailed, match="does not answer for pe-4/launch-2") as caught:
        await store.read(STOPPED)
    assert not isinstance(caught.value, StateMissing)


async def test_a_group_that_was_away_is_not_needed_to_know_what_is_there(
    store: RedisStore, servers: list[list[PlayedRedis]]
) -> None:
    for each in servers[0]:
        each.problem = "LOADING"
    await store.write(SEAL, b"x")
    for each in servers[0]:
        each.problem = ""
    assert await store.read(SEAL) == b"x"
    assert await store.names(4) == (SEAL,)
    await store.write(SEAL, b"x")
    with pytest.raises(StateDiffers):
        await store.write(SEAL, b"other")


async def test_what_too_few_groups_took_is_removed_from_them(
    store: RedisStore, servers: list[list[PlayedRedis]]
) -> None:
    """Each try has another name: what failed would fill the groups that have room."""
    await store.write(FIRST, b"x")
    for each in (*servers[1], *servers[2]):
        each.problem = "OOM command not allowed when used memory > 'maxmemory'."
    for name, data in ((SEAL, b"1"), (FIRST, b"x")):
        with pytest.raises(StoreFull):
            await store.write(name, data)
    for each in (*servers[1], *servers[2]):
        each.problem = ""
    assert await store.names(4) == (FIRST,)
    kept = [fields for each in servers[0] for fields in each.hashes.values() if fields]
    assert [len(fields) for fields in kept] == [1], "what was there before stays"


async def test_redis_without_memory_names_path_and_size(
    store: RedisStore, servers: list[list[PlayedRedis]]
) -> None:
    for group in servers:
        for each in group:
            each.problem = "OOM command not allowed when used memory > 'maxmemory'."
    with pytest.raises(StoreFull) as caught:
        await store.write(SEAL, b"12345")
    assert (caught.value.path, caught.value.size) == (SEAL.path, 5)


async def test_the_password_is_a_restricted_property(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("secret\n")
    async with PlayedRedis("secret") as server:
        text = configuration([f"127.0.0.1:{server.port}:password"])
        store = RedisStore(text, "p", tmp_path)
        await store.write(SEAL, b"x")
        await store.close()
        wrong = RedisStore(configuration([f"127.0.0.1:{server.port}"]), "p", tmp_path)
        with pytest.raises(StoreFailed, match="0 of 1"):
            await wrong.names(4)
        await wrong.close()
    with pytest.raises(StoreFailed, match="password of redis cannot be read"):
        RedisStore(configuration(["127.0.0.1:1:other"]), "p", tmp_path)


def test_servers_are_read_from_the_configuration_of_the_original() -> None:
    text = configuration(["redis-0.redis.team.svc:6379:pw", "redis-1.redis.team.svc:6379"])
    assert servers_of(text) == (
        (
            Server("redis-0.redis.team.svc", 6379, "pw"),
            Server("redis-1.redis.team.svc", 6379),
        ),
    )


def test_servers_with_addresses_of_ipv6_are_read() -> None:
    """As in a URL: the address has colons of its own."""
    text = configuration(["[fd00::5]:6379:pw", "[::1]:6379"])
    assert servers_of(text) == ((Server("fd00::5", 6379, "pw"), Server("::1", 6379)),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "none",
        "{}",
        "[]",
        configuration(),
        configuration([]),
        configuration(["host"]),
        configuration(["host:port"]),
        configuration([":6379"]),
        configuration(["fd00::5:6379"]),
        configuration(["[fd00::5:6379"]),
        configuration(["host:6379:../token"]),
        configuration(["a:1", "b:2"], ["c:3"]),
        configuration(["a:1"]).replace('"replicas": 1', '"replicas": 3'),
    ],
)
def test_a_configuration_that_cannot_be_used_is_refused(text: str) -> None:
    with pytest.raises(StoreFailed, match="configuration of redis"):
        servers_of(text)


# ---------------------------------------------------------------- which store


def environment(kind: str, text: str, root: Path) -> dict[str, str]:
    return LEAST | {
        "MILLRACE_ROOT": str(root),
        "STREAMS_CHECKPOINT_REPOSITORY": kind,
        "STREAMS_CHECKPOINT_REPOSITORY_CONFIGURATION": text,
    }


async def test_the_environment_names_the_folder_of_the_job(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()
    text = '{ "Dir" : "/checkpoint" }'
    store = open_store(read_environment(environment("fileSystem", text, tmp_path)))
    assert isinstance(store, FileStore)
    await store.write(SEAL, b"x")
    job = f"shop-{LEAST['MILLRACE_JOB_UID']}"
    assert (tmp_path / "checkpoint/team" / job / SEAL.path).read_bytes() == b"x"


def test_without_a_repository_nothing_is_kept() -> None:
    assert isinstance(open_store(read_environment(LEAST)), NoStore)


def test_a_folder_whose_volume_is_not_there_is_refused(tmp_path: Path) -> None:
    text = '{ "Dir" : "/checkpoint" }'
    with pytest.raises(StoreFailed, match="volume of the checkpoint store is not there"):
        open_store(read_environment(environment("fileSystem", text, tmp_path)))


@pytest.mark.parametrize("text", ["none", "{}", '{"Dir": 7}'])
def test_a_repository_that_names_no_folder_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(StoreFailed, match="names no folder"):
        open_store(read_environment(environment("fileSystem", text, tmp_path)))


async def test_redis_is_a_repository(tmp_path: Path) -> None:
    text = configuration(["127.0.0.1:6379"])
    store = open_store(read_environment(environment("redis", text, tmp_path)))
    assert isinstance(store, RedisStore)
    await store.close()
