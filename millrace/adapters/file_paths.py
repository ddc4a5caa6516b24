"""Where files are: in a process, for a channel, and that no two operators write the same one.

1. Outside of parallel regions a path is that of the file.
2. In a region each channel has a file of its own. `{channel}` in the path stands for its number, in
   nested regions for one number of each, outermost first, such as `1-0`. A sink without it puts the
   number before the ending: `out.jsonl` becomes `out-0.jsonl`.
3. A number is that of a channel, whatever the width is. So a channel that leaves and comes again
   goes on with its file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from pathlib import PurePath
from string import digits
from typing import Any, Final

from millrace.errors import GraphError
from millrace.graph import Graph, Operator
from millrace.parameters import Parameter
from millrace.paths import place_of

CHANNEL: Final = "{channel}"
SINKS: Final = frozenset({"millrace::FileLineSink", "millrace::FileJsonSink"})
SOURCES: Final = frozenset({"millrace::FileLines", "millrace::FileJson"})
_NUMBER: Final = "\0"
"""Stands for the number of a channel; no path has this character."""


def read_path(path: str, channels: tuple[int, ...]) -> str:
    """The path that a source reads in these channels, outermost region first."""
    return path.replace(CHANNEL, "-".join(map(str, channels)) or "0")


def written_path(path: str, channels: tuple[int, ...]) -> str:
    """The path that a sink writes in these channels, outermost region first."""
    return read_path(_template(path) if channels else path, channels)


def _template(path: str) -> str:
    """The path of a sink in a region, with the place of the channel's number."""
    if CHANNEL in path or not PurePath(path).name:
        return path
    found = PurePath(path)
    return str(found.with_name(f"{found.stem}-{CHANNEL}{found.suffix}"))


def check_files(graph: Graph, values: Mapping[str, Any] | None = None) -> None:
    """Raises GraphError if two sinks write one file, or a source reads what a sink writes.

    `values`: the submission-time values by name; None where they are not known yet.
    """
    sinks = [each for each in graph.operators if each.kind in SINKS]
    for one, other in combinations(sinks, 2):
        if (path := _shared(one, other, values)) is not None:
            raise GraphError(
                f"sinks {one.name} and {other.name} both write {path}: "
                "give each a file of its own, or one sink the union of both streams"
            )
    for sink in sinks:
        for source in graph.operators:
            if source.kind in SOURCES and (path := _shared(sink, source, values)) is not None:
                raise GraphError(
                    f"source {source.name} reads {path}, which sink {sink.name} replaces: "
                    "give the sink another file"
                )


def _shared(one: Operator, other: Operator, values: Mapping[str, Any] | None) -> str | None:
    """The path that both have, if so."""
    first, second = _path(one, values), _path(other, values)
    # Links, and where relative paths begin, are known in the process that opens the files.
    if not _is_same(first, second, os.path.normpath if values is None else _real):
        return None
    return f"the value of {first.name}" if isinstance(first, Parameter) else first


def _path(operator: Operator, values: Mapping[str, Any] | None) -> str | Parameter[str]:
    """The path of an operator; a submission-time value itself, if its value is not known."""
    given = operator.fn_kwargs["path"]
    if isinstance(given, Parameter) and values is None:
        return given
    path = str(values[given.name] if isinstance(given, Parameter) and values else given)
    if operator.region is not None and operator.kind in SINKS:
        path = _template(path)
    return path.replace(CHANNEL, "-".join([CHANNEL] * len(operator.regions)) or "0")


def _real(path: str) -> str:
    return os.path.realpath(place_of(path))


def _is_same(
    one: str | Parameter[str], other: str | Parameter[str], place: Callable[[str], str]
) -> bool:
    if isinstance(one, Parameter) or isinstance(other, Parameter):
        return one is other
    return _meet(*(place(each).replace(CHANNEL, _NUMBER) for each in (one, other)))


def _meet(one: str, other: str) -> bool:
    """Whether two paths are the same one for some numbers of their channels."""
    reached, seen = [(0, 0)], set[tuple[int, int]]()
    while reached:
        at = here, there = reached.pop()
        if at == (len(one), len(other)):
            return True
        if at in seen or here == len(one) or there == len(other):
            continue
        seen.add(at)
        reached.extend(_steps(one[here], other[there], here, there))
    return False


def _steps(mine: str, yours: str, here: int, there: int) -> Iterator[tuple[int, int]]:
    """The places behind one character of both paths; a number may go on behind a digit of it."""
    if mine == yours or (
        _NUMBER in (mine, yours)
        and all(each == _NUMBER or each in digits for each in (mine, yours))
    ):
        yield here + 1, there + 1
        if mine == _NUMBER:
            yield here, there + 1
        if yours == _NUMBER:
            yield here + 1, there
