"""The end of the process of a PE, also where code of an author ends it.

`os._exit(0)` would look as if the PE had done its work: nobody would launch it again.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

from millrace.runtime.endings import Ending
from millrace.runtime.signs import write_termination_message

_exit = os._exit


def end_process(code: int) -> NoReturn:
    """End the process at once, with this exit code."""
    _exit(code)


def guard(termination_log: Path) -> None:
    """Let `os._exit` of anybody else be a failure; processes that are forked end as they like."""
    own = os.getpid()

    def ended(status: int) -> NoReturn:
        if os.getpid() == own:
            what = f"a function of the application ended the process with os._exit({status!r})"
            write_termination_message(termination_log, Ending.OPERATOR_FAILED, what)
            status = Ending.OPERATOR_FAILED.code
        _exit(status)

    os._exit = ended
