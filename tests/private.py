"""Who may read what is in a folder."""

from __future__ import annotations

import contextlib
import stat
from pathlib import Path

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def open_to_others(folder: Path) -> list[Path]:
    """The folder and all in it, as far as anybody but its owner has a right to it."""
    found = []
    for path in (folder, *folder.rglob("*")):
        with contextlib.suppress(FileNotFoundError):  # what is being written has a draft
            mode = path.lstat().st_mode
            if mode & OTHERS and not stat.S_ISLNK(mode):
                found.append(path)
    return sorted(found)
