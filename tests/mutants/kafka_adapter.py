"""Planted bugs in the adapter for Kafka: what it reads, where it goes on, and what it writes."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_POSITIONS = "millrace/adapters/kafka_positions.py"
_READING = "millrace/adapters/kafka_reading.py"
_RECORDS = "millrace/adapters/kafka_records.py"
_SECURITY = "millrace/adapters/kafka_security.py"
_WRITING = "millrace/adapters/kafka_writing.py"
_READS = ("tests/unit/millrace/test_kafka.py",)
_WRITES = ("tests/unit/millrace/test_kafka_writing.py",)
_SECURED = ("tests/unit/millrace/test_kafka_security.py",)

MUTANTS = (
    Mutant(
        "every channel reads all partitions of a topic",
        _POSITIONS,
        "share",
        "if each % mine.count == mine.index",
        "if True",
        _READS,
    ),
    Mutant(
        "a record with a timestamp that is no datetime ends its source",
        _RECORDS,
        "_as_it_is",
        "except OverflowError",
        "except KeyError",
        (*_READS, "-k", "no_datetime"),
    ),
    Mutant(
        "a record is written with a timestamp that comes back as none",
        _RECORDS,
        "Record.arguments",
        'found["timestamp_ms"] < 0',
        "False",
        (*_WRITES, "-k", "headers_and_timestamp"),
    ),
    Mutant(
        "a partition that was added begins where the source began",
        _POSITIONS,
        "beginnings",
        '"earliest" if has_begun else begin',
        "begin",
        _READS,
    ),
    Mutant(
        "a channel that had no partition has not begun",
        _READING,
        "Reading._assign",
        "self._offsets.has_begun = True",
        "pass",
        _READS,
    ),
    Mutant(
        "partitions that were assigned again begin at their oldest record",
        _READING,
        "Reading._assign",
        "consumer.seek(self._place(each), self._offsets.next[each])",
        "consumer.seek(self._place(each), 0)",
        _READS,
    ),
    Mutant(
        "records of aborted transactions are given",
        _READING,
        "Reading._connect",
        '"isolation_level": "read_committed"',
        '"isolation_level": "read_uncommitted"',
        _READS,
    ),
    Mutant(
        "markers of transactions hold up the end of a topic",
        _READING,
        "Reading._pass_what_is_no_record",
        "max(self._offsets.next[each], position)",
        "self._offsets.next[each]",
        _READS,
    ),
    Mutant(
        "a position of a former topic counts as its end",
        _POSITIONS,
        "has_ended",
        "(next_[each] > end and each in seen)",
        "next_[each] > end",
        _READS,
    ),
    Mutant(
        "a position that is gone is left out in silence",
        _READING,
        "Reading._go_on_with_oldest",
        "LOG.warning(",
        "LOG.debug(",
        _READS,
    ),
    Mutant(
        "a bad record is behind the source before it is passed by",
        _READING,
        "Reading.__anext__",
        "record = self._found[0]",
        "record = self._found.popleft()",
        _READS,
    ),
    Mutant(
        "a record that is no tuple for a reason of its own is read again for ever",
        _READING,
        "Reading.__anext__",
        "except Exception as problem:",
        "except ValueError as problem:",
        _READS,
    ),
    Mutant(
        "bytes are written as a key of their text",
        _RECORDS,
        "key_of",
        "if value is None or isinstance(value, bytes):",
        "if value is None:",
        _WRITES,
    ),
    Mutant(
        "no key is written as a text",
        _RECORDS,
        "key_of",
        "if value is None or isinstance(value, bytes):",
        "if isinstance(value, bytes):",
        _WRITES,
    ),
    Mutant(
        "a key that is no attribute is found out at the first tuple",
        _RECORDS,
        "check_key",
        "if attribute is None or stream is None:",
        "if True:",
        _WRITES,
    ),
    Mutant(
        "what the brokers refused is forgotten",
        _WRITING,
        "TopicWriter._answered",
        "self._is_broken = True",
        "self._forget(first)",
        _WRITES,
    ),
    Mutant(
        "the producer that was refused goes on",
        _WRITING,
        "TopicWriter._send_again",
        "await self._disconnect()",
        "pass",
        _WRITES,
    ),
    Mutant(
        "a stop cancels the answer to what was written",
        _WRITING,
        "TopicWriter._answered",
        "await asyncio.wait([first.answer])",
        "await first.answer",
        _WRITES,
    ),
    Mutant(
        "what waits to be written is not bounded in bytes",
        _WRITING,
        "TopicWriter._is_due",
        "or self._waiting_bytes > size",
        "",
        _WRITES,
    ),
    Mutant(
        "the password is in the repr of a login",
        _SECURITY,
        "Security",
        'password: str = field(default="", repr=False)',
        'password: str = field(default="")',
        _SECURED,
    ),
    Mutant(
        "each record that is skipped costs a pause",
        "millrace/runtime/raising.py",
        "_is_passed",
        "isinstance(problem, InputRefused) and problem.is_passed",
        "False",
        _READS,
    ),
    Mutant(
        "certificates with names beside them are refused",
        "millrace/adapters/certificates.py",
        "ascii_of",
        'pem.encode("ascii", "ignore").decode()',
        "pem",
        _SECURED,
    ),
    Mutant(
        "certificates in a file are not those of the pod",
        "millrace/adapters/certificates.py",
        "pem_of",
        "place_of(os.fspath(path))",
        "__import__('pathlib').Path(path)",
        _SECURED,
    ),
)
