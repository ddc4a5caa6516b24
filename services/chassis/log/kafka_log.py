"""The bus on Apache Kafka: what `bus.py` promises, put together from the modules beside it.

Producing is `kafka_producing.py`, reading `kafka_reading.py`, groups `kafka_membership.py`, offsets
`kafka_offsets.py`. Topics are looked at here and made by `millrace topics apply`
(`kafka_topics.py`): a service that made its own could make them with other partitions than the
service beside it. While the brokers are away everything here waits; `is_answering` says so.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing

from contracts.topics import RETENTION_S
from services.chassis.log.bus import NewRecord, Partition, Record
from services.chassis.log.kafka_connecting import Brokers
from services.chassis.log.kafka_membership import KafkaMember
from services.chassis.log.kafka_offsets import (
    AT_END,
    AT_START,
    commit_offsets,
    committed_offsets,
    log_offsets,
    see_topics,
)
from services.chassis.log.kafka_producing import KafkaProducing
from services.chassis.log.kafka_reading import KafkaReading, TopicsRead
from services.chassis.log.kafka_security import PLAINTEXT, KafkaSecurity
from services.chassis.log.kafka_topics import Wanted, look_patiently
from services.chassis.process.errors import TopicDiffers


class KafkaLog:
    """A log at `servers` (HOST:PORT, with commas); `now` gives timestamps (unix seconds).

    `instance` names this process as a member of groups (`kafka_membership.py`); empty: nobody does.
    """

    def __init__(
        self,
        servers: str,
        *,
        now: Callable[[], float],
        client_id: str = "millrace",
        instance: str = "",
        retention_s: float = RETENTION_S,
        security: KafkaSecurity = PLAINTEXT,
    ) -> None:
        self._brokers = Brokers(servers, client_id=client_id, security=security)
        self._instance = instance
        self._retention_s = retention_s
        self._producing = KafkaProducing(self._brokers, now=now)
        self._known: set[Partition] = set()
        self._read: TopicsRead = {}
        self._open: set[KafkaReading | KafkaMember] = set()

    @property
    def is_answering(self) -> bool:
        """Whether the brokers answered the last request."""
        return self._brokers.is_answering

    async def ensure_topics(self, partitions_of: Mapping[str, int]) -> None:
        """Create nothing; TopicDiffers for a topic that is missing or not as it should be."""
        wanted = [Wanted(topic, n, self._retention_s) for topic, n in partitions_of.items()]
        for found in await look_patiently(self._brokers, wanted):
            if found.problem:
                raise TopicDiffers(found.problem)

    async def produce(self, records: Sequence[NewRecord]) -> None:
        """Append in order within each partition; waits while the brokers are away."""
        unknown = {record.partition for record in records} - self._known
        if unknown:
            await self._learn({partition.topic for partition in unknown})
            for partition in sorted(unknown - self._known):
                raise KeyError(partition)
        await self._producing.append(records)

    async def read(
        self, start: Mapping[Partition, int], *, batch_max: int = 500
    ) -> AsyncIterator[Sequence[Record]]:
        """Batches of records of the partitions from the offsets on, until the log is closed."""
        reading = KafkaReading(self._brokers, start, batch_max, self._read)
        self._open.add(reading)
        try:
            async with aclosing(reading.batches()) as batches:
                async for batch in batches:
                    yield batch
        finally:
            self._open.discard(reading)

    async def assignment(
        self, group: str, topics: Sequence[str]
    ) -> AsyncIterator[frozenset[Partition]]:
        """The partitions of this member of a group, each time they change."""
        member = KafkaMember(self._brokers, group, topics, instance=self._instance)
        self._open.add(member)
        try:
            async with aclosing(member.assignments()) as assignments:
                async for assigned in assignments:
                    yield assigned
        finally:
            self._open.discard(member)

    async def end_offsets(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        """The offset that the next record of each partition will get."""
        return await self._brokers.ask(
            "the ends", lambda client: log_offsets(client, partitions, AT_END)
        )

    async def start_offsets(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        """The offset of the oldest record that each partition still keeps."""
        return await self._brokers.ask(
            "the starts", lambda client: log_offsets(client, partitions, AT_START)
        )

    async def committed(
        self, group: str, partitions: Sequence[Partition]
    ) -> dict[Partition, int | None]:
        """The offsets that a group committed."""
        return await self._brokers.ask(
            "committed offsets", lambda client: committed_offsets(client, group, partitions)
        )

    async def commit(self, group: str, offsets: Mapping[Partition, int]) -> None:
        """Commit offsets for a group that has no members."""
        await self._brokers.ask("a commit", lambda client: commit_offsets(client, group, offsets))

    async def close(self) -> None:
        """End every reader and member, wait a little for what is being appended, disconnect."""
        for each in list(self._open):
            await each.close()
        await self._producing.close()
        await self._brokers.close()

    async def _learn(self, topics: set[str]) -> None:
        seen = await self._brokers.ask("topics", lambda client: see_topics(client, topics))
        for name, topic in seen.items():
            self._known |= {Partition(name, number) for number in topic.leaders}
