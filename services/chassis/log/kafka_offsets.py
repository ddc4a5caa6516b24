"""Offsets as Kafka's brokers tell them: ends and starts of partitions, what a group committed.

Each function is one request to the brokers, to be sent through `Brokers.ask`; it raises
RightMissing and aiokafka's errors. The group that is committed for has no members: nobody is
assigned anything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from aiokafka.client import AIOKafkaClient
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    LeaderNotAvailableError,
    NodeNotReadyError,
)
from aiokafka.protocol.commit import OffsetCommitRequest, OffsetFetchRequest
from aiokafka.protocol.offset import OffsetRequest

from services.chassis.log.bus import Partition
from services.chassis.log.kafka_metadata import TopicSeen, TopicsRequest, topics_seen
from services.chassis.log.kafka_rights import Kind, Operation, Right, RightMissing, failure_of
from services.chassis.process.errors import TopicDiffers

V = TypeVar("V")

AT_START = -2
AT_END = -1
_ANY_REPLICA = -1
_READ_UNCOMMITTED = 0
_OF_A_GROUP = 0
_NOTHING_COMMITTED = -1


def missing(topic: str) -> str:
    """The sentence for a topic that does not exist."""
    return f"topic {topic} is missing; `millrace topics apply` creates it"


async def see_topics(client: AIOKafkaClient, topics: Iterable[str]) -> dict[str, TopicSeen]:
    """The topics that exist, with their ids and leaders."""
    return topics_seen(await client.send(any_node(client), TopicsRequest(sorted(set(topics)))))


async def log_offsets(
    client: AIOKafkaClient, partitions: Sequence[Partition], at: int
) -> dict[Partition, int]:
    """The first offsets (AT_START) or the next ones (AT_END); TopicDiffers for what is missing."""
    seen = await see_topics(client, {each.topic for each in partitions})
    by_leader: dict[int, list[Partition]] = defaultdict(list)
    for partition in partitions:
        by_leader[_leader_of(seen, partition)].append(partition)
    offsets: dict[Partition, int] = {}
    for leader, led in by_leader.items():
        topics = _by_topic(led, lambda partition: (partition.number, at))
        request = OffsetRequest(_ANY_REPLICA, _READ_UNCOMMITTED, topics)
        answer = await client.send(leader, request)
        for partition, fields in _partitions_of(answer, Operation.DESCRIBE):
            offsets[partition] = int(fields["offset"])
    return offsets


async def coordinator_of(client: AIOKafkaClient, group: str) -> int:
    """The broker that keeps a group's offsets and members.

    A broker that has just started may know of none, not even of itself, which aiokafka takes for a
    mistake of ours.
    """
    any_node(client)
    try:
        return int(await client.coordinator_lookup(_OF_A_GROUP, group))
    except GroupAuthorizationFailedError:
        raise RightMissing(Right(Operation.DESCRIBE, Kind.GROUP, group)) from None


async def committed_offsets(
    client: AIOKafkaClient, group: str, partitions: Sequence[Partition]
) -> dict[Partition, int | None]:
    """What a group committed; None where nothing was."""
    coordinator = await coordinator_of(client, group)
    request = OffsetFetchRequest(group, _by_topic(partitions, lambda each: each.number))
    answer = await client.send(coordinator, request)
    found = {
        partition: int(fields["offset"])
        for partition, fields in _partitions_of(answer, Operation.DESCRIBE, group)
    }
    offsets = {partition: found.get(partition, _NOTHING_COMMITTED) for partition in partitions}
    return {each: None if at == _NOTHING_COMMITTED else at for each, at in offsets.items()}


async def commit_offsets(
    client: AIOKafkaClient, group: str, offsets: Mapping[Partition, int]
) -> None:
    """Commit for a group without members."""
    coordinator = await coordinator_of(client, group)
    request = OffsetCommitRequest(
        group,
        OffsetCommitRequest.DEFAULT_GENERATION_ID,
        "",
        OffsetCommitRequest.DEFAULT_RETENTION_TIME,
        _by_topic(list(offsets), lambda each: (each.number, offsets[each], "")),
    )
    answer = await client.send(coordinator, request)
    for _ in _partitions_of(answer, Operation.READ, group):
        pass


def any_node(client: AIOKafkaClient) -> int:
    """A broker, for questions that each of them can answer."""
    node = client.get_random_node()
    if node is None:
        raise NodeNotReadyError("no broker is known")
    return int(node)


def _leader_of(seen: Mapping[str, TopicSeen], partition: Partition) -> int:
    topic = seen.get(partition.topic)
    if topic is None:
        raise TopicDiffers(missing(partition.topic))
    if partition.number not in topic.leaders:
        raise TopicDiffers(f"topic {partition.topic} has no partition {partition.number}")
    leader = topic.leaders[partition.number]
    if leader < 0:
        raise LeaderNotAvailableError(f"{partition.topic}/{partition.number}")
    return leader


def _by_topic(
    partitions: Sequence[Partition], value: Callable[[Partition], V]
) -> list[tuple[str, list[V]]]:
    grouped: dict[str, list[V]] = defaultdict(list)
    for partition in partitions:
        grouped[partition.topic].append(value(partition))
    return list(grouped.items())


def _partitions_of(
    response: Any, operation: Operation, group: str = ""
) -> Iterable[tuple[Partition, Mapping[str, Any]]]:
    """The partitions of an answer, whichever its version; raises the first error in it.

    `operation` is the right that the request needs on topics and on its group.
    """
    answer = response.to_object()
    if answer.get("error_code"):
        raise failure_of(answer["error_code"], operation, {Kind.GROUP: group})
    for topic in answer["topics"]:
        for fields in topic["partitions"]:
            if fields["error_code"]:
                names = {Kind.GROUP: group, Kind.TOPIC: topic["topic"]}
                where = f"{topic['topic']}/{fields['partition']}"
                raise failure_of(fields["error_code"], operation, names, where)
            yield Partition(topic["topic"], fields["partition"]), fields
