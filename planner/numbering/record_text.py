"""The text of a plan record in pieces: its rows of ports may be a million, which is most of it.

Written and read whole, each row would be a list of eight objects at one time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import orjson

Row = list[Any]
_ROWS = 10_000
_PIECE_BYTES = 256 * 1024
_BEGIN, _END = b'"ports":[', b'],"splitters":'
"""What is around the rows. Quotes in texts are escaped, so that neither is found within one."""


def array_of(rows: Iterable[Row]) -> bytes:
    """The rows as a JSON array."""
    pieces = []
    coming = iter(rows)
    while some := list(islice(coming, _ROWS)):
        pieces.append(orjson.dumps(some)[1:-1])
    return b"".join((b"[", b",".join(pieces), b"]"))


def loaded(text: str | bytes) -> tuple[Any, Iterator[Row] | None]:
    """A document; its rows of ports apart where the text is as we write it. Raises ValueError."""
    data = text.encode() if isinstance(text, str) else text
    start = data.find(_BEGIN)
    end = data.find(_END, start)
    is_ours = 0 <= start < end and data.find(b'"highWater":', 0, start) < 0
    if is_ours:
        begin = start + len(_BEGIN)
        document = orjson.loads(data[:begin] + data[end:])
        return document, _rows(data, begin, end)
    return orjson.loads(data), None


def _rows(data: bytes, begin: int, end: int) -> Iterator[Row]:
    while begin < end:
        cut = data.find(b"],[", begin + _PIECE_BYTES, end)
        until = end if cut < 0 else cut + 1
        yield from orjson.loads(b"".join((b"[", data[begin:until], b"]")))
        begin = until + 1
