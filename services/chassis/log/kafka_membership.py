"""A member of a Kafka consumer group: which partitions are this instance's, and nothing else.

The member fetches nothing (its partitions are paused) and commits nothing: readers read by
themselves, from offsets of their own. The assignor is sticky, so that a member keeps what it can.
A member tells a new assignment only, not that its old one is in question: between the two it works
on, and what two members write at once is fenced at the effect.

A member whose client has given up for good (aiokafka ends its part in the group at the first thing
that it does not expect, such as a broker that has just started and has no such group) joins again.

A member with a name (Kafka's static membership) that ends without leaving is replaced by the next
process of that name at once; nobody waits for its session, and no partition moves. Two processes of
one name at a time would take the partitions from each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.client import AIOKafkaClient
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import ConsumerStoppedError, KafkaError, for_code
from aiokafka.protocol.group import LeaveGroupRequest

from services.chassis.log.bus import Partition
from services.chassis.log.kafka_connecting import Brokers, LogClosed, may_pass, stopped
from services.chassis.log.kafka_offsets import coordinator_of
from services.chassis.log.kafka_rights import LACKING, Kind, Operation, Right, RightMissing
from services.chassis.process.errors import LogRefused
from services.chassis.process.log_lines import log_of

SESSION_S = 10.0
HEARTBEAT_S = 1.0
REBALANCE_S = 10.0
POLL_S = 1.0
"""A member that does not poll is taken for stuck."""
LEAVE_S_MAX = 2.0


class KafkaMember:
    """One member of a group; `assignments` goes on until `close`."""

    def __init__(
        self, brokers: Brokers, group: str, topics: Sequence[str], *, instance: str = ""
    ) -> None:
        self._brokers = brokers
        self._group = group
        self._right = Right(Operation.READ, Kind.GROUP, group)
        self._topics = list(topics)
        self._instance = instance
        self._consumer: AIOKafkaConsumer | None = None
        self._changes: asyncio.Queue[frozenset[Partition]] = asyncio.Queue()
        self._closed = False

    async def assignments(self) -> AsyncGenerator[frozenset[Partition], None]:
        """The partitions that this member has, each time that the group decided."""
        try:
            while not self._closed:
                if self._consumer is None:
                    self._consumer = await self._brokers.persist("a group", self._started)
                try:
                    yield await asyncio.wait_for(self._changes.get(), POLL_S)
                except TimeoutError:
                    await self._poll()
        except LogClosed:
            return
        finally:
            await self.close()

    async def _poll(self) -> None:
        """Say that we are alive, and hear what went wrong in the group."""
        consumer = self._consumer
        if consumer is None:  # closed meanwhile
            return
        try:
            await consumer.getmany(timeout_ms=0)
        except ConsumerStoppedError:
            return
        except KafkaError as problem:
            if isinstance(problem, LACKING):
                raise self._brokers.refusal("a member of a group", self._right) from problem
            if not may_pass(problem):
                raise LogRefused(f"Kafka refused a member of a group: {problem}") from problem
            if consumer._coordinator._coordination_task.done():
                log_of("kafka").warning("member_joins_again", problem=str(problem))
                self._consumer = None
                await stopped(consumer)

    async def close(self) -> None:
        """Leave the group, so that the others need not wait for the session to end."""
        self._closed = True
        consumer, self._consumer = self._consumer, None
        if consumer is None:
            return
        member_id = consumer._coordinator.member_id
        await stopped(consumer)
        if self._instance and member_id:
            await self._leave(member_id)

    async def _leave(self, member_id: str) -> None:
        """The client does not leave for a member with a name; those that stay would wait for it."""

        async def leave(client: AIOKafkaClient) -> None:
            coordinator = await coordinator_of(client, self._group)
            answer = await client.send(coordinator, LeaveGroupRequest(self._group, member_id))
            if answer.error_code:
                raise for_code(answer.error_code)(member_id)

        try:
            async with asyncio.timeout(LEAVE_S_MAX):
                await self._brokers.ask("to leave a group", leave)
        except (TimeoutError, LogClosed, LogRefused) as problem:
            log_of("kafka").info("group_not_left", group=self._group, problem=repr(problem))

    async def _started(self) -> AIOKafkaConsumer:
        # The assignor keeps what it remembers in its class.
        assignor = type("Sticky", (StickyPartitionAssignor,), {})
        consumer = AIOKafkaConsumer(
            **self._brokers.options,
            group_id=self._group,
            group_instance_id=self._instance or None,
            enable_auto_commit=False,
            auto_offset_reset="latest",
            partition_assignment_strategy=(assignor,),
            session_timeout_ms=int(SESSION_S * 1000),
            heartbeat_interval_ms=int(HEARTBEAT_S * 1000),
            rebalance_timeout_ms=int(REBALANCE_S * 1000),
        )
        consumer.subscribe(self._topics, listener=_Listener(consumer, self._changes))
        try:
            await consumer.start()
        except LACKING:
            await stopped(consumer)
            raise RightMissing(self._right) from None
        except BaseException:
            await stopped(consumer)
            raise
        return consumer


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc] # aiokafka tells no types
    """Pauses what is assigned and tells it."""

    def __init__(
        self, consumer: AIOKafkaConsumer, changes: asyncio.Queue[frozenset[Partition]]
    ) -> None:
        self._consumer = consumer
        self._changes = changes

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """The next assignment says what is left."""

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """The whole of what this member has from now on."""
        partitions = list(assigned)
        self._consumer.pause(*partitions)
        self._changes.put_nowait(
            frozenset(Partition(each.topic, each.partition) for each in partitions)
        )
