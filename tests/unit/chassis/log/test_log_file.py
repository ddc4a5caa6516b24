"""The embedded log's file under running services: deleted, replaced, damaged, or full."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import sqlite3
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from services.chassis.log.bus import NewRecord, Partition
from services.chassis.log.sqlite_log import SqliteLog, topics_in
from services.chassis.process.errors import LogRefused
from tests.patience import patient

P0 = Partition("facts", 0)
WAIT_S = patient(20.0)
COPY = "copy.sqlite"
Damage = Callable[[Path], object]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the log is; there is a folder, and no log yet."""
    return tmp_path / "log.sqlite"


@pytest.fixture
async def opened(path: Path) -> AsyncIterator[Callable[[], SqliteLog]]:
    """Opens the log once more, as another process does."""
    logs: list[SqliteLog] = []

    def open_log() -> SqliteLog:
        logs.append(SqliteLog(path, now=lambda: 0.0))
        return logs[-1]

    yield open_log
    for log in logs:
        await log.close()


def record(value: str) -> NewRecord:
    """A record of the one partition."""
    return NewRecord(P0, b"key", value.encode())


async def heard(log: SqliteLog, start: int, count: int) -> list[str]:
    """What a reader that begins at `start` is reported first."""
    reader = log.read({P0: start})
    found: list[str] = []
    async with asyncio.timeout(WAIT_S):
        while len(found) < count:
            found += [each.value.decode() for each in await anext(reader)]
    await reader.aclose()  # type: ignore[attr-defined]
    return found


def replace_by_older(path: Path) -> None:
    """A copy of the log as it was, put in its place with all that it remembers."""
    shutil.copy(path.with_name(COPY), path.with_name("draft"))
    path.with_name("draft").replace(path)


def replace_by_empty(path: Path) -> None:
    """An empty file in its place."""
    path.with_name("draft").touch()
    path.with_name("draft").replace(path)


def delete(path: Path) -> None:
    """The file only."""
    path.unlink()


def delete_all(path: Path) -> None:
    """The file and what belongs to it, which a process that sees the file go removes, too."""
    for part in ("", "-wal", "-shm"):
        path.with_name(path.name + part).unlink(missing_ok=True)


def put_folder(path: Path) -> None:
    """A directory in its place."""
    with held(path.parent):
        delete_all(path)
        path.mkdir()


