"""`os._exit` where code of an author calls it: the process would end without a word.

`os._exit(0)` would look as if a PE had done its work: nobody would launch it again. A run in one
process would look as if it had succeeded.

1. Where the runtime calls a function of an author, it raises SystemExit. That is caught as what
   else the function raises is, so the operator, the tuple and the cause are named, and no tuple is
   lost.
2. Elsewhere nobody would catch that: in a thread or task of the author, and where a tuple or a
   state is decoded (`__post_init__`). The process ends; a PE says why before.
3. Processes that are forked end as they like.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

_exit = os._exit
CALLS_AUTHORS: Final = frozenset(
    {
        "millrace.loading",
        "millrace.runtime.executing",
        "millrace.runtime.feeding",
        "millrace.runtime.operators",
        "millrace.runtime.raising",
        "millrace.runtime.tuple_functions",
        "millrace.runtime.windowing",
    }
)
"""Modules that call code of an author, and whose callers catch whatever it raises."""


def end_process(code: int) -> NoReturn:
    """End the process at once, with this exit code."""
    _exit(code)


def guard(elsewhere: Callable[[int], int]) -> None:
    """Guard this process from now on.

    `elsewhere` is called before the process ends outside of functions. It gets the exit code that
    the author gave, and returns the one to end with.
    """
    own = os.getpid()

    def ended(status: int) -> NoReturn:
        if os.getpid() == own:
            if _is_called_by_us(sys._getframe(1)):
                raise SystemExit(f"os._exit({status!r})")
            status = elsewhere(status)
        _exit(status)

    os._exit = ended


class _Runs:
    """Runs in this process that go on, and `os._exit` as it was before them."""

    count = 0
    before = os._exit


@contextmanager
def guarded() -> Iterator[None]:
    """Guard a run in one process, which is the author's: elsewhere it ends as the author says.

    Runs may overlap: the last one that ends takes the guard away.
    """
    if not _Runs.count:
        _Runs.before = os._exit
        guard(lambda code: code)
    _Runs.count += 1
    try:
        yield
    finally:
        _Runs.count -= 1
        if not _Runs.count:
            os._exit = _Runs.before


def _is_called_by_us(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__") in CALLS_AUTHORS:
            return True
        frame = frame.f_back
    return False
