"""A fact of a recording is what its record says, though its line is parsed another way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.envelope import Envelope, to_headers
from contracts.facts import Epoch, Fact, FactType, SyncCompleted
from contracts.topics import CLUSTER, TopicLayout
from history.facts import HasFacts, LazyFact
from history.recordings import RecordedFact, RecordingSource, line_of, record_of
from services.chassis.log.bus import Headers, Partition, Record
from tests.unit.chassis.running.saying import METADATA
from tests.unit.history.logs import FewRecords, decisions_of, partition_of_job, written

PARTITION = Partition(TopicLayout().name(CLUSTER), 0)
EPOCH = Epoch(1, 1, "c")
POD = Fact(FactType.ADDITION, "Pod", "default", "a", "u", 3, EPOCH, "j", {"metadata": METADATA})
SYNC = SyncCompleted("Node", EPOCH)


def headers_of(type_: str, time_s: float = 10.0) -> Headers:
    return to_headers(Envelope("e", "test", type_, "s", time_s, "0" * 32))


def a_record(key: bytes, value: bytes, headers: Headers, offset: int = 7) -> Record:
    return Record(PARTITION, offset, 11.5, key, value, headers)


def of_fact(fact: Fact | SyncCompleted, **changes: Any) -> Record:
    type_ = fact.type if isinstance(fact, Fact) else FactType.SYNC_COMPLETED
    value = orjson.dumps(fact.to_json() | changes)
    return a_record(fact.key.encode(), value, headers_of(type_))


def check_alike(record: Record) -> None:
    line = line_of(record)
    short, whole = RecordedFact(line, PARTITION), LazyFact(record_of(line, PARTITION))
    assert (short.offset, short.kind) == (whole.offset, whole.kind)
    assert short.decoded() == whole.decoded()


@pytest.mark.parametrize(
    "record",
    [
        of_fact(POD),
        of_fact(SYNC),
        of_fact(POD, uid=3),
        of_fact(POD, name="another"),
        of_fact(POD, resourceVersion=-1),
        of_fact(POD, object=[]),
        of_fact(POD, object={"deep": orjson.loads(b"[" * 99 + b"]" * 99)}),
        a_record(b"sync/Node/more", b"{}", headers_of(FactType.ADDITION)),
        a_record(b"Pod/default/a", b"no JSON", headers_of(FactType.ADDITION)),
        a_record(b"Pod/default/a", b'{ "spaced": 1}', headers_of(FactType.ADDITION)),
        a_record(b"\xff/default/a", b"{}", headers_of(FactType.ADDITION)),
        a_record(b'P"od\\/default/a', b"{}", headers_of(FactType.ADDITION)),
        a_record(b"", b"{}", ()),
        a_record(b"Pod", b"{}", ()),
        a_record(b"Pod/default/a", b"{}", headers_of("another")),
        a_record(b"Pod/default/a", b"{}", (("ce_id", b"\xff"), *headers_of("another")[1:])),
    ],
)
def test_a_line_says_what_its_record_says(record: Record) -> None:
    check_alike(record)


@given(
    key=st.one_of(st.binary(max_size=12), st.text(max_size=12).map(str.encode)),
    value=st.one_of(st.binary(max_size=8), st.sampled_from([of_fact(POD).value, b"{}", b"[]"])),
    headers=st.sampled_from([headers_of(FactType.ADDITION), headers_of("another"), ()]),
    offset=st.integers(0, 2**62),
)
def test_any_line_says_what_its_record_says(
    key: bytes, value: bytes, headers: Headers, offset: int
) -> None:
    check_alike(a_record(key, value, headers, offset))


async def test_a_recording_gives_the_facts_of_a_part_of_a_partition(tmp_path: Path) -> None:
    few = FewRecords()
    for number in range(5):
        few.see(float(number), "pod", "a")
    source = RecordingSource(written(tmp_path / "few.rec", few))
    assert isinstance(source, HasFacts)
    part, none = partition_of_job("a"), decisions_of("b")
    batches = [batch async for batch in source.read_facts(part, 1, 4)]
    assert [each.offset for batch in batches for each in batch] == [1, 2, 3]
    assert [batch async for batch in source.read_facts(none, 0, 4)] == []
