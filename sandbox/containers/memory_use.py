"""How much memory process groups use, read from /proc."""

from __future__ import annotations

import os
from collections.abc import Set
from pathlib import Path
from typing import Final

_GROUP: Final = 2
_RESIDENT_PAGES: Final = 21
"""Places in /proc/PID/stat after the name of the program, which may have spaces: see proc(5)."""


def memory_by_group(groups: Set[int], proc: Path = Path("/proc")) -> dict[int, int]:
    """Bytes of resident memory of each process group; pages that processes share count in each."""
    used = dict.fromkeys(groups, 0)
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    for entry in os.scandir(proc):
        if not entry.name.isdecimal():
            continue
        try:
            text = (proc / entry.name / "stat").read_text()
        except OSError:  # it has ended
            continue
        fields = text.rpartition(")")[2].split()
        group = int(fields[_GROUP])
        if group in used:
            used[group] += int(fields[_RESIDENT_PAGES]) * page_bytes
    return used
