"""The project's own source as syntax trees, for tests of its structure."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
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
    "loadtest",
)
"""Top-level packages of product code."""


def modules(*folders: str) -> Iterator[tuple[Path, ast.Module]]:
    """Every module below folders of the project, with its path below the root."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT), ast.parse(path.read_text(encoding="utf-8"))


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
