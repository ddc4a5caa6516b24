"""The length ratchet: functions, files and lines stay short enough to be read in one look."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache

from tests.architecture.source import PACKAGES, functions_in
from tests.places import ROOT

FOLDERS = (*PACKAGES, "tests")
FUNCTION_LINES_MAX = 70
FUNCTION_LINES_AIM = 40
FILE_LINES_MAX = 600
FILE_LINES_AIM = 400
# How many may exceed the aim today. These numbers only ever fall.
LONG_FUNCTIONS_MAX = 11
LONG_FILES_MAX = 6

Lengths = Sequence[tuple[str, int]]
"""Lines of files by their path, or of functions by their path and name."""


@cache
def lengths() -> tuple[Lengths, Lengths]:
    """Those of all files and of all functions, whose signature and docstring count, too."""
    files: list[tuple[str, int]] = []
    functions: list[tuple[str, int]] = []
    for path in sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        name, text = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
        files.append((name, len(text.splitlines())))
        for each in functions_in(ast.parse(text)):
            lines = (each.end_lineno or each.lineno) - each.lineno + 1
            functions.append((f"{name}:{each.name}", lines))
    return files, functions


def over(limit: int, of: Lengths) -> list[str]:
    """Which are longer, with their lines."""
    return [f"{name} ({lines})" for name, lines in of if lines > limit]


def test_no_file_or_function_exceeds_its_limit() -> None:
    """A file over 600 lines is several topics; a function over 70 lines hides its steps."""
    files, functions = lengths()
    too_long = over(FILE_LINES_MAX, files) + over(FUNCTION_LINES_MAX, functions)
    assert too_long == [], "\n".join(too_long)


def test_the_number_of_long_functions_and_files_only_falls() -> None:
    """Functions over 40 lines and files over 400 are counted; the count is a ratchet."""
    files, functions = lengths()
    long_files, long_functions = over(FILE_LINES_AIM, files), over(FUNCTION_LINES_AIM, functions)
    assert len(long_functions) <= LONG_FUNCTIONS_MAX, "\n".join(long_functions)
    assert len(long_files) <= LONG_FILES_MAX, "\n".join(long_files)
