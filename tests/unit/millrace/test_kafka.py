"""A source of a topic, with brokers that are played in memory."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import pytest
from aiokafka import errors

from millrace import App, OperatorFailed
from millrace.adapters import kafka
from millrace.adapters.kafka_positions import has_ended
from millrace.adapters.kafka_reading import Reading
from millrace.adapters.kinds import Reader
from millrace.channels import Channel, within
from millrace.errors import InputRefused
from tests.patience import patient
from tests.unit.millrace.playing_kafka import Brokers, named, play


@dataclass
class Named:
    name: str


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    return play(monkeypatch)


def reading(
    offsets: kafka.Offsets | None = None,
    type_: type = Named,
    *,
    channel: Channel | None = None,
    **more: Any,
) -> Any:
    """The source of the topic `t`, which has to be read to its end unless more is given."""
    reader: Reader[Any] = kafka.topic("t", type_, servers="x:1", **{"until_end": True, **more})
    with within(channel or Channel()):
        return reader.function(offsets or kafka.Offsets(), **reader.fn_kwargs)


async def names(source: AsyncIterator[Any]) -> list[str]:
    """Those of a source that ends."""
    async with asyncio.timeout(patient(10)):
        return [each.name async for each in source]


@pytest.mark.parametrize("parallel", [None, 2, 5])
def test_all_partitions_of_a_topic_are_read_once(brokers: Brokers, parallel: int | None) -> None:
    brokers.add("t", named("a", "b"), named("c"), named("d"))
    app, found = App("demo::Kafka"), list[Named]()
    topic = kafka.topic("t", Named, servers="x:1", begin="earliest", until_end=True)
    stream = app.source(topic, parallel=parallel)
    (stream.end_parallel() if parallel else stream).sink(found.append)
    app.run()
    assert sorted(each.name for each in found) == ["a", "b", "c", "d"]
    assert brokers.open == 0


async def test_a_topic_is_read_from_the_offsets_of_the_state(brokers: Brokers) -> None:
    brokers.add("t", named("a", "b"), named("c"))
    offsets = kafka.Offsets({0: 1, 1: 0})
    assert sorted(await names(reading(offsets))) == ["b", "c"]
    assert offsets.next == {0: 2, 1: 1}


async def test_a_source_that_begins_at_the_end_gives_only_what_comes_later(
    brokers: Brokers,
) -> None:
    (log,) = brokers.add("t", named("old"))
    source = reading(until_end=False)
    first = asyncio.create_task(anext(source))
    await turns(lambda: source._assigned is not None)
    log.append(b'{"name":"new"}')
    assert (await first).name == "new"
    await source.aclose()


async def turns(condition: Callable[[], bool]) -> None:
    """Let others run until it holds."""
    async with asyncio.timeout(patient(20)):
        while not condition():  # noqa: ASYNC110 - of others, who set no event
            await asyncio.sleep(0)


async def test_what_ends_the_look_for_partitions_is_raised_and_it_begins_again(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, the source went on without it, and never read a partition that was added."""
    brokers.add("t", named("a"))
    source = reading(begin="earliest", until_end=False)
    assert (await anext(source)).name == "a"
    with monkeypatch.context() as broken:
        broken.setattr(type(source._admin), "describe_topics", None)
        with pytest.raises(TypeError, match="not callable"):
            async with asyncio.timeout(patient(10)):
                await anext(source)
    brokers.add("t", named("b"))
    async with asyncio.timeout(patient(10)):
        assert (await anext(source)).name == "b"
    await source.aclose()


@pytest.mark.parametrize("begin", ["earliest", "latest"])
@pytest.mark.parametrize("count", [1, 2, 3, 7])
async def test_each_record_of_partitions_that_are_added_comes_once(
    brokers: Brokers, begin: Literal["earliest", "latest"], count: int
) -> None:
    """Before, partitions that were added to several channels were read by all, and from the end."""
    brokers.add("t", *([] for _ in range(4)))
    sources = [
        reading(channel=Channel(index, count), begin=begin, until_end=False)
        for index in range(count)
    ]
    found: list[str] = []

    async def read(source: Any) -> None:
        async for each in source:
            found.append(each.name)  # noqa: PERF401 - it is looked at meanwhile

    tasks = [asyncio.create_task(read(each)) for each in sources]
    await turns(lambda: all(each._assigned is not None for each in sources))
    sent = 0
    for size in (4, 6, 9):
        while len(brokers.topics["t"]) < size:
            brokers.add("t", [])
        for number in range(60):
            brokers.topics["t"][number % size].append(b'{"name":"%d"}' % sent)
            sent += 1
            await asyncio.sleep(0)
    await turns(lambda: len(set(found)) == sent)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for source in sources:
        await source.aclose()
    assert Counter(found) == Counter(map(str, range(sent)))


