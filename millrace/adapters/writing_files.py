"""A text file that a sink writes.

It belongs to one job: a sink replaces the file of a former one, and goes on with that of its own.

1. `app.run` replaces the file: nobody goes on with a run.
2. In a PE a record beside the file, `.NAME.job`, has the uid of the job that writes it. A launch
   that finds the uid of its own job there goes on, whichever PE wrote before: operators move at
   a resize, and a channel that left comes again as another PE.
3. The record of another job becomes `UID begins`, when a launch is made. The file is replaced at
   the first tuple, or at the end, and only then the record is `UID`: a launch after one that was
   killed in between still has to replace it. Without a uid, as in `app.run`, the record is there
   until then, and no longer.
4. Only whole lines are written, at the end of the file. A part of a line, which a full disk or a
   killed node leaves, is cut off by the next launch.
5. A device or a pipe, such as `/dev/stdout`, has nothing to replace or to go on with: no record.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from os import SEEK_END
from typing import Any, Final

from millrace.adapters.file_paths import written_path
from millrace.adapters.json_text import json_of
from millrace.adapters.reading_files import Line
from millrace.channels import channel, job, launch
from millrace.paths import place_of

BUFFER_BYTES: Final = 65_536
"""So much is collected before it is written."""
TAIL_BYTES: Final = 65_536
_BEGINS: Final = " begins"
"""Behind the uid of a job that has still to replace the file."""


@dataclass(slots=True)
class Written:
    """How many lines of a file were written."""

    lines: int = 0


class LineFile:
    """A text file that a sink writes. In a parallel region each channel has one.

    There it is called without a state, and nowhere else.
    """

    def __init__(self, path: str) -> None:
        """Nothing is opened before the first tuple."""
        self._path = place_of(written_path(path, channel().local))
        self._record = self._path.with_name(f".{self._path.name}.job")
        self._file: FileIO | None = None
        self._buffer = bytearray()
        if not self._is_no_file and not goes_on(job(), launch(), self._recorded):
            with suppress(OSError):  # the first tuple says what is wrong with the folder
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._note(job() + _BEGINS)

    def __call__(self, line: Line, written: Any = None) -> None:
        """Write one line."""
        self._write(line.text.encode(), written)

    def _write(self, line: bytes, written: Written | None) -> None:
        if self._file is None:
            self._file = self._opened(by_state=written is not None and written.lines > 0)
        if len(self._buffer) >= BUFFER_BYTES:
            self.flush()  # first: where that raises, the line is not taken
        self._buffer += line + b"\n"
        if written is not None:
            written.lines += 1

    @property
    def _is_no_file(self) -> bool:
        return self._path.exists() and not self._path.is_file()

    @property
    def _recorded(self) -> str | None:
        """What the record beside the file has; None without one."""
        try:
            return self._record.read_text()
        except OSError:
            return None

    def _note(self, text: str) -> None:
        """Have this in the record: at once, or on a full disk a part of it would be there."""
        if self._recorded != text:
            made = self._record.with_name(f"{self._record.name}.new")
            made.write_text(text)
            made.replace(self._record)

    def _opened(self, *, by_state: bool) -> FileIO:
        if self._is_no_file:
            return FileIO(self._path, "w")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        is_ours = by_state or goes_on(job(), launch(), self._recorded)
        file = FileIO(self._path, "a+")
        file.truncate(_whole_lines(file) if is_ours else 0)
        if job():
            self._note(job())
        else:
            self._record.unlink(missing_ok=True)
        return file

    def flush(self) -> None:
        """Write what is left in memory."""
        while self._buffer and self._file is not None:
            del self._buffer[: self._file.write(self._buffer)]

    def close(self) -> None:
        """Write what is left in memory, and make the file if no tuple came."""
        if self._file is None:
            self._file = self._opened(by_state=False)
        self.flush()
        self._file.close()


def goes_on(job: str, launch: int, recorded: str | None) -> bool:
    """Whether a launch goes on with a file, whose record it has read.

    A job that began with a release without records has none.
    """
    if recorded is None or (not job and recorded != _BEGINS):
        return launch > 1
    return recorded == job


def _whole_lines(file: FileIO) -> int:
    """The length of a file without a last line that was not finished."""
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

    def __call__(self, item: Any, written: Any = None) -> None:
        """Write one tuple. Raises ValueError if it has a number that JSON does not have."""
        self._write(json_of(item), written)
