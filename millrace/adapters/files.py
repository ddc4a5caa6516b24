"""Files: lines of text, and tuples as JSON, one in a line.

>>> lines = app.source(files.lines("input.txt"))
>>> counts.sink(files.json_writer("counts.jsonl"))

A path may be a submission-time value. On a cluster it is a path in the pod of a processing element.
How lines are read and written is in `reading_files.py` and `writing_files.py`.
"""

from __future__ import annotations

import codecs
from typing import Any, Final, Literal, TypeVar

from millrace.adapters.kinds import Reader, Writer
from millrace.adapters.reading_files import JsonLines, Line, Lines, Position
from millrace.adapters.writing_files import JsonFile, LineFile, Written
from millrace.errors import GraphError
from millrace.parameters import Parameter
from millrace.paths import place_of

__all__ = (
    "JsonFile",
    "Line",
    "LineFile",
    "Position",
    "Written",
    "json_lines",
    "json_writer",
    "lines",
    "place_of",
    "writer",
)

T = TypeVar("T")
Text = str | Parameter[str]
Errors = Literal["replace", "strict"]
UTF8: Final = "utf-8"


def lines(path: Text, *, encoding: str = UTF8, errors: Errors = "replace") -> Reader[Line]:
    r"""The lines of a text file, without their ends (`\n` or `\r\n`) and byte order mark.

    Args:
        path: The file. In a parallel region the channels take turns with its lines; with
            `{channel}` in the path each reads all of its own file.
        encoding: Such as `cp1252`; not UTF-16 or UTF-32, whose lines do not end with one byte.
        errors: `replace`: what cannot be decoded becomes U+FFFD. `strict`: such a line is refused.

    The source fails at a line that is refused or longer than 64 MB, and names file and line. With
    `on_error="skip"` such a line is counted, and the source goes on behind it.
    """
    given = {"encoding": _checked(encoding), "errors": errors}
    usual = {"encoding": UTF8, "errors": "replace"}
    if errors not in ("replace", "strict"):
        raise GraphError(f"files.lines: errors is {errors!r}: use replace or strict")
    more = {name: value for name, value in given.items() if value != usual[name]}
    return Reader("FileLines", Lines(), Line, {"path": path, **more}, Position)


def json_lines(path: Text, type_: type[T]) -> Reader[T]:
    """Tuples of a file with one JSON object in each line; empty lines are left out.

    The source fails at a line that is no such object, and names file and line. Unless it skips such
    lines, it comes to that line again until the file has another one there. The file is in UTF-8;
    in a parallel region it is read as by `lines`.
    """
    return Reader("FileJson", JsonLines(type_), type_, {"path": path}, Position)


def writer(path: Text) -> Writer[Line]:
    """Writes lines to a file. The file of a former job or run is replaced, at the first tuple.

    A processing element that is launched again goes on with the file of its job. In a parallel
    region each channel has a file of its own: `{channel}` in the path is its number, which is
    otherwise put before the ending, such as `out-0.txt`.
    """
    return Writer("FileLineSink", LineFile, {"path": path}, Written)


def json_writer(path: Text) -> Writer[Any]:
    """Writes each tuple as JSON in a line of a file; the file is as that of `writer`.

    JSON has no NaN and no infinity: a tuple with one is refused, under the `on_error` of the sink.
    """
    return Writer("FileJsonSink", JsonFile, {"path": path}, Written)


def _checked(encoding: str) -> str:
    """The encoding. Raises GraphError if it does not exist, or lines cannot be found in it."""
    try:
        name = codecs.lookup(encoding).name
        if name in (UTF8, "utf-8-sig"):
            return UTF8
        is_usable = "\n".encode(encoding) == b"\n" and "\r".encode(encoding) == b"\r"
    except (LookupError, UnicodeError):
        raise GraphError(f"files.lines: {encoding!r} is no encoding of text") from None
    if not is_usable:
        raise GraphError(
            f"files.lines: lines of {encoding} do not end with one byte: convert the file to UTF-8"
        )
    return encoding
