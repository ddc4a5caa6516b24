"""Kafka topics: a source that reads one, and a sink that writes one.

It needs `millrace-streams[kafka]`.

>>> orders = app.source(kafka.topic("orders", Order, servers="broker:9092"))
>>> totals.sink(kafka.writer("totals", servers="broker:9092", key="customer"))

The source keeps its own position, the next offset of each partition, as state of the operator. It
is in no consumer group. The channels of a parallel source share the partitions.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

from millrace.adapters.kafka_positions import BEGINS, Begin, Offsets
from millrace.adapters.kafka_reading import Reading
from millrace.adapters.kafka_records import Record, check_key, decoder
from millrace.adapters.kafka_security import Secured, Security
from millrace.adapters.kafka_writing import TopicWriter
from millrace.adapters.kinds import Reader, Writer
from millrace.building import Step
from millrace.errors import GraphError
from millrace.graph import OnError
from millrace.parameters import Parameter

__all__ = ["Offsets", "Record", "Security", "TopicWriter", "topic", "writer"]

T = TypeVar("T")
Text = str | Parameter[str]
Options = Mapping[str, str | int | bool]
_OF_BOTH: Final = (
    "client_id",
    "connections_max_idle_ms",
    "metadata_max_age_ms",
    "request_timeout_ms",
    "retry_backoff_ms",
)
READ_OPTIONS: Final = (
    *_OF_BOTH,
    "check_crcs",
    "client_rack",
    "fetch_max_bytes",
    "fetch_max_wait_ms",
    "fetch_min_bytes",
    "isolation_level",
    "max_partition_fetch_bytes",
)
WRITE_OPTIONS: Final = (
    *_OF_BOTH,
    "compression_type",
    "linger_ms",
    "max_batch_size",
    "max_request_size",
)


def topic(
    name: Text,
    type_: type[T],
    *,
    servers: Text,
    begin: Begin = "latest",
    until_end: bool = False,
    security: Secured = None,
    options: Options | None = None,
) -> Reader[T]:
    """Tuples of a topic whose records are JSON objects, or its records as they are.

    Args:
        name: The topic.
        type_: The type of the tuples; with `kafka.Record` they are the records, with key, headers,
            timestamp, partition and offset, and whatever their value is.
        servers: Bootstrap servers, `host:port` with commas between them.
        begin: Where a source without a position begins. Partitions that are added later are read
            from their beginning.
        until_end: End when all records that were there at the start are read.
        security: TLS and a login: a `kafka.Security`, or a function that returns one.
        options: Arguments of aiokafka's consumer. Records of transactions that are open or were
            aborted are not given, unless `isolation_level` is `read_uncommitted`.
    """
    if begin not in BEGINS:
        raise GraphError(f"kafka.topic: begin is {begin!r}: use {' or '.join(BEGINS)}")
    arguments = {"name": name, "servers": servers, "begin": begin, "until_end": until_end}
    given = _checked("kafka.topic", options, READ_OPTIONS)
    return Reader("KafkaTopic", _Topic(type_, security), type_, arguments | given, Offsets)


def writer(
    name: Text,
    *,
    servers: Text,
    key: str | None = None,
    security: Secured = None,
    options: Options | None = None,
) -> Writer[Any]:
    """Writes each tuple as JSON, and a `kafka.Record` as it is.

    A tuple counts as written when all replicas in sync have it; a batch that is sent again is not
    written twice. What waits is sent before state is saved, and at the end.

    Args:
        name: The topic. It has to exist.
        servers: As of `topic`.
        key: An attribute (str, int, bool, bytes, or None: without a key): equal values stay in
            order, in one partition.
        security: As of `topic`.
        options: Arguments of aiokafka's producer, such as `compression_type` and
            `max_request_size`, the bytes that one record may have.
    """
    arguments = {"name": name, "servers": servers, "key": key}
    given = _checked("kafka.writer", options, WRITE_OPTIONS)
    made = type(
        "TopicWriter",
        (TopicWriter,),
        {
            "security": security
            if security is None or isinstance(security, Security)
            else staticmethod(security)
        },
    )
    return _KafkaWriter("KafkaSink", made, arguments | given)


def _checked(
    who: str, options: Options | None, known: tuple[str, ...]
) -> dict[str, dict[str, Any]]:
    """The argument of that name; none where no option is given. Raises GraphError."""
    for name in options or ():
        if name not in known:
            raise GraphError(
                f"{who}: {name} is no option that can be set: use {', '.join(sorted(known))}"
            )
    return {"options": dict(options)} if options else {}


@dataclass(frozen=True, slots=True)
class _KafkaWriter(Writer[T]):
    def step(self, name: str | None, on_error: OnError) -> Step:
        """The writer has to know what happens to a tuple that brokers refuse later on."""
        step = super(_KafkaWriter, self).step(name, on_error)
        skips = {"skips": True} if on_error == "skip" else {}
        check = partial(check_key, attribute=self.fn_kwargs["key"])
        return replace(step, fn_kwargs={**step.fn_kwargs, **skips}, check=check)


class _Topic:
    """Reads tuples of one type; the type is no argument, since a bundle holds only constants."""

    def __init__(self, type_: Any, security: Secured) -> None:
        self._decode = decoder(type_)
        self._security = security

    def __call__(
        self,
        offsets: Offsets,
        name: str,
        servers: str,
        begin: Begin,
        until_end: bool,
        options: dict[str, Any] | None = None,
    ) -> AsyncIterator[Any]:
        return Reading(
            self._decode,
            self._security,
            offsets,
            (name, servers),
            begin=begin,
            until_end=until_end,
            options=options or {},
        )
