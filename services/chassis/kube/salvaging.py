"""Reads JSON of the API server, also where a part of it cannot be read.

Go reads and writes 10,000 levels, orjson 1,024. One object that nests deeper must cost neither the
other objects of its list nor the events after it, and is known by its metadata all the same:

1. orjson reads the whole text. That is the only step for all but hostile objects.
2. Where it cannot, an outline of the text says where each value begins and ends, whatever its
   depth. A list is read item by item.
3. An item that cannot be read is read member by member; what is left is an `Unreadable`.
4. `managedFields` are left out: nobody here reads them, and people can send 1.2 MB of them, of any
   depth, with every object. Read, they take ten times as much memory. What is left of those that
   are too large is a mark, since each later write costs the API server as much (`writing.py`).

Text that has no outline is no JSON: a ValueError.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import orjson

from contracts.projections import MANAGED_FIELDS_TOO_LARGE
from contracts.unreadable import Unreadable

Json = dict[str, Any]

READER_DEPTH_MAX: Final = 1_024
"""Levels that orjson reads."""
MANAGED_FIELDS_BYTES_MAX: Final = 64 * 1024
"""Those of an honest object take some KiB."""
MANAGED_FIELDS_DEPTH_MAX: Final = 254
"""Levels that orjson writes."""
_KEY = re.compile(rb'\s*("(?:[^"\\]|\\.)*")\s*:', re.DOTALL)
_SPACE = b" \t\r\n"
_Span = tuple[int, int]


def read_object(text: bytes) -> Json:
    """One object; parts that cannot be read are `Unreadable`. Raises ValueError: no JSON object."""
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        outline = _Outline(text)
        return _salvaged(outline, outline.whole)
    return _lean(_required(found))


def read_list(text: bytes) -> tuple[list[Json], Json]:
    """The items of a list, and its metadata. Raises ValueError where the text is no list."""
    try:
        found = _required(orjson.loads(text))
        metadata = _required(found["metadata"])
    except orjson.JSONDecodeError:
        outline = _Outline(text)
        members = outline.members(outline.whole)
        metadata = _required(orjson.loads(outline.text_of(members[b"metadata"])))
        spans = outline.children(members[b"items"]) if b"items" in members else []
        return [_item(outline, span) for span in spans], metadata
    except KeyError as missing:
        raise ValueError(f"a list has {missing}") from None
    items = found.get("items") or []
    if not isinstance(items, list):
        raise ValueError("the items of a list are no list")  # noqa: TRY004 - as in _required
    return [_lean(_required(each)) for each in items], metadata


def read_event(line: bytes) -> tuple[str, Json]:
    """The type and the object of a watch event. Raises ValueError for any other line."""
    try:
        found = _required(orjson.loads(line))
    except orjson.JSONDecodeError:
        outline = _Outline(line)
        members = outline.members(outline.whole)
        if b"type" not in members or b"object" not in members:
            raise ValueError("an event has a type and an object") from None
        type_ = orjson.loads(outline.text_of(members[b"type"]))
        return str(type_), _item(outline, members[b"object"])
    return str(found.get("type")), _lean(_required(found.get("object")))


def _lean(obj: Json) -> Json:
    metadata = obj.get("metadata")
    if isinstance(metadata, dict):
        managed = metadata.pop("managedFields", None)
        if managed and _is_too_large(managed):
            metadata[MANAGED_FIELDS_TOO_LARGE] = True
    return obj


def _is_too_large(managed: Any) -> bool:
    try:
        return len(orjson.dumps(managed)) > MANAGED_FIELDS_BYTES_MAX
    except orjson.JSONEncodeError:
        return True


def _required(value: Any) -> Json:
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - the caller knows bad text only
    return value


def _item(outline: _Outline, span: _Span) -> Json:
    """One of several objects; one whose metadata cannot be read has nothing, not even a name."""
    try:
        try:
            return _lean(_required(orjson.loads(outline.text_of(span))))
        except orjson.JSONDecodeError:
            return _salvaged(outline, span)
    except ValueError:
        return {}


def _salvaged(outline: _Outline, span: _Span) -> Json:
    """An object read member by member."""
    found: Json = {}
    for key, at in outline.members(span).items():
        name = str(orjson.loads(b'"%s"' % key))
        try:
            found[name] = orjson.loads(outline.text_of(at))
        except orjson.JSONDecodeError as problem:
            is_metadata = name == "metadata"
            found[name] = (
                _metadata(outline, at)
                if is_metadata
                else Unreadable(_why(outline, at, name, problem))
            )
    return _lean(found)


def _metadata(outline: _Outline, span: _Span) -> Json:
    """Metadata without managedFields. Raises JSONDecodeError where others cannot be read."""
    members = outline.members(span)
    managed = members.pop(b"managedFields", None)
    found = {
        str(orjson.loads(b'"%s"' % key)): orjson.loads(outline.text_of(at))
        for key, at in members.items()
    }
    if managed is not None and (
        managed[1] - managed[0] > MANAGED_FIELDS_BYTES_MAX
        or outline.levels_in(managed) > MANAGED_FIELDS_DEPTH_MAX
    ):
        found[MANAGED_FIELDS_TOO_LARGE] = True
    return found


def _why(outline: _Outline, span: _Span, name: str, problem: orjson.JSONDecodeError) -> str:
    levels = outline.levels_in(span)
    if levels > READER_DEPTH_MAX:
        return f"{name} nests {levels:,} levels deep, and at most {READER_DEPTH_MAX:,} can be read"
    return f"{name} is no JSON that can be read: {problem.msg.partition(':')[0]}"


class _Outline:
    """Where the values of a JSON text begin and end; computed for all of it at once.

    Raises ValueError where brackets or quotes do not close. Nothing else is checked.
    """

    def __init__(self, text: bytes) -> None:
        import numpy as np  # seldom needed: a start is faster without

        self._text = text
        bytes_ = np.frombuffer(text, np.uint8)
        is_outside = ~self._is_in_string(bytes_)
        opens = ((bytes_ == ord("{")) | (bytes_ == ord("["))) & is_outside
        closes = ((bytes_ == ord("}")) | (bytes_ == ord("]"))) & is_outside
        steps = opens.astype(np.int8) - closes.astype(np.int8)
        self._depth = np.cumsum(steps, dtype=np.int32)
        if not len(text) or self._depth[-1] or self._depth.min() < 0 or not is_outside[-1]:
            raise ValueError("it is no JSON")
        self._commas = np.flatnonzero((bytes_ == ord(",")) & is_outside)

    def _is_in_string(self, bytes_: Any) -> Any:
        import numpy as np

        is_quote = bytes_ == ord('"')
        if b"\\" in self._text:
            at = np.arange(len(bytes_), dtype=np.int32)
            last_other = np.maximum.accumulate(np.where(bytes_ != ord("\\"), at, -1))
            backslashes = at[1:] - 1 - last_other[:-1]
            is_quote[1:] &= backslashes % 2 == 0
        return np.cumsum(is_quote, dtype=np.int32) % 2 == 1

    @cached_property
    def whole(self) -> _Span:
        """The span of the whole text."""
        return self._trimmed(0, len(self._text))

    def text_of(self, span: _Span) -> bytes:
        """The text of a span."""
        return self._text[span[0] : span[1]]

    def levels_in(self, span: _Span) -> int:
        """How many levels deep a value nests."""
        begin, end = span
        outside = int(self._depth[begin - 1]) if begin else 0
        return int(self._depth[begin:end].max()) - outside

    def children(self, span: _Span) -> list[_Span]:
        """The spans of the elements of a list, or of the members of an object."""
        begin, end = span
        if self._text[begin : begin + 1] not in (b"{", b"["):
            raise ValueError("it is no JSON object and no list")
        first, last = self._commas.searchsorted((begin, end))
        commas = self._commas[first:last]
        own = commas[self._depth[commas] == self._depth[begin]]
        borders = [begin, *own.tolist(), end - 1]
        found = [self._trimmed(a + 1, b) for a, b in pairwise(borders)]
        return [each for each in found if each[0] < each[1]]

    def members(self, span: _Span) -> dict[bytes, _Span]:
        """The values of an object by key, as it is written between its quotes."""
        return dict(self._members(span))

    def _members(self, span: _Span) -> Iterator[tuple[bytes, _Span]]:
        for begin, end in self.children(span):
            key = _KEY.match(self._text, begin, end)
            if key is None:
                raise ValueError("it is no JSON object")
            yield key[1][1:-1], self._trimmed(key.end(), end)

    def _trimmed(self, begin: int, end: int) -> _Span:
        text = self._text
        while begin < end and text[begin] in _SPACE:
            begin += 1
        while end > begin and text[end - 1] in _SPACE:
            end -= 1
        return begin, end


def decoded(body: bytes) -> dict[str, Any]:
    """A JSON object, of whatever kind. Raises ValueError."""
    found = orjson.loads(body)
    if not isinstance(found, dict):
        raise ValueError("no JSON object")  # noqa: TRY004  of an answer, not of an argument
    return found


def read_served(body: bytes) -> frozenset[str]:
    """The names in an APIResourceList. Raises ValueError or KeyError."""
    return frozenset(each["name"] for each in orjson.loads(body)["resources"])
