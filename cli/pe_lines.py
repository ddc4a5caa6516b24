"""Log lines of processing elements as people read them: time, level, logger, and what was logged.

The runtime of Python writes one JSON object a line, with a traceback in it
(`millrace/runtime/tracing.py`). Lines of other programs are shown as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import orjson

from contracts.moments import micro_moment_of, unix_s_of

_LEVEL_CHARS: Final = 7


def readable_lines(text: str) -> Sequence[str]:
    """A line of a log, and below it the further lines of its event and its traceback.

    Job, PE and launch are left out: those who ask for the log know them.
    """
    try:
        line = orjson.loads(text)
        time = micro_moment_of(unix_s_of(line["timestamp"]))[:23].replace("T", " ")
        level, logger, event = (str(line[each]) for each in ("level", "logger", "event"))
        traceback = str(line.get("exception", ""))
    except (ValueError, TypeError, KeyError):  # of another program, or cut off
        return (text,)
    first, *more = event.splitlines() or [""]
    below = (f"    {each}" for each in (*more, *traceback.splitlines()))
    return (f"{time}  {level:{_LEVEL_CHARS}}  {logger}: {first}", *below)
