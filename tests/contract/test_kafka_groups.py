"""Members of a group on Kafka share its partitions, and take over from those that leave."""

from __future__ import annotations

import asyncio
import os
import sys
import time
import uuid
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable

import pytest
from aiokafka.admin import AIOKafkaAdminClient

from services.chassis.log import kafka_membership
from services.chassis.log.bus import Partition
from services.chassis.log.kafka_connecting import Brokers
from services.chassis.log.kafka_log import KafkaLog
from services.chassis.log.kafka_membership import KafkaMember
from services.chassis.log.kafka_topics import Wanted, create
from tests.patience import patient
from tests.places import ROOT

SERVERS = os.environ.get("MILLRACE_BOOTSTRAP_SERVERS", "")
PATIENCE_S = patient(30.0)

LONG_SESSION_S = 300.0
"""Longer than anybody waits here: what comes to pass did not wait for a session to end."""
MEMBER = """
import asyncio, sys, time
from services.chassis.log import kafka_membership
from services.chassis.log.kafka_log import KafkaLog

async def follow(servers, topic, instance, session_s):
    kafka_membership.SESSION_S = float(session_s)
    log = KafkaLog(servers, now=time.time, instance=instance)
    async for assigned in log.assignment(f"{topic}.readers", [topic]):
        print(len(assigned), flush=True)

asyncio.run(follow(*sys.argv[1:]))
"""

pytestmark = pytest.mark.real


class Member:
    """One instance of a service, and the partitions that it has at the moment."""

    def __init__(self, topic: str, instance: str = "") -> None:
        self.log = KafkaLog(SERVERS, now=time.time, instance=instance)
        self.has: frozenset[Partition] = frozenset()
        self._following = asyncio.create_task(self._follow(topic))

    async def leave(self) -> None:
        """End, as a service that is stopped."""
        await self.log.close()
        await self._following

    async def _follow(self, topic: str) -> None:
        async for assigned in self.log.assignment(f"{topic}.readers", [topic]):
            self.has = assigned


@pytest.fixture
async def topic() -> AsyncIterator[str]:
    """A topic with eight partitions."""
    name = f"t{uuid.uuid4().hex[:12]}.resources"
    brokers = Brokers(SERVERS)
    await create(brokers, [Wanted(name, 8, 3600)], replication=1)
    yield name
    admin = AIOKafkaAdminClient(bootstrap_servers=SERVERS)
    await admin.start()
    await admin.delete_topics([name])
    await admin.close()
    await brokers.close()


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what the group will decide."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - the group is decided by the broker
            await asyncio.sleep(0.02)


async def test_two_members_share_and_the_one_that_stays_takes_over(topic: str) -> None:
    everything = {Partition(topic, number) for number in range(8)}
    first = Member(topic)
    await until(lambda: first.has == everything)
    second = Member(topic)
    await until(lambda: len(first.has) == len(second.has) == 4)
    assert first.has | second.has == everything
    await second.leave()
    await until(lambda: first.has == everything)
    await first.leave()


async def test_a_member_keeps_what_it_can_when_another_one_joins(topic: str) -> None:
    """Every partition that moves is restored again by its new owner."""
    members = [Member(topic), Member(topic)]
    await until(lambda: [len(member.has) for member in members] == [4, 4])
    before = [member.has for member in members]
    members.append(Member(topic))
    await until(lambda: sorted(len(member.has) for member in members) == [2, 3, 3])
    assert all(member.has <= had for member, had in zip(members[:2], before, strict=True))
    for member in members:
        await member.leave()


async def test_a_member_whose_client_gave_up_joins_again(
    topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client's part in the group ends for good at the first thing that it does not expect."""
    first = Member(topic)
    await until(lambda: len(first.has) == 8)
    member = next(iter(first.log._open))
    assert isinstance(member, KafkaMember)
    given_up = member._consumer
    assert given_up is not None
    client = given_up._client
    monkeypatch.setattr(client, "coordinator_lookup", _not_bootstrapped)
    given_up._coordinator.coordinator_dead()
    await until(lambda: member._consumer not in (None, given_up))
    second = Member(topic)
    await until(lambda: len(first.has) == len(second.has) == 4)
    for each in (first, second):
        await each.leave()


async def _not_bootstrapped(*_arguments: object) -> int:
    raise AssertionError("Did we not perform bootstrap?")


@pytest.fixture
def long_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members of this test that end without a word are missed by nobody for minutes."""
    monkeypatch.setattr(kafka_membership, "SESSION_S", LONG_SESSION_S)


@pytest.mark.usefixtures("long_session")
async def test_a_killed_member_is_replaced_at_once_by_the_next_of_its_name(topic: str) -> None:
    """A session is only waited for where nobody knows that the process is gone."""
    arguments = (SERVERS, topic, "pod-1", str(LONG_SESSION_S))
    killed = await asyncio.create_subprocess_exec(
        sys.executable, "-c", MEMBER, *arguments, stdout=PIPE, cwd=ROOT
    )
    assert killed.stdout is not None
    async with asyncio.timeout(PATIENCE_S):
        assert await killed.stdout.readline() == b"8\n"
    killed.kill()
    await killed.wait()
    after = Member(topic, "pod-1")
    await until(lambda: len(after.has) == 8)
    await after.leave()


@pytest.mark.usefixtures("long_session")
async def test_a_member_with_a_name_leaves_its_partitions_to_those_that_stay(topic: str) -> None:
    """Nobody waits for its session when it ends as it should."""
    first, second = Member(topic, "pod-1"), Member(topic, "pod-2")
    await until(lambda: len(first.has) == len(second.has) == 4)
    await second.leave()
    await until(lambda: len(first.has) == 8)
    await first.leave()
