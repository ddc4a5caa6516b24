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
import re
from collections.abc import Mapping
from itertools import combinations
from pathlib import PurePath
from typing import Any, Final

from millrace.errors import GraphError
from millrace.graph import Graph, Operator
from millrace.parameters import Parameter

CHANNEL: Final = "{channel}"
SINKS: Final = frozenset({"millrace::FileLineSink", "millrace::FileJsonSink"})
SOURCES: Final = frozenset({"millrace::FileLines", "millrace::FileJson"})
_NUMBERS: Final = r"\d+(?:-\d+)*"


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
    if not _is_same(first, second):
        return None
    return f"the value of {first.name}" if isinstance(first, Parameter) else first


def _path(operator: Operator, values: Mapping[str, Any] | None) -> str | Parameter[str]:
    """The path of an operator; a submission-time value itself, if its value is not known."""
    given = operator.fn_kwargs["path"]
    if isinstance(given, Parameter) and values is None:
        return given
    path = str(values[given.name] if isinstance(given, Parameter) and values else given)
    if operator.region is None:
        path = read_path(path, ())
    elif operator.kind in SINKS:
        path = _template(path)
    return os.path.normpath(path)


def _is_same(one: str | Parameter[str], other: str | Parameter[str]) -> bool:
    if isinstance(one, Parameter) or isinstance(other, Parameter):
        return one is other
    return one == other or _stands_for(one, other) or _stands_for(other, one)


def _stands_for(template: str, path: str) -> bool:
    """Whether a path with the place of a channel's number is this one in some channel."""
    parts = map(re.escape, template.split(CHANNEL))
    return CHANNEL in template and re.fullmatch(_NUMBERS.join(parts), path) is not None
