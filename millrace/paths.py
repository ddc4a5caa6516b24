"""Where files are: those of a bundle, and those of the pod that a PE runs in.

A function that opens a file takes its path from `path`, which is right in `app.run()`, in a test,
from another working directory, and in a PE. `open("/data/…")` is not: a pod of a sandbox is a
process, whose own files are below `MILLRACE_ROOT`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def path(place: str | os.PathLike[str]) -> Path:
    """Where a file is in this process.

    Args:
        place: A relative path is that of a file of the project, below the folder that the calling
            module is imported from: `app.py` and `data/zones.csv` are in one. In a bundle it is the
            file that was packed (`--include data`), which nobody should write. An absolute path is
            one in the pod, such as `/data/seen.txt`.

    Raises:
        ValueError: A relative path leads out of the project, where a bundle has nothing.
    """
    text = os.fspath(place)
    if text.startswith("/"):
        return place_of(text)
    root = root_of(sys._getframe(1).f_globals)
    found = Path(os.path.normpath(root / text))
    if not found.is_relative_to(root):
        raise ValueError(
            f"{text!r} leads out of the project {root}, and a bundle has only what is in it"
        )
    return found


def place_of(path: str) -> Path:
    """Where a path of the pod is in this process: below `MILLRACE_ROOT` if a sandbox sets it."""
    if not path.startswith("/"):
        return Path(path)
    return Path(os.environ.get("MILLRACE_ROOT") or "/") / path.lstrip("/")


def name_of(names: Mapping[str, Any]) -> str:
    """The name by which a module with these globals is imported: `__main__` is run as a program."""
    name, spec = str(names["__name__"]), names.get("__spec__")
    if name != "__main__":
        return name
    # `python -m package.module` has a spec, `python app.py` has none.
    return str(spec.name) if spec is not None else Path(names["__file__"]).stem


def root_of(names: Mapping[str, Any]) -> Path:
    """The folder that a module with these globals is imported from; of a notebook, its own."""
    if names.get("__file__") is None:
        return Path.cwd()
    file = Path(names["__file__"]).resolve()
    return file.parents[name_of(names).count(".") + (file.name == "__init__.py")]
