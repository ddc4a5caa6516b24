"""The length ratchet: functions, files and lines stay short enough to be read in one look."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.source import PACKAGES
from tests.places import ROOT

FOLDERS = (*PACKAGES, "tests")
FUNCTION_LINES_MAX = 70
FUNCTION_LINES_AIM = 40
FILE_LINES_MAX = 600
FILE_LINES_AIM = 400
# How many may exceed the aim today. These numbers only ever fall.
LONG_FUNCTIONS_MAX = 11
LONG_FILES_MAX = 6


def source_files() -> list[Path]:
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


@cache
def functions(path: Path) -> Sequence[tuple[str, int]]:
    """Each function with its lines, of its signature and docstring, too."""
    return tuple(
        (node.name, (node.end_lineno or node.lineno) - node.lineno + 1)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


@pytest.mark.parametrize("path", source_files(), ids=lambda p: str(p.relative_to(ROOT)))
def test_no_file_or_function_exceeds_its_limit(path: Path) -> None:
    """A file over 600 lines is several topics; a function over 70 lines hides its steps."""
    assert len(path.read_text().splitlines()) <= FILE_LINES_MAX
    too_long = [(name, lines) for name, lines in functions(path) if lines > FUNCTION_LINES_MAX]
    assert too_long == []


def test_the_number_of_long_functions_and_files_only_falls() -> None:
    """Functions over 40 lines and files over 400 are counted; the count is a ratchet."""
    long_functions = [
        f"{path.relative_to(ROOT)}:{name} ({lines})"
        for path in source_files()
        for name, lines in functions(path)
        if lines > FUNCTION_LINES_AIM
    ]
    long_files = [
        str(path.relative_to(ROOT))
        for path in source_files()
        if len(path.read_text().splitlines()) > FILE_LINES_AIM
    ]
    assert len(long_functions) <= LONG_FUNCTIONS_MAX, long_functions
    assert len(long_files) <= LONG_FILES_MAX, long_files
