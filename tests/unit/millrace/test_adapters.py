"""Adapters: files, HTTP, Kafka topics and timers, each against the real thing or a stand-in."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar, assert_type

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from millrace import App, OperatorFailed, Stream, channels
from millrace.adapters import files, http, kafka, timers
from millrace.adapters.files import Line, Position
from millrace.channels import begin_launch
from millrace.errors import InputRefused
from millrace.runtime.operators import bound


@dataclass
class Quote:
    name: str
    price: float


def quotes() -> Iterator[Quote]:
    yield Quote("a", 1.5)
    yield Quote("ä", 2.0)


def test_lines_of_a_file_go_on_where_a_position_is(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(b"one\r\ntwo\nb\xffd")
    app, found = App("demo::Files"), list[Line]()
    lines = app.source(files.lines(str(path)))
    assert_type(lines, Stream[Line])
    lines.sink(found.append)
    app.run()
    assert [each.text for each in found] == ["one", "two", "b�d"]
    position = Position(5)
    read = bound(app.graph.operator("FileLines"), {})
    assert [each.text for each in read(position)] == ["two", "b�d"]
    assert position.offset == path.stat().st_size


def test_json_is_written_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "out.jsonl"
    app = App("demo::Write")
    app.source(quotes).sink(files.json_writer(str(path)))
    app.run()
    assert path.read_text().splitlines()[0] == '{"name":"a","price":1.5}'
    app, found = App("demo::Read"), list[Quote]()
    app.source(files.json_lines(str(path), Quote)).sink(found.append)
    app.run()
    assert found == list(quotes())


BAD_LINES = (
    '\n{"name":"a","price":1}\nnot JSON\n\n{"name":"b","price":"much"}\n{"name":"c","price":3}'
)


@pytest.fixture
def bad_lines(tmp_path: Path) -> str:
    path = tmp_path / "in.jsonl"
    path.write_text(BAD_LINES)
    return str(path)


def test_a_line_that_is_no_such_json_is_named(bad_lines: str) -> None:
    app = App("demo::Bad")
    app.source(files.json_lines(bad_lines, Quote)).sink(print)
    with pytest.raises(OperatorFailed, match=r"in\.jsonl, the line at byte 24: JSON is malformed"):
        app.run()


def test_the_position_stays_before_a_bad_line_until_it_is_passed_by(bad_lines: str) -> None:
    """A launch that begins with the position comes to the line again, and does not skip it."""
    app, position, found = App("demo::Bad"), Position(), list[str]()
    app.source(files.json_lines(bad_lines, Quote)).sink(print)
    read = bound(app.graph.operator("FileJson"), {})

    def reads_on() -> InputRefused:
        with pytest.raises(InputRefused) as refused:
            found.extend(each.name for each in read(position))
        return refused.value

    assert str(reads_on()) == str(reads_on())
    assert (found, position.offset) == (["a"], 24)
    reads_on().pass_by()
    reads_on().pass_by()
    found.extend(each.name for each in read(position))
    assert (found, position.offset) == (["a", "c"], len(BAD_LINES))


def test_bad_lines_are_skipped_and_counted_each(bad_lines: str) -> None:
    app, found = App("demo::Bad"), list[Quote]()
    app.source(files.json_lines(bad_lines, Quote), on_error="skip", name="In").sink(found.append)
    assert app.run()["In"].skipped == 2
    assert [each.name for each in found] == ["a", "c"]


def test_text_is_written_in_lines(tmp_path: Path) -> None:
    app = App("demo::Text")
    stream = app.source(quotes).map(lambda quote: Line(quote.name), returns=Line)
    stream.sink(files.writer(str(tmp_path / "out.txt")))
    app.run()
    assert (tmp_path / "out.txt").read_text() == "a\nä\n"


def test_timers_tick_so_many_times() -> None:
    app, found = App("demo::Timer"), list[timers.Tick]()
    app.source(timers.every(0.001, count=3)).sink(found.append)
    app.run()
    assert [each.number for each in found] == [0, 1, 2]


async def test_http_is_polled_and_posted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "RETRY_S", 0.0)
    posted: list[Any] = []
    answers = iter([503, 200, 200])

    async def get(_: web.Request) -> web.Response:
        return web.json_response([{"name": "a", "price": 1.5}, {"name": "b", "price": 2}])

    async def post(request: web.Request) -> web.Response:
        posted.append(await request.json())
        return web.Response(status=next(answers))

    site = web.Application()
    site.add_routes([web.get("/quotes", get), web.post("/sink", post)])
    async with TestServer(site) as server:
        app = App("demo::Http")
        polled = app.source(http.poll(str(server.make_url("/quotes")), Quote, seconds=0, count=1))
        polled.sink(http.post(str(server.make_url("/sink"))))
        await app.run_async()
    assert [each["name"] for each in posted] == ["a", "a", "b"]


@pytest.mark.parametrize(("path", "cause"), [("/gone", "404"), ("/text", "JSON is malformed")])
async def test_a_bad_answer_fails_the_source(path: str, cause: str) -> None:
    async def text(_: web.Request) -> web.Response:
        return web.Response(text="<html>")

    site = web.Application()
    site.add_routes([web.get("/text", text)])
    async with TestServer(site) as server:
        app = App("demo::Http")
        app.source(http.poll(str(server.make_url(path)), Quote, seconds=0, count=1)).sink(print)
        with pytest.raises(OperatorFailed, match=cause):
            await app.run_async()


class _Consumer:
    """A topic with two partitions, as much of it as the adapter uses."""

    records: ClassVar = {
        0: [b'{"name":"a","price":1}', b'{"name":"b","price":2}'],
        1: [b'{"name":"c"}'],
    }

    def __init__(self, topic: str, **_: Any) -> None:
        parts = self.records if topic == "quotes" else {}
        self._at = {Partition(topic, number): 0 for number in parts}
        self._paused: set[Any] = set()

    async def start(self) -> None: ...
    async def stop(self) -> None: ...

    def assignment(self) -> set[Any]:
        return set(self._at)

    def pause(self, *partitions: Any) -> None:
        self._paused |= set(partitions)

    def seek(self, partition: Any, offset: int) -> None:
        self._at[partition] = offset

    async def position(self, partition: Any) -> int:
        return self._at[partition]

    async def end_offsets(self, partitions: list[Any]) -> dict[Any, int]:
        return {each: len(self.records[each.partition]) for each in partitions}

    async def getmany(self, timeout_ms: int) -> dict[Any, list[Any]]:
        await asyncio.sleep(0)
        found = {}
        for each, begin in self._at.items():
            if each not in self._paused:
                values = self.records[each.partition]
                found[each] = [
                    SimpleNamespace(partition=each.partition, offset=at, value=values[at])
                    for at in range(begin, len(values))
                ]
                self._at[each] = len(values)
        return found


@dataclass(frozen=True, order=True)
class Partition:
    topic: str
    partition: int


class _Producer:
    sent: ClassVar[list[tuple[str, bytes, bytes | None]]] = []
    stopped = 0

    def __init__(self, **_: Any) -> None: ...
    async def start(self) -> None: ...

    async def stop(self) -> None:
        _Producer.stopped += 1

    async def send(self, topic: str, value: bytes, key: bytes | None) -> asyncio.Future[None]:
        self.sent.append((topic, value, key))
        future = asyncio.get_running_loop().create_future()
        future.set_result(None)
        return future


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> None:
    library = ModuleType("aiokafka")
    vars(library).update(AIOKafkaConsumer=_Consumer, AIOKafkaProducer=_Producer)
    monkeypatch.setitem(sys.modules, "aiokafka", library)
    monkeypatch.setattr(_Producer, "sent", [])


@dataclass
class Named:
    name: str


@pytest.mark.parametrize("parallel", [None, 2])
def test_all_partitions_of_a_topic_are_read_once(broker: None, parallel: int | None) -> None:
    app, found = App("demo::Kafka"), list[Named]()
    topic = kafka.topic("quotes", Named, servers="x:1", begin="earliest", until_end=True)
    stream = app.source(topic, parallel=parallel)
    (stream.end_parallel() if parallel else stream).sink(found.append)
    app.run()
    assert sorted(each.name for each in found) == ["a", "b", "c"]


def test_a_topic_is_read_from_the_offsets_of_the_state(broker: None) -> None:
    app = App("demo::Kafka")
    app.source(kafka.topic("quotes", Named, servers="x:1", until_end=True)).sink(print)
    read = bound(app.graph.operator("KafkaTopic"), {})
    offsets = kafka.Offsets({0: 1})

    async def names() -> list[str]:
        return [each.name async for each in read(offsets)]

    assert sorted(asyncio.run(names())) == ["b", "c"]
    assert offsets.next == {0: 2, 1: 1}


@pytest.mark.parametrize(
    ("topic", "sentence"),
    [("quotes", "record quotes/1@0: Object missing required"), ("none", "topic none does not exi")],
)
def test_what_a_topic_cannot_give_fails_the_source(broker: None, topic: str, sentence: str) -> None:
    app = App("demo::Kafka")
    app.source(kafka.topic(topic, Quote, servers="x:1", until_end=True)).sink(print)
    with pytest.raises(OperatorFailed, match=sentence):
        app.run()


def test_a_bad_record_is_skipped_and_counted(broker: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, the source came to it again and again, and to nothing behind it."""
    monkeypatch.setattr(_Consumer, "records", {0: [b"no", b'{"name":"b"}'], 1: [b'{"name":"c"}']})
    app, found = App("demo::Kafka"), list[Named]()
    topic = kafka.topic("quotes", Named, servers="x:1", until_end=True)
    app.source(topic, on_error="skip", name="In").sink(found.append)
    assert app.run()["In"].skipped == 1
    assert sorted(each.name for each in found) == ["b", "c"]


