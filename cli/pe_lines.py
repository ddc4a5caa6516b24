"""Log lines of processing elements as people read them: time, level, logger, and what was logged.

The runtime of PEs in Python writes one JSON object a line, with a traceback in it
(`millrace/runtime/tracing.py`). Lines of other programs are shown as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import orjson

from contracts.moments import micro_moment_of, unix_s_of

_LEVEL_CHARS: Final = 7
_SHOWN: Final = ("timestamp", "level", "logger", "event")
_KNOWN: Final = frozenset({"job", "pe", "launch"})
"""Fields that are not shown: the command names them."""
_TRACEBACK: Final = "exception"


def readable_lines(text: str) -> Sequence[str]:
    """A line of a log, and below it the further lines of its event and its traceback."""
    line = _line_of_runtime(text)
    if line is None:
        return (text,)
    timestamp, level, logger, event = (line[each] for each in _SHOWN)
    try:
        # The runtime leaves a fraction of 0 out: each line has the same columns here.
        time = micro_moment_of(unix_s_of(timestamp))[:23].replace("T", " ")
    except ValueError:
        return (text,)
    first, *more = event.splitlines() or [""]
    below = (f"    {each}" for each in (*more, *line.get(_TRACEBACK, "").splitlines()))
    return (f"{time}  {level:{_LEVEL_CHARS}}  {logger}: {first}", *below)


def _line_of_runtime(text: str) -> Mapping[str, str] | None:
    """The texts of a line with the fields of our runtime and no other, which would be lost."""
    try:
        line = orjson.loads(text)
    except ValueError:
        return None
    if not isinstance(line, dict) or line.keys() - {_TRACEBACK} != _KNOWN.union(_SHOWN):
        return None
    texts = {key: value for key, value in line.items() if key not in _KNOWN}
    return texts if all(isinstance(each, str) for each in texts.values()) else None