def put_garbage(path: Path) -> None:
    """Another program's file in its place."""
    with held(path.parent):
        delete_all(path)
        path.write_bytes(b"garbage " * 500)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """With the lock of those who make the file again: they find all of the damage, or nothing."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def suffixed(path: Path, part: str) -> Path:
    """The file of the log with this end of its name."""
    return path.with_name(path.name + part)


MENDED: dict[str, Damage] = {
    "deleted": delete,
    "deleted with its parts": delete_all,
    "replaced by an empty file": replace_by_empty,
    "replaced by an older copy": replace_by_older,
    "its -wal deleted": lambda path: suffixed(path, "-wal").unlink(),
    "its -shm deleted": lambda path: suffixed(path, "-shm").unlink(),
    "its -wal made shorter": lambda path: suffixed(path, "-wal").write_bytes(b""),
    "made shorter": lambda path: path.write_bytes(b""),
    "overwritten": lambda path: path.write_bytes(b"garbage " * 500),
}
REFUSED: dict[str, tuple[Damage, str]] = {
    "a directory": (
        put_folder,
        "log.sqlite cannot be used: unable to open database file",
    ),
    "another program's file": (
        put_garbage,
        "log.sqlite cannot be used: file is not a database",
    ),
    "no folder": (
        lambda path: shutil.rmtree(path.parent),
        "log.sqlite cannot be used: No such file or directory",
    ),
}


@pytest.mark.parametrize("damage", MENDED.values(), ids=MENDED)
async def test_all_go_on_together_on_a_new_log_where_the_file_is_another(
    path: Path, opened: Callable[[], SqliteLog], damage: Damage
) -> None:
    """Its committed offsets are lost, which is how watch-ingest sees that it has to say all."""
    writer, other = opened(), opened()
    for log in (writer, other):
        await log.ensure_topics({P0.topic: 1})
    await writer.produce([record("older")])
    await writer.commit("sync", {P0: 1})
    with_backup(path)
    await writer.produce([record("before")])
    assert await heard(other, 0, 2) == ["older", "before"]
    reader = other.read({P0: 2})
    waiting = asyncio.ensure_future(anext(reader))
    assert await writer.committed("sync", [P0]) == await other.committed("sync", [P0]) == {P0: 1}
    damage(path)
    is_older = damage is replace_by_older
    if is_older:
        async with asyncio.timeout(WAIT_S):
            assert [each.value for each in await waiting] == [b"older"]
        waiting = asyncio.ensure_future(anext(reader))
    assert await other.committed("sync", [P0]) == {P0: None}
    await writer.produce([record("after")])
    async with asyncio.timeout(WAIT_S):
        assert [each.value for each in await waiting] == [b"after"]
    await other.produce([record("theirs")])
    expected = [*(["older"] if is_older else []), "after", "theirs"]
    for log in (writer, other, opened()):
        assert await heard(log, 0, len(expected)) == expected
    assert await writer.committed("sync", [P0]) == {P0: None}
    await reader.aclose()  # type: ignore[attr-defined]


IN_PLACE = ("its -wal deleted", "its -shm deleted", "its -wal made shorter", "overwritten")


@pytest.mark.parametrize("damage", [MENDED[each] for each in IN_PLACE], ids=IN_PLACE)
async def test_a_reader_leaves_a_damaged_log_as_it_is(
    path: Path, opened: Callable[[], SqliteLog], damage: Damage
) -> None:
    """Who looks at the log of a cluster that is broken must not destroy what is left of it."""
    writer = opened()
    await writer.ensure_topics({P0.topic: 1})
    await writer.produce([record("before")])
    reader = SqliteLog(path, now=lambda: 0.0, reads_only=True)
    assert await heard(reader, 0, 1) == ["before"]
    damage(path)
    left = contents_of(path.parent)
    with pytest.raises(LogRefused, match=r"log.sqlite (has|is damaged).* It was not changed"):
        await reader.end_offsets([P0])
    await reader.close()
    assert contents_of(path.parent) == left


@pytest.mark.parametrize("replace", [replace_by_older, delete], ids=["replaced", "deleted"])
async def test_a_reader_goes_on_where_the_owner_puts_another_file(
    path: Path, opened: Callable[[], SqliteLog], replace: Damage
) -> None:
    writer = opened()
    await writer.ensure_topics({P0.topic: 1})
    await writer.produce([record("older")])
    with_backup(path)
    reader = SqliteLog(path, now=lambda: 0.0, reads_only=True)
    assert await heard(reader, 0, 1) == ["older"]
    replace(path)
    await writer.produce([record("after")])
    last = ["older", "after"] if replace is replace_by_older else ["after"]
    assert await heard(reader, 0, len(last)) == last
    await reader.close()


async def test_a_reader_makes_no_log(path: Path) -> None:
    reader = SqliteLog(path, now=lambda: 0.0, reads_only=True)
    with pytest.raises(LogRefused, match="there is no file any more"):
        await reader.end_offsets([P0])
    await reader.close()
    assert contents_of(path.parent) == {}


def contents_of(folder: Path) -> dict[str, bytes]:
    """What each file of a folder holds; -shm are the locks of those who have the log open."""
    files = (each for each in folder.iterdir() if not each.name.endswith("-shm"))
    return {each.name: each.read_bytes() for each in files}


@pytest.mark.parametrize(("damage", "sentence"), REFUSED.values(), ids=REFUSED)
async def test_readers_and_writers_end_with_a_sentence_where_no_log_can_be(
    path: Path, opened: Callable[[], SqliteLog], damage: Damage, sentence: str
) -> None:
    """A reader that waits for news does not wait for ever."""
    writer, other = opened(), opened()
    for log in (writer, other):
        await log.ensure_topics({P0.topic: 1})
    reader = other.read({P0: 0})
    waiting = asyncio.ensure_future(anext(reader))
    await writer.produce([record("before")])
    async with asyncio.timeout(WAIT_S):
        await waiting
        waiting = asyncio.ensure_future(anext(reader))
        damage(path)
        with pytest.raises(LogRefused, match=sentence):
            await waiting
    with pytest.raises(LogRefused, match=sentence):
        await writer.produce([record("after")])
    with pytest.raises(LogRefused, match=sentence):
        await opened().ensure_topics({P0.topic: 1})


async def test_a_folder_that_lets_nobody_in_ends_readers_with_a_sentence(
    path: Path, opened: Callable[[], SqliteLog], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A poller that ended in silence would leave a service deaf that says that it is well."""
    log = opened()
    await log.ensure_topics({P0.topic: 1})
    await log.produce([record("a")])
    reader = log.read({P0: 0})
    async with asyncio.timeout(WAIT_S):
        await anext(reader)
        refused = PermissionError(13, "Permission denied")
        monkeypatch.setattr("services.chassis.log.sqlite_file._look", lambda _path: _raise(refused))
        with pytest.raises(LogRefused, match="Permission denied"):
            await anext(reader)
        monkeypatch.undo()
    assert await heard(log, 0, 1) == ["a"]


