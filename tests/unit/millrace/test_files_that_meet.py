"""Two sinks that would write one file are refused, however their paths name it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from millrace import App, GraphError
from millrace.adapters import files


@dataclass
class Number:
    number: int


def few() -> Iterator[Number]:
    yield from map(Number, range(1, 11))


@pytest.mark.parametrize(
    ("outer", "nested", "are_one"),
    [
        ("out-1.jsonl", "out.jsonl", True),  # both write out-1-0.jsonl
        ("a1{channel}.jsonl", "a{channel}.jsonl", False),
        ("1{channel}-0", "{channel}", True),
        ("{channel}{channel}-2", "1{channel}", True),
        ("{channel}-0", "12{channel}", True),
        ("{channel}.jsonl", "{channel}.jsonl", False),
        ("out.jsonl", "out.jsonl", False),
    ],
)
def test_sinks_of_regions_may_not_meet_in_any_of_their_channels(
    outer: str, nested: str, *, are_one: bool
) -> None:
    app = App("tests::Meet")
    stream = app.source(few)
    stream.parallel(2).sink(files.json_writer(outer))
    stream.parallel(2).filter(bool).parallel(2).sink(files.json_writer(nested))
    with pytest.raises(GraphError, match="both write") if are_one else nullcontext():
        assert app.graph


def test_one_file_that_is_named_by_its_whole_path_or_by_a_link_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "out.jsonl")
    for other in (str(tmp_path / "out.jsonl"), "link"):
        app = App("tests::Meet")
        stream = app.source(few)
        stream.sink(files.json_writer("out.jsonl"))
        stream.sink(files.json_writer(other))
        with pytest.raises(GraphError, match=r"both write out\.jsonl"):
            app.run()
