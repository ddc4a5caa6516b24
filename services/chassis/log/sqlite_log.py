"""The embedded log in one SQLite file in WAL mode, shared by the processes of one machine.

Which file that is, and what becomes of a log whose file is deleted or replaced, is in
`sqlite_file.py`. No SQL runs on the event loop: one thread writes, one reads, and one polls
`PRAGMA data_version`, which costs microseconds and says whether another connection committed
(`sqlite_threads.py`). Producers of this process wake its readers at once. A commit is not synced to
disk (`synchronous=NORMAL`): a power failure may lose the newest records, which the next resync says
again, but never tears the log.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import orjson

from contracts.topics import RETENTION_S
from services.chassis.log.bus import Headers, NewRecord, Partition, Record
from services.chassis.log.sqlite_file import FIRST_FILE, LogFile
from services.chassis.log.sqlite_threads import Poller, SqlThread
from services.chassis.process.errors import LogRefused, TopicDiffers

RETIRE_EVERY_S = 60.0
RETIRED_RECORDS_MAX = 5_000

Life = tuple[int, int]
"""(file number, MAX(lives.number)). When it changes, readers start at offset 0."""

_OFFSET_BITS = 40
"""`records.position` is `partitions.id << 40 | offset`: one range of rows for each partition.

Existing files rest on the 40.
"""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS partitions (
    id INTEGER PRIMARY KEY, topic TEXT NOT NULL, number INTEGER NOT NULL,
    next_offset INTEGER NOT NULL DEFAULT 0, UNIQUE (topic, number)
);
CREATE TABLE IF NOT EXISTS records (
    position INTEGER PRIMARY KEY, timestamp_s REAL NOT NULL,
    key BLOB NOT NULL, value BLOB NOT NULL, headers BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS offsets (
    consumer TEXT NOT NULL, partition INTEGER NOT NULL, next_offset INTEGER NOT NULL,
    PRIMARY KEY (consumer, partition)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS lives (number INTEGER PRIMARY KEY);
"""


