"""The envelope of every record on a topic: CloudEvents 1.0 attributes plus our cause and trace.

The attributes travel as `ce_*` headers (Kafka binary mode); the data is a JSON value. What the data
means is in `facts.py` and `decisions.py`; how records are carried is the chassis's business.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from contracts.moments import micro_moment_of, unix_s_of

SPEC_VERSION = "1.0"
SCHEMA_VERSION = "1"
_PREFIX = "ce_"
_ATTRIBUTES = ("id", "source", "type", "subject", "time", "cause", "dataschemaversion")
_NAMES = frozenset(("traceparent", *(_PREFIX + each for each in _ATTRIBUTES)))
_OFFSET = re.compile(r"[+-]\d\d:\d\d$")


class MalformedRecord(ValueError):
    """A record that cannot be read; it is counted, logged with its offset and skipped."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """CloudEvents attributes of one record.

    `time_s` is unix seconds; `trace_id` is 32 hex digits and names the user action at the root;
    `cause` is the id of the event that led to this one, or empty. `span_id` names the span that led
    to it, as 16 hex digits; empty: that of the user action.
    """

    id: str
    source: str
    type: str
    subject: str
    time_s: float
    trace_id: str
    cause: str = ""
    schema_version: str = SCHEMA_VERSION
    span_id: str = ""

    @property
    def parent_id(self) -> str:
        """The span that what follows from the record is a child of."""
        return self.span_id or root_span_id(self.trace_id)


def root_span_id(trace_id: str) -> str:
    """The id of the span of the user action at the root of a trace."""
    return trace_id[:16]


def to_headers(envelope: Envelope) -> tuple[tuple[str, bytes], ...]:
    """Headers in CloudEvents' Kafka binary mode, `traceparent` included."""
    attributes = {
        "id": envelope.id,
        "source": envelope.source,
        "specversion": SPEC_VERSION,
        "type": envelope.type,
        "subject": envelope.subject,
        "time": micro_moment_of(envelope.time_s),
        "dataschemaversion": envelope.schema_version,
        "cause": envelope.cause,
    }
    headers = tuple((_PREFIX + key, value.encode()) for key, value in attributes.items())
    parent = f"00-{envelope.trace_id}-{envelope.parent_id}-01"
    return (*headers, ("traceparent", parent.encode()), ("content-type", b"application/json"))


def from_headers(headers: tuple[tuple[str, bytes], ...]) -> Envelope:
    """The envelope of a record; raises MalformedRecord naming what is missing or wrong."""
    try:
        return from_texts({name: value.decode() for name, value in headers if name in _NAMES})
    except UnicodeDecodeError as problem:
        raise MalformedRecord(f"header {problem}") from problem


def from_texts(headers: Mapping[str, str]) -> Envelope:
    """The envelope of headers that are texts; raises MalformedRecord like `from_headers`."""
    return Envelope(*_attributes(headers))


def type_and_schema(headers: Mapping[str, str]) -> tuple[str, str]:
    """The type and the schema version of headers, for readers who need no more of an envelope.

    It refuses what `from_texts` refuses.
    """
    _, _, type_, _, _, _, _, schema_version, _ = _attributes(headers)
    return type_, schema_version


def _attributes(
    headers: Mapping[str, str],
) -> tuple[str, str, str, str, float, str, str, str, str]:
    """The fields of an `Envelope`, in their order; raises MalformedRecord."""
    try:
        _, trace_id, span_id, *_ = headers["traceparent"].split("-")
        return (
            headers["ce_id"],
            headers["ce_source"],
            headers["ce_type"],
            headers["ce_subject"],
            _unix_s_of(headers["ce_time"]),
            trace_id,
            headers.get("ce_cause", ""),
            headers["ce_dataschemaversion"],
            "" if span_id == root_span_id(trace_id) else span_id,
        )
    except (KeyError, ValueError, IndexError) as problem:
        raise MalformedRecord(f"header {problem}") from problem


def _unix_s_of(time: str) -> float:
    """An RFC 3339 time, or the unix seconds that releases before 0.2 wrote; raises ValueError."""
    if "T" in time:
        if time[-1] != "Z" and not _OFFSET.search(time):
            raise ValueError(f"ce_time has no offset from UTC: {time}")
        return unix_s_of(time)
    unix_s = float(time)
    if not math.isfinite(unix_s):
        raise ValueError(f"ce_time is {time}")
    return unix_s
