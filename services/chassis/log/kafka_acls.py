"""What each service may do on Kafka's brokers: the topic catalogue as ACLs, read and created.

`millrace topics apply` creates those that are missing, with the rights of its own login. It
removes none: an administrator may have granted more. Services know nothing of ACLs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.admin import CreateAclsRequest, DescribeAclsRequest

from contracts.topics import CATALOGUE, RESOURCES, Topic, reader_group, sync_group
from services.chassis.log.kafka_connecting import Brokers
from services.chassis.log.kafka_offsets import any_node
from services.chassis.log.kafka_rights import Kind, Operation, failure_of
from services.chassis.process.errors import LogRefused

_ANY = 1
_LITERAL = 3
_ALLOW = 3
_ANY_HOST = "*"
_SECURITY_DISABLED = 54


@dataclass(frozen=True, slots=True, order=True)
class Grant:
    """One operation on one topic or group, for one principal (`User:NAME`), from any host."""

    principal: str
    kind: Kind
    name: str
    operation: Operation


class UsesTopics(Protocol):
    """What of the row of a service says what it does with topics."""

    @property
    def name(self) -> str:
        """The name of the service."""
        ...

    @property
    def reads(self) -> tuple[Topic, ...]:
        """The topics that it reads."""
        ...

    @property
    def shares(self) -> tuple[Topic, ...]:
        """The topics of which its instances share the partitions."""
        ...

    @property
    def writes(self) -> tuple[Topic, ...]:
        """The topics that it writes."""
        ...


def grants_of(prefix: str, principals: Iterable[tuple[UsesTopics, str]]) -> list[Grant]:
    """Everything that services do with the topics under a prefix; each has its principal."""
    return sorted(
        Grant(principal, kind, name, operation)
        for row, principal in principals
        for kind, name, operation in {*_on_topics(prefix, row), *_on_groups(prefix, row)}
    )


def _on_topics(prefix: str, row: UsesTopics) -> Iterable[tuple[Kind, str, Operation]]:
    for topic in CATALOGUE:
        name = topic.name(prefix)
        # Each service compares all topics with the catalogue when it starts.
        yield Kind.TOPIC, name, Operation.DESCRIBE
        yield Kind.TOPIC, name, Operation.DESCRIBE_CONFIGS
        if topic in row.writes:
            yield Kind.TOPIC, name, Operation.WRITE
        # The writer of facts reads which epochs it wrote, and commits for their topics.
        if topic in row.reads or (_is_syncing(row) and topic in row.writes):
            yield Kind.TOPIC, name, Operation.READ


def _on_groups(prefix: str, row: UsesTopics) -> Iterable[tuple[Kind, str, Operation]]:
    # The writer of resources commits where its resync began; readers look there.
    if _is_syncing(row):
        yield Kind.GROUP, sync_group(prefix), Operation.READ
    if row.reads:
        yield Kind.GROUP, sync_group(prefix), Operation.DESCRIBE
    if row.shares:
        yield Kind.GROUP, reader_group(prefix, row.name), Operation.READ


def _is_syncing(row: UsesTopics) -> bool:
    return RESOURCES in row.writes


async def missing_grants(brokers: Brokers, wanted: Iterable[Grant]) -> list[Grant]:
    """Those that the brokers do not have. Raises LogRefused where they have no authorizer."""
    there = await brokers.ask("ACLs", _granted)
    return [grant for grant in wanted if grant not in there]


async def grant(brokers: Brokers, missing: Iterable[Grant]) -> None:
    """Create ACLs; one that exists stays as it is. Raises LogRefused."""
    for each in missing:
        await brokers.ask("new ACLs", lambda client, each=each: _create(client, each))  # type: ignore[misc]


async def _granted(client: AIOKafkaClient) -> set[Grant]:
    request = DescribeAclsRequest(_ANY, None, _ANY, None, None, _ANY, _ANY)
    answer = (await client.send(any_node(client), request)).to_object()
    if answer["error_code"] == _SECURITY_DISABLED:
        raise LogRefused(
            "the brokers have no authorizer, so ACLs would protect nothing: leave --principal out, "
            "or set authorizer.class.name of the brokers"
        )
    if answer["error_code"]:
        raise failure_of(answer["error_code"], Operation.DESCRIBE, {}, answer["error_message"])
    return {
        Grant(acl["principal"], Kind(found["resource_type"]), found["resource_name"], operation)
        for found in answer["resources"]
        if found["resource_type"] in list(Kind) and found["resource_pattern_type"] == _LITERAL
        for acl in found["acls"]
        if acl["permission_type"] == _ALLOW and acl["host"] == _ANY_HOST
        for operation in Operation
        if acl["operation"] == operation
    }


async def _create(client: AIOKafkaClient, wanted: Grant) -> None:
    request = CreateAclsRequest(
        wanted.kind.value,
        wanted.name,
        _LITERAL,
        wanted.principal,
        _ANY_HOST,
        wanted.operation.value,
        _ALLOW,
    )
    answer = (await client.send(any_node(client), request)).to_object()
    for result in next(value for value in answer.values() if isinstance(value, list)):
        if result["error_code"]:
            raise failure_of(result["error_code"], Operation.ALTER, {}, result["error_message"])
