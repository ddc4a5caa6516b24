"""`os._exit` where code of an author calls it: the process would end without a word.

`os._exit(0)` would look as if a PE had done its work: nobody would launch it again. A run in one
process would look as if it had succeeded.

1. Where the runtime calls code of an author, it raises SystemExit. That is caught as what else the
   code raises is, so the operator, the tuple and the cause are named, and no tuple is lost.
2. Elsewhere, as in a thread of the author, nobody would catch that. The process ends; a PE says
   why before.
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
    """Guard this process from now on. `elsewhere` gets a code that ends it, and gives another."""
    own = os.getpid()

    def ended(status: int) -> NoReturn:
        if os.getpid() == own:
            if _is_called_by_us(sys._getframe(1)):
                raise SystemExit(f"os._exit({status!r})")
            status = elsewhere(status)
        _exit(status)

    os._exit = ended


@contextmanager
def guarded() -> Iterator[None]:
    """Guard a run in one process, which is the author's: elsewhere it ends as the author says."""
    before = os._exit
    guard(lambda code: code)
    try:
        yield
    finally:
        os._exit = before


def _is_called_by_us(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__") in CALLS_AUTHORS:
            return True
        frame = frame.f_back
    return False
