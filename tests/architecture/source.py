"""The project's own source as syntax trees, for tests of its structure.

No tree is kept: with all of them in memory the garbage collector needs longer than it takes to
parse them again. A test that looks for a word names it, so that other modules are not parsed.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.places import ROOT

PACKAGES = (
    "millrace",
    "contracts",
    "planner",
    "placement",
    "services",
    "history",
    "sandbox",
    "cli",
    "deploy",
    "tools",
    "loadtest",
)
"""Top-level packages of product code."""


Function = ast.FunctionDef | ast.AsyncFunctionDef
_STATEMENTS = ("body", "orelse", "finalbody", "handlers", "cases")
"""Where a statement holds others."""


def modules(*folders: str, with_words: Iterable[str] = ("",)) -> Iterator[tuple[Path, ast.Module]]:
    """Every module below folders with one of the words in it, and its path below the root."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if any(word in text for word in with_words):
                yield path.relative_to(ROOT), ast.parse(text)


def functions_in(tree: ast.Module) -> Iterator[Function]:
    """Every function, those of classes and of other functions included."""
    nodes: list[ast.AST] = [tree]
    for node in nodes:
        if isinstance(node, Function):
            yield node
        for name in _STATEMENTS:
            nodes += getattr(node, name, ())


def texts() -> Iterator[tuple[Path, str]]:
    """Every module and page that people write: accepted ADRs stay as they are."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py", "*.md"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in sorted(set(listed.stdout.split())):
        path = Path(name)
        if path.parent != Path("docs/adr") and (ROOT / path).exists():
            yield path, (ROOT / path).read_text(encoding="utf-8")


def services() -> list[str]:
    """The folders of the services."""
    return sorted(path.parent.name for path in (ROOT / "services").glob("*/__main__.py"))


def deciding_services() -> list[str]:
    """The services that decide on effects; watch-ingest only says what it sees."""
    return [name for name in services() if (ROOT / "services" / name / "core/effects.py").exists()]


def attributes_of(tree: ast.AST, names: set[str]) -> set[str]:
    """X of every `name.X` with one of these names."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in names
    }
