"""Adapters: files, HTTP and timers, each against the real thing or a stand-in."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_type

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from millrace import App, OperatorFailed, Stream
from millrace.adapters import files, http, kafka, timers
from millrace.adapters.files import Line, Position
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


@dataclass
class Named:
    name: str


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
    with pytest.raises(
        OperatorFailed, match=rf"needs {library}: install millrace-streams\[{make}\]"
    ):
        app.run()


def test_an_absolute_path_is_below_the_root_that_a_sandbox_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLRACE_ROOT", str(tmp_path))
    file = files.LineFile("/data/out.txt")
    file(files.Line("one"), files.Written())
    file.close()
    assert (tmp_path / "data" / "out.txt").read_text() == "one\n"
