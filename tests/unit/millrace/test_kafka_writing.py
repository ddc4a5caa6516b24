"""A sink of a topic, options and logins, with brokers that are played in memory."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest
from aiokafka import errors

from millrace import App, GraphError
from millrace.adapters import kafka
from tests.unit.millrace.playing_kafka import Brokers, named, play


@dataclass
class Named:
    name: str


@dataclass
class Keyed:
    name: str
    text: str | None = None
    raw: bytes | None = None
    number: int = 7
    ratio: float = 0.5


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    return play(monkeypatch)


def writer_of(on_error: Literal["fail", "skip"] = "fail", **more: Any) -> Any:
    step = kafka.writer("t", servers="x:1", **more).step(None, on_error)
    return step.function(**step.fn_kwargs)


@pytest.mark.parametrize(
    ("key", "item", "expected"),
    [
        ("raw", Keyed("a", raw=b"\xff"), b"\xff"),
        ("raw", Keyed("a"), None),
        ("text", Keyed("a", "ä"), "ä".encode()),
        ("text", Keyed("a"), None),
        ("number", Keyed("a"), b"7"),
        ("name", {"name": "a"}, b"a"),
        ("name", {}, None),
    ],
)
async def test_keys_are_written_as_they_are(
    brokers: Brokers, key: str, item: Any, expected: bytes | None
) -> None:
    """Before, bytes were written as `b'…'`, and None as the text None."""
    brokers.add("t", [])
    writer = writer_of(key=key)
    await writer(item)
    await writer.close()
    assert [each["key"] for each in brokers.written] == [expected]


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("nome", r"its key nome is no attribute of the stream \(it has name, text"),
        ("ratio", "its key ratio is float, and a key of a record is str, int, bool or bytes"),
    ],
)
def test_what_cannot_be_a_key_is_refused_when_the_graph_is_built(key: str, sentence: str) -> None:
    app = App("demo::Kafka")
    stream = app.source(lambda: [], returns=Keyed)
    with pytest.raises(GraphError, match=f"operator KafkaSink: {sentence}"):
        stream.sink(kafka.writer("t", servers="x:1", key=key))


async def test_a_number_that_json_does_not_have_is_refused_and_not_written_as_null(
    brokers: Brokers,
) -> None:
    brokers.add("t", [])
    writer = writer_of()
    with pytest.raises(ValueError, match="ratio is nan, and JSON has no such number"):
        await writer(Keyed("a", ratio=float("nan")))
    await writer(Keyed("b", text=None))
    await writer.close()
    assert [each["value"][:11] for each in brokers.written] == [b'{"name":"b"']


async def test_a_record_is_written_with_its_key_headers_and_timestamp(brokers: Brokers) -> None:
    brokers.add("t", [])
    writer = writer_of()
    at = datetime(1970, 1, 1, 2, 0, 1, tzinfo=UTC) - timedelta(hours=2)
    await writer(kafka.Record(b"v", b"k", {"h": b"1"}, at, "another", 3, 9))
    await writer(kafka.Record(None, b"k"))
    await writer.flush()
    first, second = brokers.written
    headers = [("h", b"1")]
    assert first == {
        "topic": "t", "value": b"v", "key": b"k", "headers": headers, "timestamp_ms": 1_000,
    }  # fmt: skip
    assert second == {"topic": "t", "value": None, "key": b"k"}
    with pytest.raises(ValueError, match="neither"):
        await writer(kafka.Record(None))
    with pytest.raises(ValueError, match=r"timestamp 1969-12-31 .* is before 1970"):
        await writer(kafka.Record(b"v", timestamp=datetime(1969, 12, 31, tzinfo=UTC)))
    await writer.close()


async def test_a_tuple_that_is_too_large_is_named_and_others_are_written(brokers: Brokers) -> None:
    brokers.add("t", [])
    writer = writer_of()
    await writer(Named("a"))
    with pytest.raises(ValueError, match=r"Named\(name='xxx.* is too large for a record"):
        await writer(Named("x" * 2_000))
    await writer(Named("b"))
    await writer.close()
    assert [each["value"] for each in brokers.written] == named("a", "b")


BAD, LATER = named("bad", "later")


async def test_what_the_brokers_refuse_is_named_and_waits_until_they_take_it(
    brokers: Brokers,
) -> None:
    """Before, it was lost, another tuple was blamed, and its partition took nothing any more."""
    brokers.add("t", [])
    brokers.refused[BAD or b""] = errors.MessageSizeTooLargeError()
    writer = writer_of()
    for name in ("a", "bad", "b"):
        await writer(Named(name))
    for _ in range(2):
        with pytest.raises(ValueError, match=r"Named\(name='bad'\) is not written to topic t"):
            await writer.flush()
    with pytest.raises(ValueError, match=r"Named\(name='bad'\) is not written"):
        await writer(Named("later"))
    brokers.refused.clear()
    await writer(Named("later"))  # as the runtime tries it again
    await writer.close()
    assert [each["value"] for each in brokers.written] == named("a", "bad", "b", "later")
    assert brokers.open == 0


async def test_with_skip_only_what_the_brokers_refuse_is_left_out(
    brokers: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    brokers.add("t", [])
    brokers.refused[BAD or b""] = errors.MessageSizeTooLargeError()
    writer = writer_of("skip")
    for name in ("a", "bad", "b"):
        await writer(Named(name))
    await asyncio.sleep(0)
    with pytest.raises(ValueError, match=r"Named\(name='bad'\) is not written to topic t"):
        await writer(Named("c"))
    await writer(Named("bad"))
    await writer(Named("d"))
    await writer.close()
    assert [each["value"] for each in brokers.written] == named("a", "b", "c", "d")
    assert "name='bad'" in caplog.text


async def test_what_is_left_out_is_logged_where_the_next_tuple_fails_too(
    brokers: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    """Before, only the next one was counted and logged: nobody heard of the first."""
    brokers.add("t", [])
    brokers.refused[BAD or b""] = errors.MessageSizeTooLargeError()
    writer = writer_of("skip")
    await writer(Named("bad"))
    await asyncio.sleep(0)
    with pytest.raises(ValueError, match=r"Named\(name='xxx.* is too large for a record"):
        await writer(Named("x" * 2_000))
    assert "name='bad'" in caplog.text
    caplog.clear()
    await writer(Named("bad"))
    await asyncio.sleep(0)
    brokers.topics.clear()
    with pytest.raises(ValueError, match="topic t does not exist"):
        await writer(Named("a"))
    brokers.add("t", [])
    await writer.flush()
    await writer.close()
    assert "name='bad'" in caplog.text


async def test_a_flush_that_is_stopped_loses_nothing(brokers: Brokers) -> None:
    """To await the answer itself would cancel it, and nobody would know what became of it."""
    brokers.add("t", [])
    writer = writer_of()
    await writer(Named("a"))
    flush = asyncio.create_task(writer.flush())
    flush.get_loop().call_soon(flush.cancel)
    await asyncio.gather(flush, return_exceptions=True)
    await writer.flush()
    await writer.close()
    assert [each["value"] for each in brokers.written] == named("a")


async def test_a_topic_that_does_not_exist_is_not_written(brokers: Brokers) -> None:
    with pytest.raises(ValueError, match="topic t does not exist at x:1"):
        await writer_of()(Named("a"))
    assert brokers.open == 0


async def test_what_waits_is_bounded_in_bytes(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millrace.adapters.kafka_writing.WAITING_BYTES_MAX", 40)
    brokers.add("t", [])
    writer = writer_of()
    for name in "abcdef":
        await writer(Named(name))
        assert writer._waiting_bytes <= 40
    await writer.flush()
    for _ in range(3):
        await writer(kafka.Record(b"", headers={"name": b"x" * 20}))
        assert writer._waiting_bytes == 24  # one waits, and the next for it
    await writer.close()


def source_of(**more: Any) -> Any:
    reader: Any = kafka.topic("t", Named, servers="x:1", until_end=True, **more)
    return reader.function(kafka.Offsets(), **reader.fn_kwargs)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (kafka.topic, "group_id"),
        (kafka.topic, "sasl_plain_password"),
        (kafka.topic, "compression_type"),
        (kafka.writer, "acks"),
        (kafka.writer, "transactional_id"),
        (kafka.writer, "isolation_level"),
    ],
)
def test_options_that_nobody_can_set_are_refused(make: Any, name: str) -> None:
    arguments = (Named,) if make is kafka.topic else ()
    with pytest.raises(GraphError, match=f"{name} is no option that can be set: use .*client_id"):
        make("t", *arguments, servers="x:1", options={name: "1"})


def test_another_beginning_is_refused() -> None:
    with pytest.raises(GraphError, match="begin is 'newest': use earliest or latest"):
        kafka.topic("t", Named, servers="x:1", begin="newest")  # type: ignore[arg-type]


async def test_options_reach_the_clients(brokers: Brokers) -> None:
    brokers.add("t", named("a"))
    options = {"client_id": "me", "isolation_level": "read_uncommitted"}
    source = source_of(options=options)
    assert [each.name async for each in source] == []
    (consumer,), (admin,) = brokers.arguments["consumer"], brokers.arguments["admin"]
    assert consumer.items() >= options.items()
    assert admin == {"bootstrap_servers": "x:1", "client_id": "me"}
    writer = writer_of(options={"compression_type": "gzip"})
    await writer(Named("b"))
    await writer.close()
    (producer,) = brokers.arguments["producer"]
    assert producer.items() >= {"compression_type": "gzip", "acks": "all"}.items()
    assert producer["enable_idempotence"] is True


@dataclass
class Calls:
    """A function of an application that reads a secret when a client connects."""

    count: int = 0
    made: kafka.Security = field(
        default_factory=lambda: kafka.Security(username="me\n", password="secret\n", tls=False)
    )

    def __call__(self) -> kafka.Security:
        self.count += 1
        return self.made


async def test_a_login_is_read_when_a_client_connects(brokers: Brokers) -> None:
    brokers.add("t", named("a"))
    login = Calls()
    source = source_of(security=login)
    writer = writer_of(security=login)
    assert login.count == 0
    assert [each.name async for each in source] == []
    await writer(Named("b"))
    await writer.close()
    assert login.count == 2
    expected = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "me",
        "sasl_plain_password": "secret",
    }
    for kind in ("consumer", "admin", "producer"):
        assert brokers.arguments[kind][0].items() >= expected.items()


def test_the_graph_and_its_bundle_have_no_secret() -> None:
    app = App("demo::Kafka")
    secret = kafka.Security(username="me", password="very secret", key="very secret")
    stream = app.source(kafka.topic("t", Named, servers="x:1", security=secret))
    stream.sink(kafka.writer("t", servers="x:1", security=secret))
    for operator in app.graph.operators:
        assert "very secret" not in repr(operator) + str(operator.fn_kwargs)
    assert "very secret" not in repr(secret)
    assert isinstance(app.graph.operator("KafkaTopic").function, object)
