"""Two sinks that would write one file are refused, however its path is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from millrace import App, GraphError
from millrace.adapters import files

pytestmark = pytest.mark.looptime


@dataclass
class Number:
    number: int


def few() -> Iterator[Number]:
    yield from map(Number, range(1, 11))


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def two(first: str, second: str, *, second_in_region: bool = False) -> App:
    app = App("tests::Two")
    stream = app.source(few)
    stream.sink(files.json_writer(first), name="One")
    other = stream.parallel(2) if second_in_region else stream
    other.sink(files.json_writer(second), name="Other")
    return app


@pytest.mark.parametrize(
    ("first", "second", "in_region"),
    [
        ("out.jsonl", "out.jsonl", False),
        ("a/../out.jsonl", "./out.jsonl", False),
        ("out-1.jsonl", "out.jsonl", True),
        ("out-0.jsonl", "out-{channel}.jsonl", True),
    ],
)
def test_two_sinks_that_write_one_file_are_refused(
    first: str, second: str, in_region: bool
) -> None:
    with pytest.raises(GraphError, match="sinks One and Other both write"):
        two(first, second, second_in_region=in_region).adl()


def test_two_sinks_in_regions_that_write_the_same_files_are_refused() -> None:
    app = App("tests::Two")
    stream = app.source(few)
    for _ in range(2):
        stream.parallel(2).sink(files.json_writer("out.jsonl"))
    with pytest.raises(GraphError, match=r"both write out-\{channel\}\.jsonl"):
        app.run()


def test_two_sinks_with_one_file_by_submission_time_values_are_refused() -> None:
    app = App("tests::Two")
    paths = [app.param("one", default="a.txt"), app.param("other", default="b.txt")]
    stream = app.source(few)
    for path in paths:
        stream.sink(files.json_writer(path))
    app.run()
    with pytest.raises(GraphError, match=r"both write b\.txt"):
        app.run({"one": "b.txt"})
    stream.sink(files.json_writer(paths[0]))
    with pytest.raises(GraphError, match="both write the value of one"):
        app.adl()


def test_a_sink_that_replaces_what_a_source_reads_is_refused() -> None:
    app = App("tests::Both")
    app.source(files.json_lines("x.jsonl", Number)).sink(files.json_writer("x.jsonl"))
    with pytest.raises(GraphError, match=r"FileJson reads x\.jsonl, which sink FileJsonSink repl"):
        app.run()


def test_paths_that_differ_are_fine(tmp_path: Path) -> None:
    two("out.jsonl", "out.jsonl", second_in_region=True).run()
    two("out-a.jsonl", "out.jsonl", second_in_region=True).run()
    assert len(list(tmp_path.iterdir())) == 4
