"""A recording gives back each record to the byte; another file is refused in a sentence."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
import zstandard

from history.entries import Gap
from history.manifests import Frame, PartitionKept
from history.merging import history
from history.recording import Wanted, extent_of, write_records
from history.recordings import (
    RecordingSource,
    line_of,
    manifest_frame,
    new_recording,
    record_of,
)
from history.unpacking import (
    MANIFEST_BYTES_MAX,
    TEXT_BYTES_MAX,
    RecordingRefused,
    as_text,
)
from services.chassis.log.bus import Record
from tests.unit.history.logs import FewRecords, named, partition_of_job, written

FACTS = named("resources/0")


@pytest.fixture
def source() -> FewRecords:
    source = FewRecords()
    for number in range(2_500):
        source.see(float(number), f"pod-{number}", "a")
        if number % 10 == 0:
            source.decide(float(number), "a", "R")
    return source


@pytest.fixture
def path(tmp_path: Path) -> Path:
    source = FewRecords()
    for number in range(30):
        source.see(float(number), f"pod-{number}", "a")
        source.decide(float(number), "a", "R")
    return written(tmp_path / "h.zst", source)


async def everything(path: Path) -> list[Record]:
    source = RecordingSource(path)
    found: list[Record] = []
    for name, bounds in (await source.bounds()).items():
        async for batch in source.read(name, bounds.first):
            found += batch
    return found


@pytest.mark.parametrize(
    "record",
    [
        Record(FACTS, 3, 1.25, b"k", b'{"a":[1,2.5,"\xc3\xa9",null]}', (("h", b"x"),)),
        Record(FACTS, 3, 1.25, b"\xff", b'{"a": 1}', (("h", b"\xfe"), ("h", b""))),
        Record(FACTS, 2**61, 1e9, b"", b"", ()),
        Record(FACTS, 0, 0.0, b"k", b'{"a":1,"a":2}', ()),
        Record(FACTS, 0, 0.0, b"k", b"123456789012345678901234567890", ()),
        Record(FACTS, 0, 0.0, b"a\nb", b"line\nline", (("\n", b"\n"),)),
    ],
)
def test_a_record_comes_back_to_the_byte(record: Record) -> None:
    line = line_of(record)
    assert b"\n" not in line
    assert record_of(line, FACTS) == record


def test_a_value_that_is_json_stands_in_its_line_as_json() -> None:
    line = line_of(Record(FACTS, 3, 1.0, b"k", b'{"a":1}', (("h", b"x"),)))
    assert orjson.loads(line) == {"o": 3, "t": 1.0, "k": "k", "h": [["h", "x"]], "v": {"a": 1}}


async def test_a_recording_gives_back_what_was_recorded(source: FewRecords, tmp_path: Path) -> None:
    path = written(tmp_path / "h.zst", source)
    kept = [record for records in source.kept.values() for record in records]
    assert await everything(path) == kept
    recorded = RecordingSource(path)
    assert await recorded.bounds() == await source.bounds()
    of_log = [str(each.place) async for each in history(source)]
    assert [str(each.place) async for each in history(recorded)] == of_log


async def test_a_recording_that_is_kept_as_text_is_read_like_any_other(
    source: FewRecords, tmp_path: Path
) -> None:
    path, text = written(tmp_path / "h.zst", source), tmp_path / "h.txt"
    text.write_bytes(as_text(path.read_bytes()))
    assert max(map(len, text.read_text(encoding="ascii").splitlines())) == 100
    assert await everything(text) == await everything(path)
    assert await RecordingSource(text).bounds() == await RecordingSource(path).bounds()


async def test_a_part_of_one_partition_is_read_by_itself(
    source: FewRecords, tmp_path: Path
) -> None:
    recorded = RecordingSource(written(tmp_path / "h.zst", source))
    name = partition_of_job("a")
    assert len(recorded.manifest.partitions[name].frames) == 2
    offsets = [each.offset async for batch in recorded.read(name, 1_990, 2_010) for each in batch]
    assert offsets == list(range(1_990, 2_010))
    assert [batch async for batch in recorded.read("cluster/0", 0)] == []


async def test_a_time_limit_ends_the_reading_of_a_recording(path: Path) -> None:
    """A reader that never suspends sees no limit."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await everything(path)


def test_the_first_line_is_the_manifest_and_the_others_are_records(path: Path) -> None:
    with path.open("rb") as file:
        reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        first, *others = reader.read().splitlines()
    assert orjson.loads(first)["format"] == "millrace-recording"
    assert len(others) == 60
    assert all("o" in orjson.loads(line) for line in others)


def test_a_file_that_is_cut_off_anywhere_is_refused(path: Path, tmp_path: Path) -> None:
    whole, cut = path.read_bytes(), tmp_path / "cut"
    recorded = RecordingSource(path)
    behind = len(whole) - recorded.manifest.bytes_behind
    frames = [each for kept in recorded.manifest.partitions.values() for each in kept.frames]
    ends = [behind, *(behind + frame.at + frame.size for frame in frames)]
    near = {end + more for end in ends for more in (-1, 0, 1)}
    for length in sorted(near | set(range(0, len(whole), 29))):
        if length < len(whole):
            cut.write_bytes(whole[:length])
            with pytest.raises(RecordingRefused, match=r"cut off|is no recording"):
                asyncio.run(everything(cut))


def test_a_file_with_a_changed_byte_is_refused_or_reads_the_same(
    path: Path, tmp_path: Path
) -> None:
    whole, changed, randomness = path.read_bytes(), tmp_path / "changed", random.Random(1)
    records = asyncio.run(everything(path))
    for at in [*range(40), *range(40, len(whole), 23)]:
        flipped = bytearray(whole)
        flipped[at] ^= 1 << randomness.randrange(8)
        changed.write_bytes(flipped)
        with suppress(RecordingRefused):  # any other exception is a failure
            assert asyncio.run(everything(changed)) == records