async def test_partitions_that_were_added_between_two_launches_are_read_from_their_beginning(
    brokers: Brokers,
) -> None:
    """Also by a channel that had none before."""
    brokers.add("t", named("a"))
    states = [kafka.Offsets(), kafka.Offsets()]
    for index, offsets in enumerate(states):
        source = reading(offsets, channel=Channel(index, 2))
        assert await names(source) == []  # begin="latest"
        await source.aclose()
    brokers.add("t", named("b"), named("c"))
    found = [await names(reading(each, channel=Channel(at, 2))) for at, each in enumerate(states)]
    assert found == [["c"], ["b"]]


async def test_a_broker_that_does_not_know_of_partitions_yet_takes_none_away(
    brokers: Brokers,
) -> None:
    brokers.add("t", named("a"), named("b"))
    source = reading(begin="earliest", until_end=False)
    assert sorted([(await anext(source)).name, (await anext(source)).name]) == ["a", "b"]
    kept, brokers.topics["t"] = brokers.topics["t"], brokers.topics["t"][:1]
    waiting = asyncio.create_task(anext(source))
    described = len(brokers.arguments["admin"])
    await asyncio.sleep(0)
    brokers.topics["t"] = kept
    kept[1].append(b'{"name":"c"}')
    assert (await waiting).name == "c"
    assert described == 1
    await source.aclose()


async def test_a_position_that_is_gone_goes_on_with_the_oldest_and_says_what_is_lost(
    brokers: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    (log,) = brokers.add("t", named(*"abcdef"))
    log.delete_before(4)
    offsets = kafka.Offsets({0: 1})
    assert await names(reading(offsets)) == ["e", "f"]
    assert offsets.next == {0: 6}
    (line,) = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert "up to 3 records of t/0 are lost, from offset 1 to 3" in line.getMessage()
    assert line.name.startswith("millrace.runtime"), "a PE shows warnings of these"


async def test_a_topic_that_was_made_again_is_read_from_its_beginning(
    brokers: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    brokers.add("t", named("x", "y"))
    assert await names(reading(kafka.Offsets({0: 100}))) == ["x", "y"]
    assert "t/0 has no offset 100 any more: it was made again" in caplog.text


@pytest.mark.parametrize(
    ("position", "looked", "expected"),
    [(2, [], True), (1, [0], False), (100, [], False), (100, [1], False), (100, [0], True)],
)
def test_a_position_behind_the_end_counts_once_its_broker_has_answered(
    position: int, looked: list[int], expected: bool
) -> None:
    """Until then it may be one of a former topic, whose records were not read."""
    assert has_ended({0: position}, {0: 2}, looked) is expected


async def test_markers_of_transactions_end_no_source_late_and_are_passed(brokers: Brokers) -> None:
    """Before, a topic whose last offset is no record was never at its end."""
    (log,) = brokers.add("t", named("a"))
    log.append_marker()
    log.append(b'{"name":"b"}')
    log.append_marker()
    offsets = kafka.Offsets()
    assert await names(reading(offsets, begin="earliest")) == ["a", "b"]
    assert offsets.next == {0: 4}
    assert brokers.arguments["consumer"][0]["isolation_level"] == "read_committed"


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (None, "record t/0@1: it has no value: it is a tombstone"),
        (b"oops", "record t/0@1: JSON is malformed"),
        (b"{}", "record t/0@1: Object missing required field `name`"),
        (b"\xff", "record t/0@1: JSON is malformed"),
    ],
)
async def test_a_record_that_is_no_tuple_stays_in_front_until_it_is_passed_by(
    brokers: Brokers, value: bytes | None, sentence: str
) -> None:
    brokers.add("t", [*named("a"), value, *named("b")])
    offsets = kafka.Offsets()
    source = reading(offsets, begin="earliest")
    assert (await anext(source)).name == "a"
    for _ in range(2):
        with pytest.raises(InputRefused, match=sentence) as refused:
            await anext(source)
    assert offsets.next == {0: 1}
    refused.value.pass_by()
    assert await names(source) == ["b"]
    await source.aclose()