def test_tuples_are_written_to_a_topic_by_their_key(broker: None) -> None:
    app = App("demo::Kafka")
    app.source(quotes).sink(kafka.writer("out", servers="x:1", key="name"))
    app.run()
    assert _Producer.sent[0] == ("out", b'{"name":"a","price":1.5}', b"a")
    assert _Producer.stopped >= 1


@pytest.mark.parametrize(("library", "make"), [("aiokafka", "kafka"), ("aiohttp", "http")])
def test_a_library_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, library: str, make: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    app = App("demo::Missing")
    if make == "kafka":
        app.source(kafka.topic("quotes", Named, servers="x:1")).sink(print)
    else:
        app.source(http.poll("http://127.0.0.1:1", Named, seconds=1)).sink(print)
    with pytest.raises(OperatorFailed, match=rf"needs {library}: install millrace\[{make}\]"):
        app.run()


def test_a_file_of_a_job_that_is_launched_again_goes_on_after_its_last_whole_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.txt"
    path.write_bytes(b"one\ntwo\nhal")
    monkeypatch.setattr(channels, "_launch", 2)
    file, written = files.LineFile(str(path)), files.Written()
    file(files.Line("three"), written)
    file.close()
    assert path.read_text() == "one\ntwo\nthree\n"


def test_a_file_of_a_former_job_is_replaced_also_where_the_first_launch_was_killed_early(
    tmp_path: Path,
) -> None:
    path = tmp_path / "out.txt"
    path.write_text("of a former job\n")
    try:
        begin_launch(1)
        files.LineFile(str(path))  # killed before its first tuple
        begin_launch(2)
        file, written = files.LineFile(str(path)), files.Written()
        file(files.Line("one"), written)
        file.close()  # and killed again, without a saved state
        begin_launch(3)
        again = files.LineFile(str(path))
        again(files.Line("two"), files.Written())
        again.close()
    finally:
        begin_launch(1)
    assert path.read_text() == "one\ntwo\n"
    begin_launch(1)
    files.LineFile(str(path))  # in another PE, by its state, and restarted before a tuple
    begin_launch(2)
    files.LineFile(str(path)).close()
    begin_launch(1)
    assert path.read_text() == "one\ntwo\n"
    assert [each.name for each in tmp_path.iterdir()] == ["out.txt"]


def test_a_file_whose_writer_moves_to_another_pe_goes_on_by_its_state(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_bytes(b"one\n")
    file, written = files.LineFile(str(path)), files.Written(lines=1)
    file(files.Line("two"), written)
    file.flush()
    assert path.read_text() == "one\ntwo\n"
    assert written.lines == 2
    file.close()


def test_an_absolute_path_is_below_the_root_that_a_sandbox_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLRACE_ROOT", str(tmp_path))
    file = files.LineFile("/data/out.txt")
    file(files.Line("one"), files.Written())
    file.close()
    assert (tmp_path / "data" / "out.txt").read_text() == "one\n"