def _manifest(change: Callable[[dict[str, object]], object], path: Path) -> bytes:
    document = RecordingSource(path).manifest.to_json()
    change(document)
    return zstandard.compress(orjson.dumps(document))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (lambda _: b"", "it is empty"),
        (lambda _: b"text", "not compressed with zstd"),
        (lambda _: zstandard.compress(b"text"), "does not begin with JSON"),
        (lambda _: zstandard.compress(b"[]"), "no recording of millrace"),
        (lambda _: zstandard.compress(b'{"format":"x"}'), "no recording of millrace"),
        (lambda path: _manifest(lambda it: it.update(version=2), path), "a newer one"),
        (lambda path: _manifest(lambda it: it.update(version="1"), path), "a newer one"),
        (lambda path: _manifest(lambda it: it.pop("starts"), path), "another form"),
        (lambda path: _manifest(lambda it: it.update(partitions={"x": {}}), path), "another form"),
        (lambda path: _manifest(lambda it: it.update(partitions=3), path), "another form"),
        (lambda path: _manifest(lambda it: it.update(redacted=1), path), "another form"),
        (lambda path: path.read_bytes() + b"more", "changed"),
        (lambda _: zstandard.compress(b" " * (MANIFEST_BYTES_MAX + 1)), "too long"),
        (lambda path: as_text(path.read_bytes())[:-3], "cut off"),
        (lambda path: _manifest(lambda it: it.update(version=0), path), "version 0"),
        (lambda path: _manifest(lambda it: it.update(version=True), path), "version True"),
        (lambda path: _manifest(lambda it: it.update(partitionsByJob=0), path), "another form"),
        (lambda path: _manifest(lambda it: it.update(madeAt="nan"), path), "another form"),
        (lambda path: as_text(path.read_bytes()).replace(b"\n-----E", b"?\n-----E"), "is damaged"),
        (lambda path: as_text(path.read_bytes()[:-1]), "cut off"),
        (lambda _: as_text(b"text"), "not compressed with zstd"),
        (lambda _: as_text(b" " * TEXT_BYTES_MAX), "bytes of text"),
    ],
)
async def test_what_is_no_recording_is_refused_with_a_reason(
    content: Callable[[Path], bytes], why: str, path: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.write_bytes(content(path))
    with pytest.raises(RecordingRefused, match=why):
        await everything(other)


@pytest.mark.parametrize(
    "lines",
    [
        [b'{"o":0,"t":1.0,"k":"Pod/d/a","h":5,"v":1}'],
        [b'{"o":0,"t":1.0,"k":"Pod/d/a"'],
        [b'{"o":-1,"t":1.0,"k":"Pod/d/a","h":[],"v":1}'],
        [b'{"o":0,"t":"nan","k":"Pod/d/a","h":[],"v":1}'],
        [b'{"o":1,"t":1.0,"k":"Pod/d/a","h":[],"v":1}'] * 2,
    ],
)
async def test_lines_that_no_release_writes_are_refused(
    lines: list[bytes], path: Path, tmp_path: Path
) -> None:
    """By readers of records, and by those of facts, which parse a line late."""
    manifest = RecordingSource(path).manifest
    packed = zstandard.compress(b"\n".join([*lines, b""]))
    frame = Frame(0, 0, len(packed), len(lines))
    kept = {"resources/0": PartitionKept(0, 9, frames=(frame,))}
    other = tmp_path / "other"
    other.write_bytes(manifest_frame(replace(manifest, partitions=kept)) + packed)
    source = RecordingSource(other)
    with pytest.raises(RecordingRefused):
        [each async for each in source.read("resources/0", 0)]
    with pytest.raises(RecordingRefused):
        [each.decoded() async for batch in source.read_facts("resources/0", 0, 9) for each in batch]


def test_a_text_whose_lines_end_otherwise_is_the_same_recording(path: Path, tmp_path: Path) -> None:
    mailed = tmp_path / "mailed"
    mailed.write_bytes(as_text(path.read_bytes()).replace(b"\n", b"\r\n") + b"\n")
    assert asyncio.run(everything(mailed)) == asyncio.run(everything(path))


async def test_a_recording_of_a_redacted_one_is_redacted_and_keeps_its_gaps(
    path: Path, tmp_path: Path
) -> None:
    gap = Gap("resources/0", 0, 0, "it was away")
    source = RecordingSource(path)
    source.manifest = replace(source.manifest, redacted=True, gaps=(gap,))
    extent = await extent_of(source, Wanted(), settle=lambda: asyncio.sleep(0))
    with new_recording(tmp_path / "again") as (writer, _):
        again = await write_records(source, Wanted(), extent, writer, made_at=1.0, made_by="x")
    assert again.redacted
    assert gap in again.gaps


async def test_a_frame_that_would_fill_the_memory_is_not_unpacked(tmp_path: Path) -> None:
    source = FewRecords()
    source.see(1.0, "p", "a")
    path = written(tmp_path / "h.zst", source)
    bomb = zstandard.ZstdCompressor(level=1).compress(b"\n" * 50_000_000)
    document = RecordingSource(path).manifest.to_json()
    (kept,) = document["partitions"].values()
    kept["frames"] = [[0, 0, len(bomb), 1]]
    path.write_bytes(zstandard.compress(orjson.dumps(document)) + bomb)
    with pytest.raises(RecordingRefused, match="no release writes"):
        await everything(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingRefused, match="No such file"):
        RecordingSource(tmp_path / "nothing")
