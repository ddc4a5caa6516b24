"""Ctrl-C outside of a command: while its modules are imported, and after its end.

A KeyboardInterrupt in an import may become any exception of the imported module, and prints a
traceback. Nothing has to be cleaned up then, so the process ends. This module imports nothing that
takes time.
"""

from __future__ import annotations

import os
import signal
from typing import NoReturn

EXIT_CODE = 128 + signal.SIGINT


def _end(*_: object) -> NoReturn:
    os._exit(EXIT_CODE)


def ctrl_c_ends_at_once() -> None:
    """From now on Ctrl-C ends the process, unless it was started with SIGINT ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def ctrl_c_interrupts() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt: the command cleans up."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)
