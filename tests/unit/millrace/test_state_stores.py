"""A folder of states: flushed, never overwritten, and nothing half is ever seen."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millrace.runtime import state_stores
from millrace.runtime.endings import Ending, StoreFailed
from millrace.runtime.state_stores import FileStore, NoStore, StateDiffers, StateMissing, StoreFull
from tests.unit.millrace.state_store_contract import FIRST, SEAL, STOPPED, StoreContract


def files(folder: Path) -> list[str]:
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "team" / "shop-uid"


@pytest.fixture
def store(folder: Path) -> FileStore:
    return FileStore(folder)


class TestFileStore(StoreContract):
    """A folder keeps to the contract of stores."""


class TestFileStoreWithoutLinks(StoreContract):
    """So does a file system without hard links."""

    @pytest.fixture(autouse=True)
    def _no_links(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def link(*_: Any) -> None:
            raise OSError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(os, "link", link)


async def test_a_state_is_flushed_before_it_has_its_name(
    store: FileStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    fsync, link = os.fsync, os.link

    def flushed(number: int) -> None:
        order.append("folder" if os.path.isdir(f"/proc/self/fd/{number}") else "file")
        fsync(number)

    def linked(source: Any, target: Any) -> None:
        order.append("link")
        link(source, target)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "link", linked)
    await store.write(SEAL, b"x")
    assert order[-3:] == ["file", "link", "folder"]
    assert set(order[:-3]) == {"folder"}
    assert files(folder) == [SEAL.path]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
async def test_a_full_disk_names_path_and_size_and_leaves_nothing(
    number: int, store: FileStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.write(FIRST, b"x")

    def fsync(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(StoreFull) as caught:
        await store.write(FIRST.__class__(4, 1, "checkpoint", 10), b"12345")
    assert caught.value.size == 5
    assert caught.value.path.endswith("pe-4/launch-1/checkpoint-10.state")
    assert "(5 bytes)" in str(caught.value)
    assert caught.value.ending is Ending.STORE_FAILED
    assert files(folder) == [FIRST.path]


async def test_a_folder_that_cannot_be_made_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    store = FileStore(tmp_path / "file" / "job")
    with pytest.raises(StoreFailed, match="cannot be written"):
        await store.write(SEAL, b"x")


async def test_temporary_and_foreign_files_are_no_states(store: FileStore, folder: Path) -> None:
    await store.write(SEAL, b"x")
    (folder / "pe-4/launch-2/.stopped.state.12.tmp").write_bytes(b"half")
    (folder / "pe-4/launch-2/checkpoint-03.state").write_bytes(b"?")
    (folder / "pe-4/launch-2/stopped.state.d").mkdir()
    (folder / "pe-4/notes.txt").write_text("?")
    assert await store.names(4) == (SEAL,)


async def test_what_a_killed_launch_left_half_written_is_removed_later(
    store: FileStore, folder: Path
) -> None:
    await store.write(FIRST, b"x")
    await store.write(STOPPED, b"x")
    (folder / "pe-4/launch-1/.stopped.state.12.tmp").write_bytes(b"half")
    (folder / "pe-4/launch-2/.checkpoint-1.state.12.tmp").write_bytes(b"being written")
    assert await store.remove_older(4, None) == 0
    assert files(folder) == [
        FIRST.path,
        "pe-4/launch-2/.checkpoint-1.state.12.tmp",
        STOPPED.path,
    ]


async def test_a_state_that_is_a_folder_is_a_failure(store: FileStore, folder: Path) -> None:
    (folder / SEAL.path).mkdir(parents=True)
    with pytest.raises(StoreFailed):
        await store.read(SEAL)
    with pytest.raises(StoreFailed):
        await store.write(SEAL, b"x")


async def test_two_writers_of_one_name_do_not_overwrite_each_other(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = FileStore(folder), FileStore(folder)
    written = state_stores._write_flushed
    meanwhile = [b"by the first"]

    def flushed(path: Path, data: bytes) -> None:
        written(path, data)
        if meanwhile:
            first._write(SEAL, meanwhile.pop())

    monkeypatch.setattr(state_stores, "_write_flushed", flushed)
    with pytest.raises(StateDiffers):
        await second.write(SEAL, b"by the second")
    assert await first.read(SEAL) == b"by the first"


async def test_without_a_store_nothing_is_kept() -> None:
    store = NoStore()
    await store.write(SEAL, b"x")
    assert await store.names(4) == ()
    assert await store.remove_older(4, None) == 0
    with pytest.raises(StateMissing, match="no checkpoint store"):
        await store.read(SEAL)


async def test_a_launch_whose_states_are_removed_while_others_look_has_none(
    store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A PE removes its older states, while new owners look for its newest."""
    for name in (FIRST, SEAL):
        await store.write(name, b"x")
    listed = Path.iterdir

    def removed_before(path: Path) -> Iterator[Path]:
        if path.name == f"launch-{FIRST.launch}":
            shutil.rmtree(path)
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", removed_before)
    assert await store.names(4) == (SEAL,)