def _raise(problem: OSError) -> None:
    raise problem


async def test_a_resync_that_began_in_another_file_is_not_committed(
    path: Path, opened: Callable[[], SqliteLog]
) -> None:
    """Else nobody would see that the new file does not hold all of it."""
    log = opened()
    await log.ensure_topics({P0.topic: 1})
    await log.commit("sync", {P0: 0})
    delete(path)
    await log.produce([record("the second half")])
    await log.commit("sync", {P0: 0})
    assert await log.committed("sync", [P0]) == {P0: None}
    await log.commit("sync", {P0: 1})
    assert await log.committed("sync", [P0]) == {P0: 1}


async def test_a_log_that_was_repaired_is_repaired_again(
    path: Path, opened: Callable[[], SqliteLog]
) -> None:
    log = opened()
    await log.ensure_topics({P0.topic: 1})
    for number in range(5):
        await log.produce([record(str(number))])
        assert await heard(log, 0, 1) == [str(number)]
        delete(path)
    assert await log.end_offsets([P0]) == {P0: 0}


async def test_a_full_disk_is_reported(path: Path, opened: Callable[[], SqliteLog]) -> None:
    """SQLite has rolled back by itself then."""
    log = opened()
    await log.ensure_topics({P0.topic: 1})
    await log.produce([record("before")])
    await log._writing.run(lambda connection: connection.execute("PRAGMA max_page_count=20"))
    with pytest.raises(LogRefused, match=r"log.sqlite cannot grow: the disk is full. Make room"):
        await log.produce([record("x" * 200_000)])
    assert await heard(opened(), 0, 1) == ["before"]


async def test_the_files_of_a_log_are_their_owners(
    path: Path, opened: Callable[[], SqliteLog]
) -> None:
    """Also where somebody made them for everybody."""
    make_public(path)
    await opened().ensure_topics({P0.topic: 1})
    assert [mode_of(suffixed(path, part)) for part in ("", "-wal", "-shm")] == [0o600] * 3


def make_public(path: Path) -> None:
    """An empty file that everybody may read and write."""
    path.touch()
    path.chmod(0o666)


def mode_of(path: Path) -> int:
    """Who may do what with a file."""
    return stat.S_IMODE(path.stat().st_mode)


def with_backup(path: Path) -> None:
    """Keep a copy of the log as it is."""
    source, target = sqlite3.connect(path), sqlite3.connect(path.with_name(COPY))
    source.backup(target)
    source.close()
    target.close()


async def test_topics_are_read_by_the_path_of_a_url_with_four_slashes(tmp_path: Path) -> None:
    """`millrace up` gives its services sqlite:///PATH, where PATH is absolute."""
    log = SqliteLog(tmp_path / "log.sqlite", now=lambda: 0.0)
    await log.ensure_topics({"t": 2})
    await log.close()
    assert topics_in(Path(f"/{tmp_path}/log.sqlite")) == {"t": 2}
    assert topics_in(tmp_path / "log.sqlite") == {"t": 2}
