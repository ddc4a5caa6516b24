"""Records of the log become entries; what nobody can read is an entry too."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from contracts.decisions import (
    DECISION_TYPE,
    OBSERVATION_TYPE,
    DecisionRecord,
    EffectRecord,
    EffectsDecided,
    ObjectsRead,
    Observation,
    ObservationsRecord,
    Position,
)
from contracts.envelope import Envelope, to_headers
from contracts.facts import Epoch, Fact, FactType
from contracts.topics import DECISIONS, RESOURCES, TopicLayout
from history.entries import (
    Decided,
    Entry,
    Observed,
    Place,
    Seen,
    Unread,
    entries_of,
    partition_name,
    partition_named,
)
from history.sources import Bounds, LogSource
from services.chassis.log.bus import NewRecord, Partition, Record
from services.chassis.log.memory_log import MemoryLog
from tests.unit.chassis.running.saying import METADATA
from tests.virtual_time import virtually

LAYOUT = TopicLayout("other", 2)
FACTS = Partition(LAYOUT.name(RESOURCES), 1)
DECIDED = Partition(LAYOUT.name(DECISIONS), 0)
POSITION = Position("i", "s", {"resources/1": 4}, 3, 2)
DECISION = DecisionRecord(
    service="pod-state-machine",
    key="default/j-1",
    reason="LaunchDue",
    effects=(
        EffectRecord("CreatePod", "j-1-abc", "created", value={"launch": 2}),
        EffectRecord("PatchStatus", "u", "transient", sha256="ab"),
    ),
    decided=EffectsDecided(2, "cd"),
    cause="c",
    detail={"waits": ["n"]},
    rules={"launch": "LAUNCH_DUE"},
    now=12.5,
    release="0.1.0",
    position=POSITION,
    objects=ObjectsRead(2, "ef", ("Pod/default/a u@1",), "12"),
)
OBSERVATIONS = ObservationsRecord(
    "pod-state-machine",
    "i",
    "s",
    (
        Observation(1, "reading", {"offsets": {}}, {}),
        Observation(2, "slept", {"seconds": 3}, {"resources/1": 4}),
    ),
)


def envelope(type_: str) -> Envelope:
    return Envelope("e", "test", type_, "s", 10.0, "0" * 32)


def record(partition: Partition, type_: str, value: Mapping[str, Any], key: str = "k") -> Record:
    headers = to_headers(envelope(type_))
    return Record(partition, 7, 11.0, key.encode(), orjson.dumps(value), headers)


def only(found: Record) -> Entry:
    (entry,) = entries_of(found, LAYOUT.prefix)
    return entry


def test_a_decision_is_read_as_it_was_written() -> None:
    found = only(record(DECIDED, DECISION_TYPE, DECISION.to_json(), "default/j"))
    place = Place("decisions/0", 7)
    assert found == Decided(place, envelope(DECISION_TYPE), DECISION, "default", "j")
    assert found.time_s == DECISION.now


def test_packed_observations_are_entries_of_their_own() -> None:
    found = list(
        entries_of(record(DECIDED, OBSERVATION_TYPE, OBSERVATIONS.to_json()), LAYOUT.prefix)
    )
    assert [each.observation for each in found if isinstance(each, Observed)] == [
        *OBSERVATIONS.observations
    ]
    assert {each.place for each in found} == {Place("decisions/0", 7)}


def test_a_fact_is_seen() -> None:
    data = {"metadata": METADATA}
    fact = Fact(FactType.ADDITION, "Pod", "default", "a", "u", 3, Epoch(1, 1, "c"), "j", data)
    found = only(record(FACTS, FactType.ADDITION, fact.to_json(), fact.key))
    assert isinstance(found, Seen)
    assert found.fact == fact


@pytest.mark.parametrize(
    "bad",
    [
        record(FACTS, FactType.ADDITION, {"kind": "Pod"}),
        record(DECIDED, DECISION_TYPE, {"service": "x"}),
        record(DECIDED, DECISION_TYPE, {**DECISION.to_json(), "rules": []}),
        record(DECIDED, OBSERVATION_TYPE, {**OBSERVATIONS.to_json(), "observations": [3]}),
        record(DECIDED, "stranger", {}),
        Record(DECIDED, 7, 11.0, b"k", b"{", to_headers(envelope(DECISION_TYPE))),
        Record(DECIDED, 7, 11.0, b"k", b"[]", to_headers(envelope(DECISION_TYPE))),
        Record(FACTS, 7, 11.0, b"k", b"{}", ()),
    ],
)
def test_a_record_that_nobody_can_read_says_where_it_is_and_why(bad: Record) -> None:
    found = only(bad)
    assert isinstance(found, Unread)
    assert (found.place.offset, found.time_s) == (7, 11.0)
    assert found.why


def test_partitions_have_names_without_the_prefix() -> None:
    assert partition_name(FACTS, LAYOUT.prefix) == "resources/1"
    assert partition_named("resources/1", LAYOUT) == FACTS


async def test_a_log_is_read_up_to_an_end() -> None:
    log = MemoryLog(now=lambda: 1.0)
    await log.ensure_topics(LAYOUT.counts())
    await log.produce([NewRecord(FACTS, b"k", b"%d" % number) for number in range(5)])
    source = LogSource(log, LAYOUT)
    assert (await source.bounds())["resources/1"] == Bounds(0, 5)
    assert (await source.bounds())["cluster/0"] == Bounds(0, 0)
    values = [each.value async for batch in source.read("resources/1", 1, 4) for each in batch]
    assert values == [b"1", b"2", b"3"]
    assert [batch async for batch in source.read("cluster/0", 0, 0)] == []


@virtually
@pytest.mark.parametrize("written_since", [0, 2])
async def test_reading_up_to_an_end_ends_when_the_log_is_emptied(written_since: int) -> None:
    """It waited for ever, or took the records of another life for these."""
    log = MemoryLog(now=lambda: 1.0)
    await log.ensure_topics(LAYOUT.counts())
    await log.produce([NewRecord(FACTS, b"k", b"%d" % number) for number in range(600)])
    reading = LogSource(log, LAYOUT).read("resources/1", 0, 600)
    first = await anext(reading)
    assert len(first) < 600
    await log.empty()
    await log.produce([NewRecord(FACTS, b"k", b"new") for _ in range(written_since)])
    async with asyncio.timeout(10):
        assert [batch async for batch in reading] == []


async def test_a_log_says_where_its_newest_complete_resync_begins() -> None:
    log = MemoryLog(now=lambda: 1.0)
    await log.ensure_topics(LAYOUT.counts())
    await log.commit("other.sync", {FACTS: 3})
    assert await LogSource(log, LAYOUT).synced() == {"resources/1": 3}
