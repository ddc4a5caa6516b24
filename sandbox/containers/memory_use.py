"""How much memory process groups use, read from /proc."""

from __future__ import annotations

import os
from collections.abc import Set
from pathlib import Path
from typing import Final

_GROUP: Final = 2
_RESIDENT_PAGES: Final = 21
"""Places in /proc/PID/stat after the name of the program, which may have spaces: see proc(5)."""
_STAT_BYTES_MAX: Final = 1024


def memory_by_group(groups: Set[int], proc: Path = Path("/proc")) -> dict[int, int]:
    """Bytes of resident memory of each process group; pages that processes share count in each."""
    used = dict.fromkeys(groups, 0)
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    for name in os.listdir(proc):
        if not name.isdecimal():
            continue
        fields = _stat(f"{proc}/{name}/stat").rpartition(b")")[2].split()
        if fields and (group := int(fields[_GROUP])) in used:
            used[group] += int(fields[_RESIDENT_PAGES]) * page_bytes
    return used


def _stat(path: str) -> bytes:
    """A small file; empty if its process has ended."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(file, _STAT_BYTES_MAX)
    except OSError:
        return b""
    finally:
        os.close(file)
