"""Cells of a notebook: which run of a cell, or of a module, calls.

A cell that is run again adds its operators again. Nobody sees it by their names, as those without
one get a number: `words`, `words_2`. So operators that come twice are refused across runs.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from types import CodeType, FrameType
from typing import Any, Final

HINT: Final = (
    "in a notebook, begin the cell with `app = App(…)`, so that a second run builds the whole "
    "graph again"
)


def current_run(names: Mapping[str, Any]) -> CodeType | int | None:
    """The run of a cell or module with these globals that calls; None if a function does, later.

    IPython compiles each statement of a cell apart, and counts the runs.
    """
    code: CodeType | None = None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals is names and not frame.f_code.co_flags & inspect.CO_NEWLOCALS:
            code = frame.f_code
        frame = frame.f_back
    if code is None or (ipython := sys.modules.get("IPython")) is None:
        return code
    count = getattr(ipython.get_ipython(), "execution_count", None)
    return count if isinstance(count, int) else code


def is_other(run: CodeType | int | None, other: CodeType | int | None) -> bool:
    """Whether both are runs of cells, and not the same. Codes that are equal are two runs, too."""
    if run is None or other is None:
        return False
    return run != other if isinstance(run, int) else run is not other