DEEP = b'{"name":"a","more":%s}' % (b"[" * 100_000 + b"]" * 100_000)


@dataclass
class Unit:
    name: str

    def __post_init__(self) -> None:
        _ = {"km": 1}[self.name]


@pytest.mark.parametrize(
    ("type_", "value", "timestamp", "sentence"),
    [
        (Named, DEEP, 0, "record t/0@0: RecursionError"),
        (Unit, b'{"name":"mile"}', 0, "record t/0@0: KeyError: 'mile'"),
        (
            kafka.Record,
            b"",
            10**18,
            "record t/0@0: its timestamp, 1000000000000000000 ms since",
        ),
    ],
)
async def test_whatever_a_record_raises_it_can_be_passed_by(
    brokers: Brokers, type_: type, value: bytes, timestamp: int, sentence: str
) -> None:
    """Before, a source that skips came to such a record again, for ever."""
    (log,) = brokers.add("t", [])
    log.append(value, timestamp=timestamp)
    log.append(b'{"name":"km"}')
    source = reading(type_=type_, begin="earliest")
    with pytest.raises(InputRefused, match=sentence) as refused:
        await anext(source)
    refused.value.pass_by()
    await anext(source)
    await source.aclose()


async def test_tombstones_are_skipped_without_a_pause_and_counted(brokers: Brokers) -> None:
    """Before, a pause of up to 10 s followed each: a compacted topic took hours."""
    brokers.add("t", [*[None] * 500, *named("a")])
    app, found = App("demo::Kafka"), list[Named]()
    topic = kafka.topic("t", Named, servers="x:1", begin="earliest", until_end=True)
    app.source(topic, on_error="skip", name="In").sink(found.append)
    async with asyncio.timeout(patient(10)):
        counts = await app.run_async()
    assert counts["In"].skipped == 500
    assert [each.name for each in found] == ["a"]
    assert len(brokers.arguments["consumer"]) == 1, "it stays connected"


async def test_records_come_as_they_are(brokers: Brokers) -> None:
    (log,) = brokers.add("t", [])
    log.append(None, key=b"k", headers=(("h", b"1"), ("n", None)), timestamp=1_500)
    (found,) = [each async for each in reading(type_=kafka.Record, begin="earliest")]
    at = datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)
    assert found == kafka.Record(None, b"k", {"h": b"1", "n": b""}, at, "t", 0, 0)
    with pytest.raises(ValueError, match="record t/0@0: it has no value"):
        found.json(Named)
    assert kafka.Record(b'{"name":"a"}').json(Named) == Named("a")


async def test_a_timestamp_that_is_no_datetime_is_refused_with_its_record(
    brokers: Brokers,
) -> None:
    """Some producers write microseconds."""
    (log,) = brokers.add("t", [])
    for at in (1_700_000_000_000_000, 1_000):
        log.append(b"v", timestamp=at)
    source = reading(type_=kafka.Record, begin="earliest")
    with pytest.raises(
        InputRefused, match=r"t/0@0: its timestamp, 17\d* ms .* year 9999"
    ) as refused:
        await anext(source)
    refused.value.pass_by()
    assert (await anext(source)).offset == 1
    await source.aclose()


def test_a_topic_that_does_not_exist_is_named(brokers: Brokers) -> None:
    app = App("demo::Kafka")
    app.source(kafka.topic("none", Named, servers="x:1")).sink(print)
    with pytest.raises(OperatorFailed, match="topic none does not exist at x:1"):
        app.run()
    assert brokers.open == 0


async def test_a_source_goes_on_where_brokers_were_away_when_it_began(brokers: Brokers) -> None:
    brokers.add("t", named("a"))
    brokers.is_away = True
    source = reading(begin="earliest")
    with pytest.raises(errors.KafkaConnectionError, match="x:1: Unable connect: a certificate is"):
        await anext(source)
    assert brokers.open == 0
    brokers.is_away = False
    assert await names(source) == ["a"]
    assert brokers.open == 0


def test_reading_is_no_generator() -> None:
    """A generator would end where it raises, and connect again for each bad record."""
    assert isinstance(reading(), Reading)
