"""Files: lines of text, and tuples as JSON, one in a line.

>>> lines = app.source(files.lines("input.txt"))
>>> counts.sink(files.json_writer("counts.jsonl"))

A path may be a submission-time value. On a cluster it is a path in the pod of a processing element.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from millrace.adapters.kinds import Reader, Writer
from millrace.parameters import Parameter

T = TypeVar("T")
Text = str | Parameter[str]


@dataclass(slots=True)
class Line:
    """One line of a file, without its end."""

    text: str


@dataclass(slots=True)
class Position:
    """How many bytes of a file have been read."""

    offset: int = 0


def lines(path: Text) -> Reader[Line]:
    """The lines of a text file in UTF-8. A byte that is not UTF-8 becomes U+FFFD."""
    return Reader("FileLines", _lines, Line, {"path": path}, Position)


def json_lines(path: Text, type_: type[T]) -> Reader[T]:
    """Tuples of a file with one JSON object in each line; empty lines are left out.

    The source fails at a line that is no such object, and names it.
    """
    return Reader("FileJson", _JsonLines(type_), type_, {"path": path}, Position)


def writer(path: Text) -> Writer[Line]:
    """Writes lines to a file, which is replaced when the run begins."""
    return Writer("FileLineSink", LineFile, {"path": path})


def json_writer(path: Text) -> Writer[Any]:
    """Writes each tuple as JSON in a line of a file, which is replaced when the run begins."""
    return Writer("FileJsonSink", JsonFile, {"path": path})


def _raw_lines(position: Position, path: str) -> Iterator[bytes]:
    with Path(path).open("rb") as file:
        file.seek(position.offset)
        for line in file:
            position.offset += len(line)
            yield line.rstrip(b"\r\n")


def _lines(position: Position, path: str) -> Iterator[Line]:
    for line in _raw_lines(position, path):
        yield Line(line.decode("utf-8", "replace"))


class _JsonLines:
    """Reads tuples of one type; the type is no argument, since a bundle holds only constants."""

    def __init__(self, type_: Any) -> None:
        self._decoder = msgspec.json.Decoder(type_)

    def __call__(self, position: Position, path: str) -> Iterator[Any]:
        for number, line in enumerate(_raw_lines(position, path), start=1):
            if not line.strip():
                continue
            try:
                yield self._decoder.decode(line)
            except msgspec.MsgspecError as problem:
                raise ValueError(f"{path}, line {number} from where it began: {problem}") from None


class LineFile:
    """A text file that a sink writes."""

    def __init__(self, path: str) -> None:
        """Make the file, and the folders above it."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        self._file = Path(path).open("wb")  # noqa: SIM115 - `close` closes it

    def __call__(self, line: Line) -> None:
        """Write one line."""
        self._file.write(line.text.encode() + b"\n")

    def close(self) -> None:
        """Write what is left in memory."""
        self._file.close()


class JsonFile(LineFile):
    """A file of JSON lines that a sink writes."""

    def __call__(self, item: Any) -> None:
        """Write one tuple."""
        self._file.write(msgspec.json.encode(item) + b"\n")
