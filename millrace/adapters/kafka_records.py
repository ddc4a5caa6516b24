"""Records of a topic as tuples, tuples as records, and which attribute can be a key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

import msgspec

from millrace.errors import GraphError
from millrace.tuple_types import KEY_TYPES, TupleType

T = TypeVar("T")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


@dataclass
class Record:
    """A record as it is. Sources of this type give also those without a value, or without JSON.

    A writer takes value, key, headers and timestamp, and puts it where its key belongs.

    Attributes:
        value: None: a tombstone, the end of its key in a compacted topic.
        key: None: without a key.
        headers: By name; of several of a name the last one. One without a value has b"".
        timestamp: In UTC. A writer writes None as the present time.
        topic: Where it was read; so are `partition` and `offset`.
    """

    value: bytes | None
    key: bytes | None = None
    headers: dict[str, bytes] = field(default_factory=dict)
    timestamp: datetime | None = None
    topic: str = ""
    partition: int = -1
    offset: int = -1

    def json(self, type_: type[T]) -> T:
        """The value as a tuple of that type. Raises ValueError that names the record."""
        try:
            return _decoded(msgspec.json.Decoder(type_), self.value)
        except ValueError as problem:
            where = f"{self.topic}/{self.partition}@{self.offset}"
            raise ValueError(f"record {where}: {problem}") from None

    def arguments(self) -> dict[str, Any]:
        """What a producer takes. Raises ValueError: no record has that timestamp."""
        found: dict[str, Any] = {"value": self.value, "key": self.key}
        if self.headers:
            found["headers"] = list(self.headers.items())
        if self.timestamp is not None:
            # One without a zone is in that of the machine, as everywhere in Python.
            found["timestamp_ms"] = (self.timestamp.astimezone(UTC) - _EPOCH) // _MILLISECOND
            if found["timestamp_ms"] < 0:
                raise ValueError(
                    f"timestamp {self.timestamp} is before 1970, and that of a record is not"
                )
        return found


def decoder(type_: Any) -> Callable[[Any], Any]:
    """What makes a tuple of that type of what aiokafka gives. It raises ValueError."""
    if type_ is Record:
        return _as_it_is
    json = msgspec.json.Decoder(type_)
    return lambda record: _decoded(json, record.value)


def _decoded(json: msgspec.json.Decoder[T], value: bytes | None) -> T:
    if value is None:
        raise ValueError("it has no value: it is a tombstone")
    return json.decode(value)


def _as_it_is(record: Any) -> Record:
    try:
        at = None if record.timestamp < 0 else _EPOCH + record.timestamp * _MILLISECOND
    except OverflowError:
        raise ValueError(
            f"its timestamp, {record.timestamp} ms since 1970, is after the year 9999"
        ) from None
    headers = {name: value or b"" for name, value in record.headers}
    return Record(
        record.value, record.key, headers, at, record.topic, record.partition, record.offset
    )


def key_of(item: Any, attribute: str | None) -> bytes | None:
    """The key of a tuple: bytes as they are, a number as its digits. None: without a key."""
    if attribute is None:
        return None
    value = item.get(attribute) if isinstance(item, dict) else getattr(item, attribute)
    if value is None or isinstance(value, bytes):
        return value
    return str(value).encode()


def check_key(operator: str, stream: TupleType | None, *, attribute: str | None) -> None:
    """Raises GraphError if tuples of a stream cannot be written by that key."""
    if attribute is None or stream is None:
        return
    found = stream.attribute(attribute)
    if found is None:
        raise GraphError(
            f"{operator}: its key {attribute} is no attribute of the stream (it has {stream.names})"
        )
    kind = found.type.parts[0] if found.type.name == "optional" else found.type
    if kind.name not in KEY_TYPES:
        raise GraphError(
            f"{operator}: its key {attribute} is {found.shown}, and a key of a record is str, int, "
            "bool or bytes, or None"
        )
