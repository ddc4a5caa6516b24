"""Text reaches a terminal through one module, so that no other can forget to escape it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import modules
from tests.places import ROOT

BORDER = Path("cli/showing.py")
PRINTING = {"print", "input"}
WRITERS = {"echo", "secho", "echo_via_pager", "style", "print_exc", "print_exception"}
STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}
OF_THE_PROJECT = ("cli", "tools", "loadtest")
TOOLS_OF_TESTS = tuple(f"tests/{each}" for each in ("fuzz", "real"))
# Lines of their own counts, which hold no text of a cluster.
ITS_OWN_WORDS = {
    Path("loadtest/bare.py"),  # JSON for the process that started it
    Path("loadtest/bytewax_words.py"),
    Path("tests/real/core_fields.py"),
    Path("tests/real/differential/test_exchanges.py"),
    Path("tests/real/faults/test_compaction.py"),
    Path("tests/real/faults/test_old_log.py"),
}
MARKUP = {"markup", "highlight", "emoji", "from_markup", "from_ansi", "render_markup"}


def prints_itself(tree: ast.Module) -> Iterator[str]:
    """What of a module writes to a terminal beside the border."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (n.name for n in names if n.name.split(".")[0] in ("rich", "click"))
            case ast.ImportFrom(module=str(name)) if name.split(".")[0] in ("rich", "click"):
                yield name
            case ast.Call(func=ast.Name(id=name)) if name in PRINTING:
                yield name
            case ast.Call(func=ast.Attribute(attr=name)) if name in WRITERS:
                yield name
            case ast.Attribute(value=ast.Attribute(attr=stream), attr="write" | "writelines") if (
                stream in STREAMS
            ):
                yield f"{stream}.write"
            case ast.keyword(arg=str(name)) if name in MARKUP:
                yield name
            case ast.Attribute(attr=name) if name in MARKUP:
                yield name


@pytest.mark.parametrize("folder", [*OF_THE_PROJECT, *TOOLS_OF_TESTS])
def test_nothing_is_printed_but_at_the_border(folder: str) -> None:
    """Neither rich, which reads markup, nor print, which escapes nothing."""
    found = {
        str(path): offences
        for path, tree in modules(folder)
        if path != BORDER
        and path not in ITS_OWN_WORDS
        and (offences := sorted(set(prints_itself(tree))))
    }
    assert found == {}


def test_the_border_never_reads_markup() -> None:
    """Every switch of rich that would is off in it, and none of its readers is called."""
    tree = ast.parse((ROOT / BORDER).read_text(encoding="utf-8"))
    switches = {
        (node.arg, node.value.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword)
        and node.arg in MARKUP
        and isinstance(node.value, ast.Constant)
    }
    assert switches == {("markup", False), ("highlight", False), ("emoji", False)}
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not names & MARKUP


@pytest.mark.parametrize(
    "line",
    [
        "print(x)",
        "import rich",
        "from rich.console import Console",
        "import typer; typer.echo(x)",
        "import sys; sys.stderr.write(x)",
        "console.print(x, markup=True)",
        "Text.from_markup(x)",
    ],
)
def test_a_module_that_prints_by_itself_is_found(line: str) -> None:
    assert list(prints_itself(ast.parse(line)))
