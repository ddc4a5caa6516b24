"""The log of one run of a container: a file of bounded size, in the format of the kubelet.

A line is `TIME stdout F TEXT`; a text that is longer than LINE_BYTES_MAX goes on in another line
(`P` instead of `F`). When the file is full it becomes the older half and another begins, so a log
holds between one and two times FILE_BYTES_MAX at its end.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

FILE_BYTES_MAX: Final = 4 * 1024 * 1024
LINE_BYTES_MAX: Final = 16 * 1024
LAST_BYTES: Final = 64 * 1024
"""Where the last lines are looked for."""
TIME_FORMAT: Final = "%Y-%m-%dT%H:%M:%S.%f000Z"
_PARTS: Final = 4


@dataclass(frozen=True, slots=True)
class Line:
    """A line as the kubelet keeps it; `is_whole` is False where the text goes on in the next."""

    time: bytes
    is_whole: bool
    text: bytes


def lines_of(data: bytes) -> list[Line]:
    """The complete lines in a part of a log; what begins in the middle of one is left out."""
    found = []
    for line in data.split(b"\n"):
        parts = line.split(b" ", 3)
        if len(parts) == _PARTS and parts[1] == b"stdout":
            found.append(Line(parts[0], parts[2] == b"F", parts[3]))
    return found


class LogFile:
    """Takes what a process writes, and gives it back by offsets since its first byte."""

    def __init__(
        self, path: Path, now: Callable[[], float], *, file_bytes_max: int = FILE_BYTES_MAX
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._older = path.with_name(f"{path.name}.1")
        self._now = now
        self._file_bytes_max = file_bytes_max
        self._file = path.open("wb", buffering=0)
        self._older_begin = self._begin = self._end = 0
        self._rest = b""
        self._waiting: set[asyncio.Event] = set()
        self.is_closed = False

    @property
    def begin(self) -> int:
        """The offset of the first byte that is kept."""
        return self._older_begin

    def write(self, data: bytes) -> None:
        """Add what the process wrote; a line is in the log when it is complete."""
        *lines, rest = (self._rest + data).split(b"\n")
        texts = [part for line in lines for part in _parts(line)]
        while len(rest) > LINE_BYTES_MAX:
            texts.append((b"P", rest[:LINE_BYTES_MAX]))
            rest = rest[LINE_BYTES_MAX:]
        self._rest = rest
        self._put(texts)

    def close(self) -> None:
        """The process has ended: nothing more comes."""
        if self._rest:
            self._put([(b"F", self._rest)])
            self._rest = b""
        self._file.close()
        self.is_closed = True
        self._wake()

    def read(self, offset: int, bytes_max: int) -> tuple[bytes, int]:
        """Bytes from an offset on, and the offset after them; from `begin` on if they are gone."""
        offset = max(offset, self._older_begin)
        path, begin, end = self._path, self._begin, self._end
        if offset < self._begin:
            path, begin, end = self._older, self._older_begin, self._begin
        if not path.exists():
            return b"", offset
        with path.open("rb") as file:
            file.seek(offset - begin)
            data = file.read(min(bytes_max, end - offset))
        return data, offset + len(data)

    async def changed(self, offset: int) -> None:
        """Return when there is something after an offset, or nothing more comes."""
        event = asyncio.Event()
        self._waiting.add(event)
        try:
            while self._end <= offset and not self.is_closed:
                event.clear()
                await event.wait()
        finally:
            self._waiting.discard(event)

    def last_text(self, bytes_max: int) -> str:
        """The end of the log, without times."""
        data, _ = self.read(max(self._begin, self._end - LAST_BYTES), LAST_BYTES)
        texts = b"\n".join(line.text for line in lines_of(data))
        return texts[-bytes_max:].decode(errors="replace")

    def _put(self, texts: list[tuple[bytes, bytes]]) -> None:
        if not texts or self.is_closed:
            return
        time = datetime.fromtimestamp(self._now(), UTC).strftime(TIME_FORMAT)
        head = time.encode() + b" stdout "
        data = b"".join([head + flag + b" " + text + b"\n" for flag, text in texts])
        if self._end + len(data) - self._begin > self._file_bytes_max and self._end > self._begin:
            self._rotate()
        with contextlib.suppress(OSError):  # a full disk: the process must not wait for its log
            self._end += self._file.write(data)
        self._wake()

    def _rotate(self) -> None:
        self._file.close()
        self._path.replace(self._older)
        self._file = self._path.open("wb", buffering=0)
        self._older_begin, self._begin = self._begin, self._end

    def _wake(self) -> None:
        for event in self._waiting:
            event.set()


def _parts(line: bytes) -> list[tuple[bytes, bytes]]:
    pieces = [line[at : at + LINE_BYTES_MAX] for at in range(0, len(line), LINE_BYTES_MAX)] or [b""]
    return [(b"P", piece) for piece in pieces[:-1]] + [(b"F", pieces[-1])]


def remove_older(folder: Path, number: int) -> None:
    """Remove the logs of runs before `number`."""
    for path in folder.iterdir():
        if int(path.name.partition(".")[0]) < number:
            path.unlink()
