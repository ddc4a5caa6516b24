"""Kafka's metadata request in version 10, the first that tells a topic's id.

A topic that was deleted and created again has another id. Nothing else tells it apart: its offsets
may already have grown beyond those that a reader holds. aiokafka speaks version 5 and lets a broker
create what is requested; this request never does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO

from aiokafka.protocol.abstract import AbstractType
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import (
    Boolean,
    CompactArray,
    CompactString,
    Int16,
    Int32,
    Schema,
    TaggedFields,
)

from services.chassis.log.kafka_rights import Kind, Operation, failure_of

NO_TOPIC_ID = bytes(16)
UNKNOWN_TOPIC = 3


@dataclass(frozen=True, slots=True)
class TopicSeen:
    """A topic as the brokers have it; `leaders` by partition number, -1 without a leader."""

    topic_id: bytes
    leaders: Mapping[int, int]


class Uuid(AbstractType):  # type: ignore[misc] # aiokafka tells no types
    """Sixteen bytes as they are."""

    @classmethod
    def encode(cls, value: bytes) -> bytes:
        """To the wire."""
        return value

    @classmethod
    def decode(cls, data: BytesIO) -> bytes:
        """From the wire."""
        return data.read(16)


_TEXT = CompactString("utf-8")


class _MetadataResponse(Response):  # type: ignore[misc] # aiokafka tells no types
    API_KEY = 3
    API_VERSION = 10
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "brokers",
            CompactArray(
                ("node_id", Int32),
                ("host", _TEXT),
                ("port", Int32),
                ("rack", _TEXT),
                ("tags", TaggedFields),
            ),
        ),
        ("cluster_id", _TEXT),
        ("controller_id", Int32),
        (
            "topics",
            CompactArray(
                ("error_code", Int16),
                ("name", _TEXT),
                ("topic_id", Uuid),
                ("is_internal", Boolean),
                (
                    "partitions",
                    CompactArray(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", CompactArray(Int32)),
                        ("isr", CompactArray(Int32)),
                        ("offline_replicas", CompactArray(Int32)),
                        ("tags", TaggedFields),
                    ),
                ),
                ("authorized_operations", Int32),
                ("tags", TaggedFields),
            ),
        ),
        ("authorized_operations", Int32),
        ("tags", TaggedFields),
    )


class _MetadataStruct(RequestStruct):  # type: ignore[misc] # aiokafka tells no types
    FLEXIBLE_VERSION = True
    API_KEY = 3
    API_VERSION = 10
    RESPONSE_TYPE = _MetadataResponse
    SCHEMA = Schema(
        ("topics", CompactArray(("id", Uuid), ("name", _TEXT), ("tags", TaggedFields))),
        ("allow_auto_topic_creation", Boolean),
        ("include_cluster_operations", Boolean),
        ("include_topic_operations", Boolean),
        ("tags", TaggedFields),
    )


class TopicsRequest(Request[_MetadataStruct]):  # type: ignore[misc] # aiokafka tells no types
    """Asks for topics by name and creates none."""

    API_KEY = 3

    def __init__(self, topics: Sequence[str]) -> None:
        self._topics = topics

    def build(self, request_struct_class: type[_MetadataStruct]) -> _MetadataStruct:
        """The request as it goes to the wire."""
        no_tags: dict[int, bytes] = {}
        named = [(NO_TOPIC_ID, topic, no_tags) for topic in self._topics]
        return request_struct_class(named, False, False, False, no_tags)


def topics_seen(response: _MetadataResponse) -> dict[str, TopicSeen]:
    """The topics of an answer that exist; raises RightMissing, or another topic's KafkaError."""
    seen: dict[str, TopicSeen] = {}
    for error_code, name, topic_id, _internal, partitions, *_ in response.topics:
        if error_code == UNKNOWN_TOPIC:
            continue
        if error_code:
            raise failure_of(error_code, Operation.DESCRIBE, {Kind.TOPIC: name}, name)
        leaders = {number: leader for _error, number, leader, *_ in partitions}
        seen[name] = TopicSeen(topic_id, leaders)
    return seen
