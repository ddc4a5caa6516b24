"""Topics on Kafka's brokers, beside what they should be: looked at, created, corrected.

A service only looks. `millrace topics apply` creates what is missing and corrects settings; it
never changes a number of partitions: what belongs together would move to another partition, whose
owner does not know the records before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.admin import (
    AlterConfigsRequest,
    CreateTopicsRequest,
    DescribeConfigsRequest,
)

from contracts.topics import RETENTION_S, TopicLayout
from services.chassis.log.kafka_connecting import REQUEST_TIMEOUT_S, Brokers
from services.chassis.log.kafka_offsets import any_node, missing, see_topics
from services.chassis.log.kafka_rights import Kind, Operation, failure_of

RECORD_BYTES_MAX = 4 * 1024 * 1024
REPLICATION_DEFAULT_MAX = 3
LOOKS_MAX = 10
LOOK_AGAIN_S = 0.2
"""What was just created or corrected is not known to every broker at once."""

_TOPIC_RESOURCE = 2
_SET_FOR_TOPIC = 1
_ALREADY_EXISTS = 36


@dataclass(frozen=True, slots=True)
class Wanted:
    """A topic as it should be."""

    name: str
    partitions: int
    retention_s: float

    @property
    def settings(self) -> dict[str, str]:
        """Kafka's settings of it."""
        return {
            "cleanup.policy": "delete",
            "max.message.bytes": str(RECORD_BYTES_MAX),
            "retention.ms": str(int(self.retention_s * 1000)),
        }


@dataclass(frozen=True, slots=True)
class Found:
    """A topic as it is; 0 partitions: it does not exist. `own` settings were set for it alone."""

    wanted: Wanted
    partitions: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)

    @property
    def wrong_settings(self) -> dict[str, str]:
        """The settings that differ, as they are."""
        return {
            name: self.settings.get(name, "")
            for name, value in self.wanted.settings.items()
            if self.partitions and self.settings.get(name) != value
        }

    @property
    def problem(self) -> str:
        """The first thing that differs, as a sentence with what to do; empty: nothing."""
        name = self.wanted.name
        if not self.partitions:
            return missing(name)
        if self.partitions != self.wanted.partitions:
            return (
                f"topic {name} has {self.partitions} partitions, not {self.wanted.partitions}; "
                "the number cannot be changed: set MILLRACE_PARTITIONS to the number that it has, "
                "or delete the topic; then `millrace topics apply` creates it, and watch-ingest "
                "says everything again"
            )
        for setting, value in self.wrong_settings.items():
            wanted = self.wanted.settings[setting]
            return (
                f"topic {name} has {setting} {value}, not {wanted}; "
                "`millrace topics apply` corrects it"
            )
        return ""


def wanted_topics(layout: TopicLayout) -> list[Wanted]:
    """The topics of the catalogue in a layout."""
    return [Wanted(name, count, RETENTION_S) for name, count in layout.counts().items()]


async def look_at(brokers: Brokers, wanted: Sequence[Wanted]) -> list[Found]:
    """The topics as they are."""
    return await brokers.ask("topics", lambda client: _found(client, wanted))


async def look_patiently(
    brokers: Brokers, wanted: Sequence[Wanted], *, looks_max: int = LOOKS_MAX
) -> list[Found]:
    """The topics as they are; where one differs, they are looked at several times."""
    for _ in range(looks_max):
        found = await look_at(brokers, wanted)
        if not any(topic.problem for topic in found):
            break
        await asyncio.sleep(LOOK_AGAIN_S)
    return found


async def create(brokers: Brokers, wanted: Sequence[Wanted], replication: int | None) -> None:
    """Create topics; `replication` None means one replica a broker, at most three."""
    await brokers.ask("new topics", lambda client: _create(client, wanted, replication))


async def correct(brokers: Brokers, found: Sequence[Found]) -> None:
    """Give topics the settings that they should have and leave them all others of their own."""
    await brokers.ask("settings of topics", lambda client: _correct(client, found))


async def _found(client: AIOKafkaClient, wanted: Sequence[Wanted]) -> list[Found]:
    seen = await see_topics(client, [topic.name for topic in wanted])
    existing = [topic for topic in wanted if topic.name in seen]
    settings = await _settings(client, [topic.name for topic in existing])
    found = []
    for topic in wanted:
        if topic.name not in seen:
            found.append(Found(topic))
            continue
        effective, own = settings[topic.name]
        found.append(Found(topic, len(seen[topic.name].leaders), effective, own))
    return found


Settings = tuple[dict[str, str], dict[str, str]]


async def _settings(client: AIOKafkaClient, topics: Sequence[str]) -> dict[str, Settings]:
    """The settings in force, and those that were set for the topic itself."""
    if not topics:
        return {}
    request = DescribeConfigsRequest([(_TOPIC_RESOURCE, name, None) for name in topics], False)
    answer = (await client.send(any_node(client), request)).to_object()
    settings: dict[str, Settings] = {}
    for resource in answer["resources"]:
        if resource["error_code"]:
            names = {Kind.TOPIC: resource["resource_name"]}
            operation = Operation.DESCRIBE_CONFIGS
            message = resource["error_message"]
            raise failure_of(resource["error_code"], operation, names, message)
        entries = resource["config_entries"]
        settings[resource["resource_name"]] = (
            {each["config_names"]: each["config_value"] for each in entries},
            {
                each["config_names"]: each["config_value"]
                for each in entries
                if each["config_source"] == _SET_FOR_TOPIC
            },
        )
    return settings


async def _create(
    client: AIOKafkaClient, wanted: Sequence[Wanted], replication: int | None
) -> None:
    brokers = len(client.cluster.brokers())
    replicas = replication or min(REPLICATION_DEFAULT_MAX, brokers)
    in_sync = {"min.insync.replicas": str(max(1, replicas - 1))}
    chosen_brokers: list[tuple[int, list[int]]] = []
    topics = [
        (
            topic.name,
            topic.partitions,
            replicas,
            chosen_brokers,
            [*(topic.settings | in_sync).items()],
        )
        for topic in wanted
    ]
    request = CreateTopicsRequest(topics, int(REQUEST_TIMEOUT_S * 1000), False)
    answer = await client.send(any_node(client), request)
    for name, code, message in answer.topic_errors:
        if code not in (0, _ALREADY_EXISTS):
            raise failure_of(code, Operation.CREATE, {Kind.TOPIC: name}, f"{name}: {message}")


async def _correct(client: AIOKafkaClient, found: Sequence[Found]) -> None:
    """The request replaces all settings that a topic has of its own, so they are sent again."""
    resources = [
        (_TOPIC_RESOURCE, topic.wanted.name, [*({**topic.own} | topic.wanted.settings).items()])
        for topic in found
    ]
    answer = await client.send(any_node(client), AlterConfigsRequest(resources))
    for code, message, _kind, name in answer.resources:
        if code:
            names = {Kind.TOPIC: name}
            raise failure_of(code, Operation.ALTER_CONFIGS, names, f"{name}: {message}")
