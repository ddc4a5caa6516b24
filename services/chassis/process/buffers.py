"""Has the C library give large buffers back to the system as soon as they are free.

glibc maps a buffer of 128 KiB and more by itself, and unmaps it when it is free. But each one that
is freed raises that limit to its own size, up to 32 MiB: after the first page of a list, all pages
come from the heap, whose holes stay with the process: 67 MiB of heap for 19 MiB in use.
"""

from __future__ import annotations

import ctypes
from typing import Final

MAPPED_FROM_BYTES: Final = 128 * 1024
_M_MMAP_THRESHOLD: Final = -3


def give_back_buffers() -> bool:
    """Fix the limit where glibc begins with it; whether the C library has such a limit."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:  # musl maps large buffers always
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, MAPPED_FROM_BYTES))
