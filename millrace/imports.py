"""What a module imports, read from its text: nothing is executed.

Imports inside of functions are found as well, and `import_module("name")`. An import is optional
where the module goes on without it: its failure is caught, it is for type checkers only, or it is
made only where the module is run as a program.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from millrace.errors import PackError

_CATCHING: Final = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
_IMPORTING: Final = frozenset({"import_module", "__import__"})


@dataclass(frozen=True, slots=True)
class Read:
    """A file of the project that a module asks `millrace.path` for, and where."""

    line: int
    place: str


@dataclass(frozen=True, slots=True, order=True)
class Import:
    """A name that a module imports, dots included, and where."""

    line: int
    name: str
    is_optional: bool = False

    @property
    def top(self) -> str:
        """The module or package at the top."""
        return self.name.partition(".")[0]


def imports_of(path: Path) -> list[Import]:
    """All that a module imports but relatively, in its order. Raises PackError."""
    return sorted(_imports_in(tree_of(path)))


def reads_of(path: Path) -> list[Read]:
    """The relative paths that are written in calls of `millrace.path`. Raises PackError."""
    tree = tree_of(path)
    names = _names_of_path(tree)
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [
        Read(node.lineno, node.args[0].value)
        for node in calls
        if len(node.args) == 1
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
        and ast.unparse(node.func) in names
    ]


def _names_of_path(tree: ast.Module) -> set[str]:
    return {"millrace.path"} | {
        each.asname or each.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "millrace"
        for each in node.names
        if each.name == "path"
    }


def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a module. Raises PackError if it has none."""
    try:
        return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError) as problem:
        raise PackError(f"{path} cannot be read as a module: {problem}") from None


def _imports_in(tree: ast.Module) -> Iterator[Import]:
    due: list[tuple[ast.AST, bool]] = [(tree, False)]
    for node, is_optional in due:  # it grows; a deep expression needs no deep stack
        match node:
            case ast.Import(names=names):
                for each in names:
                    yield Import(node.lineno, each.name, is_optional)
            case ast.ImportFrom(module=str(name), level=0):
                yield Import(node.lineno, name, is_optional)
            case ast.Call(func=called, args=[ast.Constant(value=str(name)), *_]):
                if _name_of(called) in _IMPORTING and name[:1] not in ("", "."):
                    yield Import(node.lineno, name, is_optional)
        spared = _spared(node)
        due += [(each, is_optional or each in spared) for each in ast.iter_child_nodes(node)]


def _spared(node: ast.AST) -> list[ast.stmt]:
    """The statements of a block whose imports may fail, or are not made by who imports it."""
    match node:
        case ast.If(test=test, body=body) if _is_elsewhere(test):
            return body
        case ast.Try(body=body, handlers=handlers) if any(map(_is_catching, handlers)):
            return body
        case ast.With(items=items, body=body) if any(map(_is_suppressing, items)):
            return body
    return []


def _is_elsewhere(test: ast.expr) -> bool:
    if isinstance(test, ast.Compare):
        return _name_of(test.left) == "__name__" and isinstance(test.ops[0], ast.Eq)
    return _name_of(test) == "TYPE_CHECKING"


def _is_catching(handler: ast.ExceptHandler) -> bool:
    if any(isinstance(each, ast.Raise) for each in ast.walk(handler)):
        return False  # the module says what is missing, and does not go on
    caught = handler.type
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(each is None or _name_of(each) in _CATCHING for each in names)


def _is_suppressing(item: ast.withitem) -> bool:
    called = item.context_expr
    return (
        isinstance(called, ast.Call)
        and _name_of(called.func) == "suppress"
        and any(_name_of(each) in _CATCHING for each in called.args)
    )


def _name_of(node: ast.expr) -> str:
    return getattr(node, "id", "") or getattr(node, "attr", "")
