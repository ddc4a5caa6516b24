"""The file of a recording: a manifest, then the records of each partition; zstd, JSON lines.

    zstdcat FILE | head -1       the manifest, a JSON object in one line
    zstdcat FILE | tail -n +2    the records, a JSON object in each line

The manifest is a zstd frame of its own. Each partition has frames behind it, some thousand records
in each, and the manifest has their places: bytes behind the end of its own frame. Every frame has a
checksum and says how long its text is. A line has the offset `o`, the time `t` (unix seconds), the
key `k`, the headers `h` and the value `v`, as JSON; what is no text or no JSON is base64, in `kb`,
`hb` and `vb`.

A file that is damaged, cut off, of another program or of a newer release raises RecordingRefused.
"""

from __future__ import annotations

import asyncio
import base64
import errno
import math
import os
import re
import shutil
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any, BinaryIO, Final, Literal, TypeVar

import orjson
import zstandard

from contracts.envelope import MalformedRecord, type_and_schema
from contracts.facts import Fact, SyncCompleted
from contracts.topics import TopicLayout
from history.entries import partition_named
from history.manifests import Frame, Manifest, PartitionKept, finite
from history.sources import Bounds
from history.unpacking import RecordingRefused, opened, read_manifest, unpacked
from services.chassis.log.bus import Headers, Partition, Record
from services.chassis.table.reading import decode, fact_in, kind_of

FRAME_TEXT_BYTES: Final = 2 * 1024 * 1024
"""A frame ends behind the record with which its text is this long."""
FRAME_RECORDS_MAX: Final = 2_000
BATCH_MAX: Final = 500
LEVEL: Final = 9
_BEGIN: Final = re.compile(
    rb'\{"o":(\d+),"t":[^,"]+,"k":"(?:sync/([^"\\]*)"|(?!sync[/"])([^"/\\]*)[/"])'
)
"""How our own writer begins a line, with a key that JSON has not escaped.

The offset; the kind of a resync that was completed, or that of an object.
"""


# --------------------------------------------------------------------------- lines


def line_of(record: Record) -> bytes:
    """A record as one line, without its end. What comes back of it is equal to the byte."""
    line: dict[str, Any] = {"o": record.offset, "t": record.timestamp_s}
    line |= _text_or_base64("k", record.key)
    headers = record.headers
    try:
        line["h"] = [[name, value.decode()] for name, value in headers]
    except UnicodeDecodeError:
        line["hb"] = [[name, base64.b64encode(value).decode()] for name, value in headers]
    if _is_plain_json(record.value):
        line["v"] = orjson.Fragment(record.value)
    else:
        line["vb"] = base64.b64encode(record.value).decode()
    return orjson.dumps(line)


def record_of(line: bytes, partition: Partition) -> Record:
    """The record of a line. Raises ValueError, KeyError or TypeError for any other text."""
    found = orjson.loads(line)
    if "hb" in found:
        headers: Headers = tuple((str(name), _bytes_of(text)) for name, text in found["hb"])
    else:
        headers = tuple((name, text.encode()) for name, text in found["h"])
    return Record(
        partition,
        _offset_of(found["o"]),
        finite(found["t"]),
        _bytes_of(found["kb"]) if "kb" in found else found["k"].encode(),
        _bytes_of(found["vb"]) if "vb" in found else orjson.dumps(found["v"]),
        headers,
    )


def _text_or_base64(name: str, value: bytes) -> dict[str, str]:
    try:
        return {name: value.decode()}
    except UnicodeDecodeError:
        return {f"{name}b": base64.b64encode(value).decode()}


def _is_plain_json(value: bytes) -> bool:
    """Whether the value is what our own writer makes of it."""
    try:
        return orjson.dumps(orjson.loads(value)) == value
    except (ValueError, TypeError):
        return False


