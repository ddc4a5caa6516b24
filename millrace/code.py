"""Where the code of an application is: its module, its file, and the variable with the app."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millrace.errors import PackError
from millrace.paths import name_of, root_of


@dataclass(frozen=True, slots=True)
class Code:
    """A module below `root`, and the name of the variable in it that is the application."""

    module: str
    variable: str
    version: str
    file: Path
    root: Path


def code_of(app: object, names: Mapping[str, Any], version: str) -> Code:
    """The code of an application that was made in a module with these globals."""
    variable = next((name for name, value in names.items() if value is app), None)
    if variable is None:
        raise PackError(
            "the application is no variable at the top of its module: write `app = App(…)` there, "
            "so that a processing element finds it"
        )
    found = names.get("__file__")
    if found is None:
        raise PackError(
            "the application was written in no file (a notebook or a prompt): a bundle needs a "
            "module, such as app.py"
        )
    return Code(name_of(names), variable, version, Path(found).resolve(), root_of(names))
