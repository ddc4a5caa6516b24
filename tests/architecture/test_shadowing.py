"""No local name hides a function or class of its module that the same function calls.

Types do not always show it: a value of any type can be called as far as mypy knows.
"""

from __future__ import annotations

import ast

from tests.architecture.source import PACKAGES, modules


def top_level_names(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.Import() | ast.ImportFrom():
                names |= {each.asname or each.name for each in node.names}
    return names


def hidden_calls(tree: ast.Module) -> list[str]:
    """Each function that calls a top-level name which it also assigns."""
    found: list[str] = []
    top_level = top_level_names(tree)
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        inside = list(ast.walk(function))
        local = {
            each.id
            for each in inside
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        } | {each.arg for each in inside if isinstance(each, ast.arg)}
        called = {
            each.func.id
            for each in inside
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
        }
        found += [f"{function.name}: {name}" for name in sorted(called & local & top_level)]
    return found


def test_no_local_name_hides_a_function_that_is_called() -> None:
    found = [(path, hidden) for path, tree in modules(*PACKAGES) for hidden in hidden_calls(tree)]
    assert found == []


def test_a_hidden_function_is_found() -> None:
    tree = ast.parse("def required(): ...\ndef check(x):\n    required = x\n    required()\n")
    assert hidden_calls(tree) == ["check: required"]