def _offset_of(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{str(value)[:40]} is no offset")
    return value


def _bytes_of(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


class RecordedFact:
    """A line of a partition of facts; it is parsed when somebody reads its kind.

    Raises ValueError, KeyError or TypeError for a line that is no record.
    """

    __slots__ = ("_found", "_line", "kind", "offset", "partition")

    def __init__(self, line: bytes, partition: Partition) -> None:
        self._line, self.partition = line, partition
        self._found: Fact | SyncCompleted | Literal[False] | None = False
        begin = _BEGIN.match(line)
        if begin is not None:
            offset, listed, kind = begin.groups()
            self.offset = int(offset)
            self.kind = str(kind if listed is None else listed, "utf-8")
        else:
            record = record_of(line, partition)
            self.offset, self.kind = record.offset, kind_of(record)

    def decoded(self) -> Fact | SyncCompleted | None:
        """Its fact; None if it cannot be read, so that every service skipped it."""
        if self._found is False:
            try:
                self._found = self._decoded()
            except MalformedRecord:
                self._found = None
            except _NO_RECORD as problem:
                where = f"{self.partition.topic}/{self.partition.number}@{self.offset}"
                raise RecordingRefused(f"{where} is no record: {problem!r}") from problem
        return self._found

    def _decoded(self) -> Fact | SyncCompleted:
        line = self._line
        found = orjson.loads(line)
        if "k" in found and "h" in found and "v" in found:
            type_, schema_version = type_and_schema(dict(found["h"]))
            return fact_in(type_, schema_version, found["k"], found["v"], line)
        return decode(record_of(line, self.partition)).fact


_NO_RECORD = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
R = TypeVar("R", Record, RecordedFact)
"""What a line is read as."""


# --------------------------------------------------------------------------- writing


class FramesWriter:
    """Writes the frames of partitions, one partition after the other, and knows their places."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        self._at = 0
        self._frames: list[Frame] = []
        self._lines: list[bytes] = []
        self._size = 0
        self._first: Record | None = None

    @property
    def size(self) -> int:
        """How many bytes were written."""
        return self._at

    def add(self, record: Record) -> None:
        """Write a record of the current partition behind those before it."""
        line = line_of(record)
        if self._first is None:
            self._first = record
        self._lines.append(line)
        self._size += len(line) + 1
        if self._size >= FRAME_TEXT_BYTES or len(self._lines) >= FRAME_RECORDS_MAX:
            self._end_frame()

    def end_partition(self) -> tuple[Frame, ...]:
        """The frames of the current partition; what is added now is of the next one."""
        self._end_frame()
        frames, self._frames = tuple(self._frames), []
        return frames

    def _end_frame(self) -> None:
        if self._first is None:
            return
        packed = self._compressor.compress(b"\n".join(self._lines) + b"\n")
        self._file.write(packed)
        self._frames.append(Frame(self._first.offset, self._at, len(packed), len(self._lines)))
        self._at += len(packed)
        self._lines, self._size, self._first = [], 0, None


@contextmanager
def new_recording(path: Path) -> Iterator[tuple[FramesWriter, Callable[[Manifest], int]]]:
    """A writer of frames, and what ends the file: it writes the manifest and gives the size.

    Until then there is nothing at the path. FileExistsError if there is something before or then.
    """
    if path.exists() or path.is_symlink():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    with ExitStack() as stack:
        folder, begin = path.parent, f".{path.name}."
        frames = stack.enter_context(NamedTemporaryFile("w+b", dir=folder, prefix=begin))
        whole = stack.enter_context(NamedTemporaryFile("w+b", dir=folder, prefix=begin))

        def finish(manifest: Manifest) -> int:
            whole.write(manifest_frame(manifest))
            frames.flush()
            frames.seek(0)
            shutil.copyfileobj(frames, whole)
            whole.flush()
            os.fsync(whole.fileno())
            os.link(whole.name, path)  # unlike a rename it replaces nothing
            return whole.tell()

        yield FramesWriter(frames), finish


def manifest_frame(manifest: Manifest) -> bytes:
    """The first frame of a recording."""
    compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
    return compressor.compress(orjson.dumps(manifest.to_json()) + b"\n")


# --------------------------------------------------------------------------- reading


class RecordingSource:
    """A recording as a source. Raises RecordingRefused, also while it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._opened() as file:
            self.manifest, self._behind = read_manifest(file, path)
            size = file.seek(0, os.SEEK_END)
        wanted = self._behind + self.manifest.bytes_behind
        if size != wanted:
            what = "cut off" if size < wanted else "changed"
            raise RecordingRefused(f"{path} is {what}: it has {size} bytes and not {wanted}")

    @property
    def layout(self) -> TopicLayout:
        """The names and sizes of the topics that were recorded."""
        return self.manifest.layout

    async def bounds(self) -> Mapping[str, Bounds]:
        """What each partition has; those that were not recorded are not named."""
        return {
            name: Bounds(kept.first, kept.end, kept.is_whole)
            for name, kept in self.manifest.partitions.items()
        }

    async def read(
        self, partition: str, first: int, end: int | None = None
    ) -> AsyncIterator[Sequence[Record]]:
        """Batches of records of a partition, from an offset on, to the end of the recording."""
        with closing(self._batches(record_of, partition, first, end)) as batches:
            for batch in batches:
                await asyncio.sleep(0)  # else no time limit of a reader is seen before the end
                yield batch

    async def read_facts(
        self, partition: str, first: int, end: int
    ) -> AsyncIterator[Sequence[RecordedFact]]:
        """What `read` gives, for readers who need facts only: a line is parsed once, if at all."""
        with closing(self._batches(RecordedFact, partition, first, end)) as batches:
            for batch in batches:
                yield batch

    async def synced(self) -> Mapping[str, int]:
        """Where the resync begins that the recording begins with, in each partition of facts."""
        kept = self.manifest.partitions
        return {name: each.resync for name, each in kept.items() if each.resync is not None}

    def _opened(self) -> BinaryIO:
        try:
            return opened(self.path)
        except OSError as problem:
            raise RecordingRefused(f"{self.path} cannot be read: {problem.strerror}") from None

    def _batches(
        self, form: Callable[[bytes, Partition], R], partition: str, first: int, end: int | None
    ) -> Generator[Sequence[R], None, None]:
        kept = self.manifest.partitions.get(partition)
        if kept is None:
            return
        named = partition_named(partition, self.layout)
        below, offset = math.inf if end is None else end, -1
        with self._opened() as file:
            for frame in _frames_from(kept, first):
                if frame.first >= below:
                    return
                lines = self._lines_in(file, frame)
                for at in range(0, len(lines), BATCH_MAX):
                    found = self._read_as(form, lines[at : at + BATCH_MAX], named)
                    offset = self._in_order(found, offset, frame)
                    batch = [each for each in found if first <= each.offset < below]
                    if batch:
                        yield batch

    def _in_order(self, found: Sequence[R], after: int, frame: Frame) -> int:
        """The offset of the last of these records; they follow `after`, and are of the frame."""
        for each in found:
            if each.offset <= after or each.offset < frame.first:
                raise RecordingRefused(
                    f"{self.path} is damaged: offset {each.offset} of {each.partition} comes twice "
                    "or in the wrong place"
                )
            after = each.offset
        return after

    def _lines_in(self, file: BinaryIO, frame: Frame) -> list[bytes]:
        file.seek(self._behind + frame.at)
        text = unpacked(file.read(frame.size), self.path)
        lines = text.split(b"\n")
        if lines.pop() or len(lines) != frame.records:
            raise RecordingRefused(f"{self.path} is damaged: a frame has not the lines it should")
        return lines

    def _read_as(
        self, form: Callable[[bytes, Partition], R], lines: Sequence[bytes], partition: Partition
    ) -> list[R]:
        try:
            return [form(line, partition) for line in lines]
        except _NO_RECORD as problem:
            raise RecordingRefused(
                f"{self.path} has a line that is no record: {problem!r}"
            ) from problem


def _frames_from(kept: PartitionKept, first: int) -> Iterator[Frame]:
    """The frames that have the records from an offset on."""
    following = [*kept.frames[1:], None]
    for frame, behind in zip(kept.frames, following, strict=bool(kept.frames)):
        if behind is None or behind.first > first:
            yield frame
