r"""The lines of a file that a source reads.

1. A line ends with `\n` or `\r\n`, the last one with the file. A lone `\r` is a part of the text.
2. The byte order mark of UTF-8 is no part of the first line. A file that begins with the mark of
   another encoding, or is compressed, has no lines that could be read.
3. Each line is given once: in a parallel region each channel takes its turn, unless each has a file
   of its own, with `{channel}` in the path.
4. The position changes right before a tuple is given, and stays before a line that is refused.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from typing import Any, Final

import msgspec

from millrace.adapters.file_paths import CHANNEL, read_path
from millrace.adapters.json_text import refusal
from millrace.channels import ONLY, channel
from millrace.errors import InputRefused
from millrace.paths import place_of

LINE_BYTES_MAX: Final = 64 * 1024 * 1024
"""The longest line that is kept: a tuple may not be longer."""
BLOCK_BYTES: Final = 1024 * 1024
NO_TEXT: Final = {
    codecs.BOM_UTF32_LE: "is text in UTF-32",
    codecs.BOM_UTF32_BE: "is text in UTF-32",
    codecs.BOM_UTF16_LE: "is text in UTF-16",
    codecs.BOM_UTF16_BE: "is text in UTF-16",
    b"\x1f\x8b": "is compressed (gzip)",
    b"\x28\xb5\x2f\xfd": "is compressed (zstd)",
    b"\xfd7zXZ\x00": "is compressed (xz)",
    b"BZh91AY&SY": "is compressed (bzip2)",
    b"PK\x03\x04": "is compressed (zip)",
}
"""What a file is that begins so. The mark of UTF-32 begins with that of UTF-16, and comes first."""
HEAD_BYTES: Final = max(map(len, NO_TEXT))


@dataclass(slots=True)
class Line:
    """One line of a file, without its end."""

    text: str


@dataclass(slots=True)
class Position:
    """How much of a file has been read: bytes and lines."""

    offset: int = 0
    lines: int = 0

    def move(self, offset: int, lines: int) -> None:
        """What is before this was read."""
        self.offset, self.lines = offset, lines


RawLine = tuple[int, int, int, bytes]
"""The number of a line, from 1, the bytes where it begins and ends, and the line with its end. What
is longer than `LINE_BYTES_MAX` is a part of the line. A tuple, as millions of them are made."""


class Lines:
    """Reads lines of text."""

    def __call__(
        self, position: Position, path: str, encoding: str = "utf-8", errors: str = "replace"
    ) -> Iterator[Line]:
        """Lines behind a position. Raises InputRefused."""
        for line in raw_lines(position, path):
            number, _, end, content = line
            if len(content) > LINE_BYTES_MAX + 1:
                raise _too_long(line, path, position)
            if content.endswith(b"\r\n"):
                content = content[:-2]
            elif content.endswith(b"\n"):
                content = content[:-1]
            try:
                text = content.decode(encoding, errors)
            except UnicodeDecodeError as problem:
                what = f"it is no {encoding}: {problem.reason} at its byte {problem.start + 1}"
                raise _refused(line, path, position, what) from None
            position.offset, position.lines = end, number
            yield Line(text)


class JsonLines:
    """Reads tuples of one type; the type is no argument, since a bundle holds only constants."""

    def __init__(self, type_: Any) -> None:
        """A reader of JSON lines."""
        self._decode: Callable[[bytes], Any] = msgspec.json.Decoder(type_).decode

    def __call__(self, position: Position, path: str) -> Iterator[Any]:
        """Tuples behind a position. Raises InputRefused."""
        for line in raw_lines(position, path):
            number, _, end, content = line
            if len(content) > LINE_BYTES_MAX + 1:
                raise _too_long(line, path, position)
            try:
                item = self._decode(content)
            except Exception as problem:  # noqa: BLE001 - any other would come again for ever
                if not content.strip():
                    continue
                raise _refused(line, path, position, refusal(problem)) from None
            position.offset, position.lines = end, number
            yield item


def _refused(line: RawLine, path: str, position: Position, why: str) -> InputRefused:
    """Why a line is no tuple. It is passed by when the position moves behind it."""
    number, begin, end, _ = line
    own = read_path(path, channel().local)
    where = f"line {number} of {own}, the line at byte {begin}"
    return InputRefused(f"{where}: {why}", lambda: position.move(end, number))


def _too_long(line: RawLine, path: str, position: Position) -> InputRefused:
    return _refused(line, path, position, f"it is longer than {LINE_BYTES_MAX} bytes")


def raw_lines(position: Position, path: str) -> Iterator[RawLine]:
    """The lines behind a position that this channel has to give. Raises InputRefused."""
    here = channel()
    takes = ONLY if CHANNEL in path else here
    own = read_path(path, here.local)
    with place_of(own).open("rb") as file:
        end, number = _begin(file, position, own), position.lines
        is_only = takes.count == 1
        for data in iter(partial(file.readline, LINE_BYTES_MAX + 2), b""):
            begin = end
            end += len(data)
            if len(data) == LINE_BYTES_MAX + 2 and data[-1:] != b"\n":
                end = _line_end(file)
            number += 1
            if is_only or (number - 1) % takes.count == takes.index:
                yield number, begin, end, data


def _begin(file: BufferedReader, position: Position, path: str) -> int:
    """Go to the position, and behind a mark. Raises InputRefused if there are no lines."""
    size = os.fstat(file.fileno()).st_size
    if position.offset > size:
        raise InputRefused(
            f"{path} has {size} bytes, and {position.offset} were read before: it is another file,"
            " or it was cut off",
            lambda: position.move(0, 0),
        )
    head = file.peek(HEAD_BYTES)[:HEAD_BYTES]
    for mark, what in NO_TEXT.items():
        if head.startswith(mark) and not position.offset:
            raise InputRefused(
                f"{path} {what}, and not in lines of UTF-8: convert it, as with iconv or gunzip",
                lambda: position.move(size, position.lines),
            )
    if head.startswith(codecs.BOM_UTF8) and position.offset < len(codecs.BOM_UTF8):
        return len(file.read(len(codecs.BOM_UTF8)))
    return file.seek(position.offset) if position.offset else 0  # a pipe cannot seek


def _line_end(file: BufferedReader) -> int:
    """Where a line ends that is too long to be kept."""
    while (data := file.readline(BLOCK_BYTES)) and not data.endswith(b"\n"):
        pass
    return file.tell()
