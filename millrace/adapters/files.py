"""Files: lines of text, and tuples as JSON, one in a line.

>>> lines = app.source(files.lines("input.txt"))
>>> counts.sink(files.json_writer("counts.jsonl"))

A path may be a submission-time value. On a cluster it is a path in the pod of a processing element.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from os import SEEK_END
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

import msgspec

from millrace.adapters.kinds import Reader, Writer
from millrace.channels import launch
from millrace.errors import InputRefused
from millrace.parameters import Parameter

T = TypeVar("T")
Text = str | Parameter[str]
TAIL_BYTES: Final = 65_536


@dataclass(slots=True)
class Line:
    """One line of a file, without its end."""

    text: str


@dataclass(slots=True)
class Position:
    """How many bytes of a file have been read."""

    offset: int = 0


@dataclass(slots=True)
class Written:
    """How many lines of a file were written."""

    lines: int = 0


def lines(path: Text) -> Reader[Line]:
    """The lines of a text file in UTF-8. A byte that is not UTF-8 becomes U+FFFD."""
    return Reader("FileLines", _lines, Line, {"path": path}, Position)


def json_lines(path: Text, type_: type[T]) -> Reader[T]:
    """Tuples of a file with one JSON object in each line; empty lines are left out.

    The source fails at a line that is no such object, and names it. Unless it skips such lines, it
    comes to that line again until the file has another one there.
    """
    return Reader("FileJson", _JsonLines(type_), type_, {"path": path}, Position)


def writer(path: Text) -> Writer[Line]:
    """Writes lines to a file, which is replaced when the job begins, and continued afterwards."""
    return Writer("FileLineSink", LineFile, {"path": path}, Written)


def json_writer(path: Text) -> Writer[Any]:
    """Writes each tuple as JSON in a line of a file; the file is as that of `writer`."""
    return Writer("FileJsonSink", JsonFile, {"path": path}, Written)


def place_of(path: str) -> Path:
    """Where a path of the pod is in this process: below `MILLRACE_ROOT` if a sandbox sets it."""
    return (
        Path(os.environ.get("MILLRACE_ROOT") or "/") / path.lstrip("/")
        if path[:1] == "/"
        else Path(path)
    )


def _raw_lines(position: Position, path: str) -> Iterator[bytes]:
    """Lines with their ends; who takes one moves the position."""
    with place_of(path).open("rb") as file:
        file.seek(position.offset)
        yield from file


def _lines(position: Position, path: str) -> Iterator[Line]:
    for line in _raw_lines(position, path):
        position.offset += len(line)
        yield Line(line.rstrip(b"\r\n").decode("utf-8", "replace"))


class _JsonLines:
    """Reads tuples of one type; the type is no argument, since a bundle holds only constants."""

    def __init__(self, type_: Any) -> None:
        self._decoder = msgspec.json.Decoder(type_)

    def __call__(self, position: Position, path: str) -> Iterator[Any]:
        for line in _raw_lines(position, path):
            end = position.offset + len(line)
            if not line.strip():
                position.offset = end
                continue
            try:
                item = self._decoder.decode(line)
            except msgspec.MsgspecError as problem:
                where = f"{path}, the line at byte {position.offset}"
                pass_by = partial(setattr, position, "offset", end)
                raise InputRefused(f"{where}: {problem}", pass_by) from None
            position.offset = end
            yield item


class LineFile:
    """A text file that a sink writes.

    The first launch replaces it, but knows only at the first tuple whether its state says that it
    goes on. So it leaves a mark beside the file: a launch after one that was killed before that
    tuple still has to replace the file.
    """

    def __init__(self, path: str) -> None:
        """Nothing is opened before the first tuple."""
        self._path = place_of(path)
        self._mark = self._path.with_name(f".{self._path.name}.begins")
        self._file: BinaryIO | None = None
        if launch() == 1:
            with suppress(OSError):  # the first tuple says what is wrong with the folder
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._mark.touch()

    def __call__(self, line: Line, written: Written) -> None:
        """Write one line."""
        self._write(line.text.encode(), written)

    def _write(self, line: bytes, written: Written) -> None:
        if self._file is None:
            self._file = self._opened(goes_on=written.lines > 0 or self._is_begun)
        self._file.write(line + b"\n")
        written.lines += 1

    @property
    def _is_begun(self) -> bool:
        """An earlier launch has replaced the file."""
        return launch() > 1 and not self._mark.exists()

    def _opened(self, *, goes_on: bool) -> BinaryIO:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if not goes_on:
            replaced = self._path.open("wb")
            self._mark.unlink(missing_ok=True)
            return replaced
        self._mark.unlink(missing_ok=True)
        file = self._path.open("a+b")
        file.truncate(_whole_lines(file))
        return file

    def flush(self) -> None:
        """Write what is left in memory."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Write what is left in memory, and make the file if no tuple came."""
        if self._file is None:
            self._file = self._opened(goes_on=launch() > 1)  # its state may say that it goes on
        self._file.close()


def _whole_lines(file: BinaryIO) -> int:
    """The length of a file without a last line that a killed process did not finish."""
    end = file.seek(0, SEEK_END)
    while end:
        begin = max(0, end - TAIL_BYTES)
        file.seek(begin)
        found = file.read(end - begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


class JsonFile(LineFile):
    """A file of JSON lines that a sink writes."""

    def __call__(self, item: Any, written: Written) -> None:
        """Write one tuple."""
        self._write(msgspec.json.encode(item), written)
