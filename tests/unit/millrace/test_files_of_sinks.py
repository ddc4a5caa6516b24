"""The file of a sink belongs to one job, and in a parallel region to one channel."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from errno import ENOSPC
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

from millrace import App, OperatorFailed, channels
from millrace.adapters import files, writing_files
from millrace.channels import begin_job, begin_launch
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore

pytestmark = pytest.mark.looptime

COUNT = 300


@dataclass
class Number:
    number: int
    value: float = 0.5


@dataclass
class Deep:
    items: dict[str, list[Number | None]]


@dataclass
class Given:
    upto: int = 0


async def numbers(given: Given, count: int = COUNT) -> AsyncIterator[Number]:
    while given.upto < count:
        given.upto += 1
        yield Number(given.upto)
        if given.upto % 10 == 0:
            await asyncio.sleep(0.01)


def few() -> Iterator[Number]:
    yield from map(Number, range(1, 11))


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    opened: list[FileIO] = []

    class Opened(FileIO):
        """A launch that is stopped or killed ends with its process, which closes its files."""

        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            opened.append(self)

    monkeypatch.setattr(writing_files, "FileIO", Opened)
    yield
    for each in opened:
        each.close()
    begin_job("")
    begin_launch(1)


def test_a_pipe_or_a_device_is_written_as_it_is(tmp_path: Path) -> None:
    """Before, `/dev/stdout` and `/dev/null` were refused: they cannot be cut off at an end."""
    os.mkfifo(tmp_path / "pipe")
    reads = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    for path in ("/dev/null", "pipe"):
        app = App("tests::Pipe")
        app.source(few).sink(files.json_writer(path))
        app.run()
    assert len(os.read(reads, 10_000).splitlines()) == 10
    begin_job("uid")
    writer = files.JsonFile("pipe")
    writer(Number(1))
    writer.close()
    assert json.loads(os.read(reads, 10_000)) == {"number": 1, "value": 0.5}
    os.close(reads)
    assert [each.name for each in tmp_path.iterdir()] == ["pipe"]


def numbers_in(folder: Path) -> dict[str, list[int]]:
    """The numbers in each file that is no record of a job."""
    return {
        each.name: [json.loads(line)["number"] for line in each.read_text().splitlines()]
        for each in folder.iterdir()
        if not each.name.startswith(".")
    }


def every(folder: Path) -> list[int]:
    """The numbers of all files."""
    return sorted(number for found in numbers_in(folder).values() for number in found)


# ------------------------------------------------------------------ in one process


def test_each_channel_of_a_region_writes_a_file_of_its_own(tmp_path: Path) -> None:
    app = App("tests::Region")
    app.source(few).parallel(3).sink(files.json_writer("out.jsonl"))
    app.run()
    assert sorted(numbers_in(tmp_path)) == ["out-0.jsonl", "out-1.jsonl", "out-2.jsonl"]
    assert every(tmp_path) == list(range(1, 11))


def test_a_region_of_one_channel_has_its_number_in_the_name_too(tmp_path: Path) -> None:
    app = App("tests::Region")
    app.source(few).parallel(1).sink(files.json_writer("out.jsonl"))
    app.run()
    assert numbers_in(tmp_path) == {"out-0.jsonl": list(range(1, 11))}


def test_the_number_of_the_channel_is_where_the_path_names_it(tmp_path: Path) -> None:
    app = App("tests::Region")
    stream = app.source(few)
    stream.parallel(2).sink(files.json_writer("{channel}.of.two"))
    stream.sink(files.json_writer("{channel}.of.one"))
    app.run()
    assert sorted(numbers_in(tmp_path)) == ["0.of.one", "0.of.two", "1.of.two"]


def test_a_file_in_nested_regions_has_the_number_of_each(tmp_path: Path) -> None:
    app = App("tests::Nested")
    app.source(few).parallel(2).filter(lambda _: True).parallel(2).sink(
        files.json_writer("out.jsonl")
    )
    app.run()
    assert sorted(numbers_in(tmp_path)) == [f"out-{a}-{b}.jsonl" for a in (0, 1) for b in (0, 1)]
    assert every(tmp_path) == list(range(1, 11))


def test_a_broadcast_region_writes_everything_in_each_file(tmp_path: Path) -> None:
    app = App("tests::Region")
    app.source(few).parallel(2, broadcast=True).sink(files.json_writer("out.jsonl"))
    app.run()
    assert set(map(tuple, numbers_in(tmp_path).values())) == {tuple(range(1, 11))}


def test_a_run_replaces_the_file_of_the_run_before(tmp_path: Path) -> None:
    app = App("tests::Again")
    app.source(few).sink(files.json_writer("out.jsonl"))
    app.run()
    app.run()
    assert [each.name for each in tmp_path.iterdir()] == ["out.jsonl"]
    assert every(tmp_path) == list(range(1, 11))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_does_not_have_is_refused_and_written_nowhere(
    tmp_path: Path, number: float
) -> None:
    def deep() -> Iterator[Deep]:
        yield Deep({"a": [None, Number(1, -0.0)]})
        yield Deep({"a": [None, Number(2, number)]})

    app = App("tests::Json")
    app.source(deep).sink(files.json_writer("out.jsonl"), on_error="skip", name="Out")
    assert app.run()["Out"].skipped == 1
    assert (tmp_path / "out.jsonl").read_text() == (
        '{"items":{"a":[null,{"number":1,"value":-0.0}]}}\n'
    )
    app = App("tests::Json")
    app.source(deep).sink(files.json_writer("out.jsonl"))
    with pytest.raises(OperatorFailed, match=rf"items\.a\[1\]\.value is {number}, and JSON has no"):
        app.run()


# ------------------------------------------------------------------ launches of a PE


def written(path: Path, *texts: str, lines: int = 0) -> None:
    file, state = files.LineFile(str(path)), files.Written(lines)
    for each in texts:
        file(files.Line(each), state)
    file.close()


def test_a_file_of_a_job_that_is_launched_again_goes_on_after_its_last_whole_line(
    tmp_path: Path,
) -> None:
    path = tmp_path / "out.txt"
    begin_job("of-this")
    written(path, "one", "two")
    with path.open("ab") as file:
        file.write(b"hal")
    begin_launch(2)
    written(path, "three")
    assert path.read_text() == "one\ntwo\nthree\n"


def test_a_file_of_a_former_job_is_replaced_also_where_the_first_launch_was_killed_early(
    tmp_path: Path,
) -> None:
    path = tmp_path / "out.txt"
    begin_job("of-the-former")
    written(path, "of a former job")
    begin_job("of-this")
    files.LineFile(str(path))  # killed before its first tuple
    begin_launch(2)
    written(path, "one")  # and killed again, without a saved state
    begin_launch(3)
    written(path, "two")
    assert path.read_text() == "one\ntwo\n"
    begin_launch(1)
    written(path)  # in another PE, without a tuple
    assert path.read_text() == "one\ntwo\n"


def test_a_launch_that_knows_no_job_replaces_a_file_after_one_that_was_killed_early(
    tmp_path: Path,
) -> None:
    path = tmp_path / "out.txt"
    path.write_text("of a former job\n")
    files.LineFile(str(path))  # killed before its first tuple
    begin_launch(2)
    files.LineFile(str(path))  # and again
    written(path, "one")
    begin_launch(3)
    written(path, "two")
    assert path.read_text() == "one\ntwo\n"
    assert list(tmp_path.iterdir()) == [path], "the record is left only by one that was killed"


def test_a_file_that_no_job_wrote_is_replaced_by_the_first_launch_alone(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("of app.run\n")
    begin_job("of-this")
    files.LineFile(str(path))
    begin_launch(2)
    written(path, "one")
    assert path.read_text() == "one\n"


def test_a_job_that_began_with_an_older_release_goes_on_with_its_file(tmp_path: Path) -> None:
    """That left no record beside it."""
    path = tmp_path / "out.txt"
    path.write_text("one\n")
    begin_job("of-this")
    begin_launch(2)
    written(path, "two")
    assert path.read_text() == "one\ntwo\n"
    assert channels.launch() == 2


def test_a_file_whose_writer_moves_to_another_pe_goes_on_by_its_state(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_bytes(b"one\n")
    file, state = files.LineFile(str(path)), files.Written(lines=1)
    file(files.Line("two"), state)
    file.flush()
    assert path.read_text() == "one\ntwo\n"
    assert state.lines == 2
    file.close()


def test_nothing_but_whole_lines_is_written(tmp_path: Path) -> None:
    """Who reads the file, or writes at its end, too, never sees a part of a line."""
    path = tmp_path / "out.txt"
    file, state = files.LineFile(str(path)), files.Written()
    for number in range(20_000):
        file(files.Line(f"{number:07}"), state)
        if number % 1_000 == 0 and path.stat().st_size:
            assert path.read_bytes().endswith(b"\n")
    file.close()
    assert path.stat().st_size == 8 * 20_000


# ------------------------------------------------------------------ on a cluster


def in_a_region() -> App:
    app = App("tests::Region")
    path = app.param("path", default="")
    stream = app.source(numbers, state=Given, name="Numbers").parallel(2, name="Outer")
    stream.sink(files.json_writer(path), name="Out")
    return app


def in_nested_regions() -> App:
    app = App("tests::Nested")
    path = app.param("path", default="")
    outer = app.source(numbers, state=Given, name="Numbers").parallel(2, name="Outer")
    inner = outer.filter(lambda _: True).parallel(2, name="Inner")
    inner.sink(files.json_writer(path), name="Out")
    return app


region, nested = in_a_region(), in_nested_regions()


@pytest.mark.parametrize("has_store", [True, False], ids=["store", "no store"])
async def test_a_channel_that_leaves_and_comes_again_goes_on_with_its_file(
    tmp_path: Path, has_store: bool
) -> None:
    begin_job("of-this")
    store = MemoryStore() if has_store else None
    values = {"path": str(tmp_path / "out.jsonl")}
    async with Cluster(region, store=store, values=values) as cluster:
        for width in (3, 1, 3):
            await asyncio.sleep(0.05)
            await cluster.resize(Outer=width)
        await cluster.until(lambda: cluster.has_ended)
    found = every(tmp_path)
    assert set(numbers_in(tmp_path)) == {f"out-{each}.jsonl" for each in range(3)}
    assert set(found) == set(range(1, COUNT + 1))
    if has_store:
        assert len(found) == COUNT


async def test_files_of_nested_regions_have_each_line_once_through_resizes(tmp_path: Path) -> None:
    begin_job("of-this")
    values = {"path": str(tmp_path / "out.jsonl")}
    async with Cluster(nested, store=MemoryStore(), values=values) as cluster:
        for widths in ({"Outer.Inner": 3}, {"Outer": 1}, {"Outer": 3, "Outer.Inner": 1}):
            await asyncio.sleep(0.05)
            await cluster.resize(**widths)
        await cluster.until(lambda: cluster.has_ended)
    assert every(tmp_path) == list(range(1, COUNT + 1))
    names = {f"out-{a}-{b}.jsonl" for a in range(2) for b in range(2)}
    assert names < set(numbers_in(tmp_path))


def test_a_full_disk_leaves_the_record_of_a_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_job("a")
    first = files.JsonFile("out.jsonl")
    first(Number(1))
    first.close()
    begin_job("b")

    def full(path: Path, _: str) -> int:
        path.open("w").close()
        raise OSError(ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        files.JsonFile("out.jsonl")
        begin_job("a")
        begin_launch(2)
        again = files.JsonFile("out.jsonl")
        again(Number(2))  # its record is right already
        again.close()
    assert numbers_in(tmp_path) == {"out.jsonl": [1, 2]}