class SqliteLog:
    """A log in one file; `now` gives timestamps (unix seconds).

    `reads_only`: the log is of others; nothing makes, changes or removes its file.
    """

    def __init__(
        self,
        path: Path,
        *,
        now: Callable[[], float],
        retention_s: float = RETENTION_S,
        reads_only: bool = False,
    ) -> None:
        self._now = now
        self._retention_s = retention_s
        self._topics: dict[str, int] = {}
        self._committed_in = FIRST_FILE
        self._file = LogFile(
            path,
            prepare=_require_tables if reads_only else self._prepare,
            forget=_forget_nothing if reads_only else _forget_offsets,
            reads_only=reads_only,
        )
        self._writing = SqlThread(self._file, "log-writing")
        self._reading = SqlThread(self._file, "log-reading")
        self._poller: Poller | None = None
        self._news: set[asyncio.Event] = set()
        self._retired_at_s = 0.0
        self._closed = False

    @property
    def is_answering(self) -> bool:
        """Always true."""
        return True

    async def ensure_topics(self, partitions_of: Mapping[str, int]) -> None:
        """Create what is missing; TopicDiffers for a topic that exists with other partitions."""
        await self._writing.run(_create_topics, dict(partitions_of))
        self._topics |= partitions_of

    async def produce(self, records: Sequence[NewRecord]) -> None:
        """Append in one transaction; readers of this process are woken at once."""
        now = self._now()
        await self._writing.run(_append, records, now)
        self._wake()
        if now - self._retired_at_s >= RETIRE_EVERY_S:
            self._retired_at_s = now
            await self._writing.run(_retire, now - self._retention_s)

    async def read(
        self, start: Mapping[Partition, int], *, batch_max: int = 500
    ) -> AsyncIterator[Sequence[Record]]:
        """Batches of records of the partitions from the offsets on, until the log is closed."""
        positions = dict(start)
        news = asyncio.Event()
        self._news.add(news)
        await self._begin_polling()
        life: Life | None = None
        try:
            while not self._closed:
                news.clear()  # before the fetch: a record that is appended during it wakes us
                fetched = await self._reading.run(self._fetch, positions, batch_max, life)
                life, positions, batch = fetched
                if batch:
                    yield batch
                else:
                    await news.wait()
        finally:
            self._news.discard(news)

    async def assignment(
        self, group: str, topics: Sequence[str]
    ) -> AsyncIterator[frozenset[Partition]]:
        """All partitions, once: every group has one member."""
        known = await self._reading.run(_end_offsets)
        yield frozenset(each for each in known if each.topic in topics)

    async def end_offsets(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        """The offset that the next record of each partition will get."""
        ends = await self._reading.run(_end_offsets)
        return {partition: ends[partition][1] for partition in partitions}

    async def start_offsets(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        """The offset of the oldest record that each partition still keeps."""
        return await self._reading.run(_start_offsets, partitions)

    async def committed(
        self, group: str, partitions: Sequence[Partition]
    ) -> dict[Partition, int | None]:
        """The offsets that a group committed; None without a commit."""
        return await self._reading.run(_committed, group, partitions)

    async def commit(self, group: str, offsets: Mapping[Partition, int]) -> None:
        """Commit offsets for a group."""
        await self._writing.run(self._commit, group, offsets)

    async def empty(self) -> None:
        """Delete every record and every committed offset; readers start at 0 again."""
        await self._writing.run(_empty)
        self._wake()

    async def close(self) -> None:
        """End every reader, stop the threads and close the file."""
        if self._closed:
            return
        self._closed = True
        self._wake()
        if self._poller is not None:
            await asyncio.to_thread(self._poller.stop)
        await self._reading.close()
        await self._writing.close()

    async def _begin_polling(self) -> None:
        if self._poller is None:
            self._poller = Poller(self._file, asyncio.get_running_loop(), self._wake)
            await asyncio.to_thread(self._poller.begin)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """The tables, and the topics again where the file is a new one."""
        _create_topics(connection, self._topics)

    def _fetch(
        self,
        connection: sqlite3.Connection,
        positions: Mapping[Partition, int],
        batch_max: int,
        life: Life | None,
    ) -> tuple[Life, dict[Partition, int], list[Record]]:
        """Runs in the reading thread, which knows the file that it reads."""
        return _fetch(connection, positions, batch_max, life, file=self._reading.file_number)

    def _commit(
        self, connection: sqlite3.Connection, group: str, offsets: Mapping[Partition, int]
    ) -> None:
        """The first commit into another file is dropped: it may be about the file before.

        A resync during which the file was replaced is not complete in the new one. As nothing is
        committed there, watch-ingest sees that and begins again.
        """
        if self._writing.file_number == self._committed_in:
            _commit(connection, group, offsets)
        self._committed_in = self._writing.file_number

    def _wake(self) -> None:
        for news in self._news:
            news.set()


def topics_in(path: Path) -> dict[str, int]:
    """The topics in the file of a log, and how many partitions each has; nothing is changed.

    Raises LogRefused where there is no log at the path.
    """
    try:
        # Behind an empty authority: a path may begin with two slashes.
        place = f"file://{quote(str(path.absolute()))}?mode=ro"
        with closing(sqlite3.connect(place, uri=True)) as connection:
            found = connection.execute("SELECT topic, COUNT(*) FROM partitions GROUP BY topic")
            return {str(topic): int(count) for topic, count in found}
    except sqlite3.Error as problem:
        raise LogRefused(f"{path} cannot be read as a log of millrace: {problem}") from None


# --------------------------------------------------------------------------- SQL


@contextmanager
def _transaction(connection: sqlite3.Connection, kind: str) -> Iterator[None]:
    connection.execute(f"BEGIN {kind}")
    try:
        yield
    except BaseException:
        if connection.in_transaction:  # SQLite itself rolls back where the disk fails
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _create_topics(connection: sqlite3.Connection, partitions_of: Mapping[str, int]) -> None:
    with _transaction(connection, "IMMEDIATE"):
        for statement in _SCHEMA.split(";"):  # executescript would commit the transaction first
            connection.execute(statement)
        connection.execute("INSERT OR IGNORE INTO lives VALUES (1)")
        known = dict(connection.execute("SELECT topic, COUNT(*) FROM partitions GROUP BY topic"))
        for topic, count in partitions_of.items():
            if known.get(topic, count) != count:
                raise TopicDiffers(f"topic {topic} has {known[topic]} partitions, not {count}")
            if topic not in known:
                connection.executemany(
                    "INSERT INTO partitions (topic, number) VALUES (?, ?)",
                    [(topic, number) for number in range(count)],
                )


def _require_tables(connection: sqlite3.Connection) -> None:
    """Raises DatabaseError while a new file has no tables yet."""
    connection.execute("SELECT MAX(number) FROM lives").fetchone()


def _forget_nothing(connection: sqlite3.Connection) -> None:
    """A reader commits nothing, so that another file has nothing of it."""


def _end_offsets(connection: sqlite3.Connection) -> dict[Partition, tuple[int, int]]:
    """The number in the file and the next offset of every partition."""
    rows = connection.execute("SELECT id, topic, number, next_offset FROM partitions")
    return {Partition(topic, number): (row, end) for row, topic, number, end in rows}


def _append(connection: sqlite3.Connection, records: Sequence[NewRecord], now: float) -> None:
    with _transaction(connection, "IMMEDIATE"):
        ends = _end_offsets(connection)
        rows = []
        for record in records:
            row, offset = ends[record.partition]
            ends[record.partition] = (row, offset + 1)
            position = (row << _OFFSET_BITS) + offset
            headers = _headers_to_bytes(record.headers)
            rows.append((position, now, record.key, record.value, headers))
        connection.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?)", rows)
        connection.executemany(
            "UPDATE partitions SET next_offset = ? WHERE id = ?",
            [(end, row) for row, end in (ends[p] for p in {r.partition for r in records})],
        )


def _fetch(
    connection: sqlite3.Connection,
    positions: Mapping[Partition, int],
    batch_max: int,
    life: Life | None,
    *,
    file: int,
) -> tuple[Life, dict[Partition, int], list[Record]]:
    """The log's life, the next positions, and the records in between."""
    batch: list[Record] = []
    following: dict[Partition, int] = {}
    with _transaction(connection, "DEFERRED"):
        number = connection.execute("SELECT MAX(number) FROM lives").fetchone()[0]
        life_now = (file, number)
        emptied = life is not None and life != life_now
        ends = _end_offsets(connection)
        for partition, start in positions.items():
            row, end = ends[partition]
            position = 0 if emptied or start > end else start
            following[partition] = position
            room = batch_max - len(batch)
            if position == end or not room:
                continue
            found = _range(connection, partition, row, position, room)
            batch += found
            following[partition] = found[-1].offset + 1 if found else end
    return life_now, following, batch


def _range(
    connection: sqlite3.Connection, partition: Partition, row: int, start: int, count_max: int
) -> list[Record]:
    base = row << _OFFSET_BITS
    found = connection.execute(
        "SELECT position, timestamp_s, key, value, headers FROM records"
        " WHERE position >= ? AND position < ? ORDER BY position LIMIT ?",
        (base + start, (row + 1) << _OFFSET_BITS, count_max),
    )
    return [
        Record(partition, position - base, at, key, value, _headers_from_bytes(headers))
        for position, at, key, value, headers in found
    ]


def _start_offsets(
    connection: sqlite3.Connection, partitions: Sequence[Partition]
) -> dict[Partition, int]:
    with _transaction(connection, "DEFERRED"):
        ends = _end_offsets(connection)
        starts = {}
        for partition in partitions:
            row, end = ends[partition]
            first = _range(connection, partition, row, 0, 1)
            starts[partition] = first[0].offset if first else end
    return starts


def _committed(
    connection: sqlite3.Connection, group: str, partitions: Sequence[Partition]
) -> dict[Partition, int | None]:
    ends = _end_offsets(connection)
    found = dict(
        connection.execute(
            "SELECT partition, next_offset FROM offsets WHERE consumer = ?", (group,)
        )
    )
    return {partition: found.get(ends[partition][0]) for partition in partitions}


def _commit(connection: sqlite3.Connection, group: str, offsets: Mapping[Partition, int]) -> None:
    with _transaction(connection, "IMMEDIATE"):
        ends = _end_offsets(connection)
        connection.executemany(
            "INSERT OR REPLACE INTO offsets VALUES (?, ?, ?)",
            [(group, ends[partition][0], offset) for partition, offset in offsets.items()],
        )


def _retire(connection: sqlite3.Connection, before_s: float) -> None:
    """Forget the oldest records; a bounded number at once, so that no producer waits for long."""
    with _transaction(connection, "IMMEDIATE"):
        for partition, (row, _) in _end_offsets(connection).items():
            oldest = _range(connection, partition, row, 0, 1)
            if not oldest or oldest[0].timestamp_s >= before_s:
                continue
            base = row << _OFFSET_BITS
            connection.execute(
                "DELETE FROM records WHERE position >= ? AND position < ? AND timestamp_s < ?",
                (base, base + oldest[0].offset + RETIRED_RECORDS_MAX, before_s),
            )


def _forget_offsets(connection: sqlite3.Connection) -> None:
    with _transaction(connection, "IMMEDIATE"):
        connection.execute("DELETE FROM offsets")


def _empty(connection: sqlite3.Connection) -> None:
    with _transaction(connection, "IMMEDIATE"):
        connection.execute("DELETE FROM records")
        connection.execute("DELETE FROM offsets")
        connection.execute("UPDATE partitions SET next_offset = 0")
        connection.execute("INSERT INTO lives SELECT MAX(number) + 1 FROM lives")


def _headers_to_bytes(headers: Headers) -> bytes:
    # latin-1 has a character for each byte, and orjson takes no bytes.
    return orjson.dumps([[key, value.decode("latin-1")] for key, value in headers])


def _headers_from_bytes(raw: bytes) -> Headers:
    """None for what is damaged: the record is one that nobody can read, and no other suffers."""
    try:
        return tuple((key, value.encode("latin-1")) for key, value in orjson.loads(raw))
    except (ValueError, TypeError, AttributeError):
        return ()
