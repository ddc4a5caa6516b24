"""What a file has is read once, line by line; what cannot be read is named by file and line."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from millrace import App, GraphError, OperatorFailed
from millrace.adapters import files, reading_files
from millrace.adapters.files import Line, Position
from millrace.errors import InputRefused
from millrace.graph import OnError
from millrace.runtime.operators import bound


@dataclass
class Number:
    number: int


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def texts(data: bytes, on_error: OnError = "fail", **options: Any) -> list[str]:
    Path("in.txt").write_bytes(data)
    app, found = App("tests::Lines"), list[Line]()
    app.source(files.lines("in.txt", **options), on_error=on_error).sink(found.append)
    app.run()
    return [each.text for each in found]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\n\nb", ["a", "", "b"]),
        (b"a\r\nb\r\r\nc\rd\n", ["a", "b\r", "c\rd"]),
        (b"a\r", ["a\r"]),
        (codecs.BOM_UTF8, []),
        (codecs.BOM_UTF8 + b"\n", [""]),
        (codecs.BOM_UTF8 + b"a\n" + codecs.BOM_UTF8 + b"b", ["a", "\ufeffb"]),
        (b"a\x00b\x1c\x0b\xc2\x85\xe2\x80\xa8c\n", ["a\x00b\x1c\x0b\x85\u2028c"]),
    ],
)
def test_a_line_ends_with_a_newline_and_begins_behind_the_mark(
    data: bytes, expected: list[str]
) -> None:
    assert texts(data) == expected


def test_json_is_read_behind_the_mark_too() -> None:
    Path("in.jsonl").write_bytes(codecs.BOM_UTF8 + b'{"number":1}\r\n\r\n{"number":2}')
    app, found = App("tests::Json"), list[Number]()
    app.source(files.json_lines("in.jsonl", Number)).sink(found.append)
    app.run()
    assert found == [Number(1), Number(2)]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ("a\n".encode("utf-16"), "is text in UTF-16"),
        (codecs.BOM_UTF16_BE + "a\n".encode("utf-16-be"), "is text in UTF-16"),
        ("a\n".encode("utf-32"), "is text in UTF-32"),
        (gzip.compress(b"a\n", mtime=0), r"is compressed \(gzip\)"),
        (bz2.compress(b"a\n"), r"is compressed \(bzip2\)"),
        (lzma.compress(b"a\n"), r"is compressed \(xz\)"),
        (b"PK\x03\x04\x14\x00", r"is compressed \(zip\)"),
    ],
)
def test_a_file_of_another_encoding_is_named_and_not_read_as_lines(data: bytes, what: str) -> None:
    with pytest.raises(OperatorFailed, match=rf"in\.txt {what}, and not in lines of UTF-8"):
        texts(data)
    assert texts(data, "skip") == []


def test_text_of_another_encoding_is_read_where_it_is_named() -> None:
    assert texts("Größe\n5 €\n".encode("cp1252"), encoding="cp1252") == ["Größe", "5 €"]
    assert texts("Größe\n".encode("utf-8-sig"), encoding="utf-8-sig") == ["Größe"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32-le", "no-such", "hex"])
def test_an_encoding_whose_lines_cannot_be_found_is_refused(encoding: str) -> None:
    with pytest.raises(GraphError, match=encoding):
        files.lines("in.txt", encoding=encoding)


def test_a_line_that_cannot_be_decoded_is_refused_by_file_and_line_if_strict() -> None:
    data = b"a\nb\xffc\nd\n"
    with pytest.raises(OperatorFailed, match=r"line 2 of in\.txt, the line at byte 2: .* byte 2"):
        texts(data, errors="strict")
    assert texts(data, "skip", errors="strict") == ["a", "d"]
    assert texts(data) == ["a", "b�c", "d"]
    with pytest.raises(GraphError, match="use replace or strict"):
        files.lines("in.txt", errors="ignore")  # type: ignore[arg-type]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_a_line_that_is_too_long_is_refused_and_not_kept(
    end: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_files, "LINE_BYTES_MAX", 10)
    monkeypatch.setattr(reading_files, "BLOCK_BYTES", 4)
    data = b"0123456789\n" + b"x" * 33 + end + (b"9876543210\n" if end else b"")
    with pytest.raises(OperatorFailed, match=r"line 2 of in\.txt.*longer than 10 bytes"):
        texts(data)
    assert texts(data, "skip") == ["0123456789", *(["9876543210"] if end else [])]


def test_lines_are_named_by_their_numbers_behind_a_position_too() -> None:
    Path("in.jsonl").write_bytes(b'{"number":1}\n\n{"number":3}\nno\n{"number":5}\n')
    app = App("tests::Json")
    app.source(files.json_lines("in.jsonl", Number)).sink(print)
    read, position = bound(app.graph.operator("FileJson"), {}), Position()
    assert next(read(position)) == Number(1)
    assert next(read(position)) == Number(3)
    with pytest.raises(InputRefused, match=r"line 4 of in\.jsonl, the line at byte 27") as refused:
        next(read(position))
    refused.value.pass_by()
    assert next(read(position)) == Number(5)
    assert position == Position(43, 5)


@dataclass
class Odd:
    number: int

    def __post_init__(self) -> None:
        _ = {1: "one", 3: "three"}[self.number]


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ('{"number":2}', "line 2 of .*KeyError: 2"),
        ('{"number":3,"more":' + "[" * 100_000 + "]" * 100_000 + "}", "line 2 of .*RecursionError"),
    ],
)
def test_whatever_a_line_raises_it_is_passed_by(bad: str, sentence: str) -> None:
    """Before, a source that skips came to such a line again, for ever."""
    Path("in.jsonl").write_text(f'{{"number":1}}\n{bad}\n{{"number":3}}\n')
    position = Position()
    reader = files.json_lines("in.jsonl", Odd)
    with pytest.raises(InputRefused, match=sentence) as refused:
        list(reader.function(position, **reader.fn_kwargs))
    refused.value.pass_by()
    assert list(reader.function(position, **reader.fn_kwargs)) == [Odd(3)]


def test_a_file_that_was_cut_off_or_replaced_is_named_and_read_again_if_skipped() -> None:
    Path("in.txt").write_bytes(b"a\n")
    app = App("tests::Lines")
    app.source(files.lines("in.txt")).sink(print)
    read, position = bound(app.graph.operator("FileLines"), {}), Position(500, 20)
    with pytest.raises(InputRefused, match=r"in\.txt has 2 bytes, and 500 were read") as refused:
        next(read(position))
    assert position == Position(500, 20)
    refused.value.pass_by()
    assert [each.text for each in read(position)] == ["a"]


@pytest.mark.parametrize("path", ["gone.txt", "."])
def test_a_file_that_is_not_there_or_a_folder_is_named(path: str) -> None:
    app = App("tests::Lines")
    app.source(files.lines(path)).sink(print)
    with pytest.raises(OperatorFailed, match=rf"(No such file|directory).*{path}"):
        app.run()


# ------------------------------------------------------------------ in a parallel region


def in_a_region(width: int, path: str = "in.jsonl", on_error: OnError = "fail") -> list[int]:
    app, found = App("tests::Region"), list[Number]()
    reader = files.json_lines(path, Number)
    stream = app.source(reader, parallel=width, name="In", on_error=on_error)
    stream.end_parallel().sink(found.append)
    result = app.run()
    return sorted([*(each.number for each in found), *[-1] * result["In"].skipped])


@pytest.mark.parametrize("width", [1, 2, 3, 7])
def test_each_line_is_given_once_whatever_the_width(width: int) -> None:
    lines = [f'{{"number":{number}}}\n\n' for number in range(20)]
    Path("in.jsonl").write_text("".join(lines))
    assert in_a_region(width) == list(range(20))


def test_a_bad_line_is_skipped_by_one_channel_alone() -> None:
    Path("in.jsonl").write_text('{"number":0}\nno\n{"number":2}\nno\n')
    assert in_a_region(3, on_error="skip") == [-1, -1, 0, 2]


def test_each_channel_reads_all_of_a_file_of_its_own() -> None:
    for number in range(3):
        Path(f"in-{number}.jsonl").write_text(f'{{"number":{number}}}\n{{"number":9}}')
    assert in_a_region(3, "in-{channel}.jsonl") == [0, 1, 2, 9, 9, 9]


def test_what_a_region_writes_another_one_reads() -> None:
    def ten() -> Iterator[Number]:
        yield from map(Number, range(10))

    app = App("tests::Writes")
    app.source(ten).parallel(3).sink(files.json_writer("x-{channel}.jsonl"))
    app.run()
    assert in_a_region(3, "x-{channel}.jsonl") == list(range(10))


def test_channels_go_on_where_they_are() -> None:
    Path("in.txt").write_text("".join(f"{number}\n" for number in range(10)))
    from millrace.channels import begin_channel

    app = App("tests::Lines")
    app.source(files.lines("in.txt"), parallel=3).end_parallel().sink(print)
    read = bound(app.graph.operator("FileLines"), {})
    begin_channel(1, 3, (1,))
    try:
        position = Position()
        assert next(read(position)).text == "1"
        assert [each.text for each in read(position)] == ["4", "7"]
        assert position == Position(16, 8)
    finally:
        begin_channel(0, 1)
