"""Envelopes are CloudEvents 1.0 in Kafka's binary mode, and so are those of the release before."""

from __future__ import annotations

import pytest

from contracts.envelope import Envelope, MalformedRecord, from_headers, to_headers

ENVELOPE = Envelope("1", "watch-ingest/a", "ADDITION", "Job/d/shop", 1763000000.25, "0" * 32)
HEADERS = to_headers(ENVELOPE)


def with_time(text: bytes) -> tuple[tuple[str, bytes], ...]:
    return tuple((name, text if name == "ce_time" else value) for name, value in HEADERS)


def test_an_envelope_comes_back_from_its_headers() -> None:
    assert from_headers(HEADERS) == ENVELOPE


def test_the_time_is_rfc_3339_as_cloudevents_demands() -> None:
    assert dict(HEADERS)["ce_time"] == b"2025-11-13T02:13:20.250000Z"


@pytest.mark.parametrize(
    "text", [b"1763000000.250000", b"2025-11-13T02:13:20.25Z", b"2025-11-13T04:13:20.25+02:00"]
)
def test_unix_seconds_of_the_release_before_and_other_offsets_are_read(text: bytes) -> None:
    assert from_headers(with_time(text)).time_s == ENVELOPE.time_s


@pytest.mark.parametrize(
    "text", [b"", b"yesterday", b"nan", b"inf", b"2025-13-13T02:13:20Z", b"\xff"]
)
def test_what_is_no_time_is_a_malformed_record(text: bytes) -> None:
    with pytest.raises(MalformedRecord, match="header"):
        from_headers(with_time(text))


def test_a_time_without_an_offset_is_refused() -> None:
    """It would be read in the zone of the machine."""
    with pytest.raises(MalformedRecord, match="offset"):
        from_headers(with_time(b"2025-11-13T02:13:20"))
