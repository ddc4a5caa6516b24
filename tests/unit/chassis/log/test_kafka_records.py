"""What Kafka gives as a record, and what the port promises: bytes, never nothing."""

from __future__ import annotations

from aiokafka.structs import ConsumerRecord

from services.chassis.log.bus import Partition
from services.chassis.log.kafka_reading import record_of

HERE = Partition("t", 0)


def found(
    key: bytes | None, value: bytes | None, headers: tuple[tuple[str, bytes | None], ...]
) -> ConsumerRecord:
    return ConsumerRecord("t", 0, 7, 1500, 0, key, value, None, -1, -1, headers)


def test_a_record_without_key_value_and_header_values_has_empty_ones() -> None:
    """A line of the console producer has no key; reading one must not end a service."""
    record = record_of(HERE, found(None, None, (("ce_id", None), ("ce_type", b"x"))))
    assert (record.key, record.value) == (b"", b"")
    assert record.headers == (("ce_id", b""), ("ce_type", b"x"))


def test_a_whole_record_is_given_as_it_is() -> None:
    record = record_of(HERE, found(b"k", b"v", (("ce_id", b"1"),)))
    assert (record.offset, record.timestamp_s) == (7, 1.5)
    assert (record.key, record.value, record.headers) == (b"k", b"v", (("ce_id", b"1"),))
