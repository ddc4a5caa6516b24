"""No local name hides a function or class of its module that the same function calls.

Types do not always show it: a value of any type can be called as far as mypy knows.
"""

from __future__ import annotations

import ast

from tests.architecture.source import PACKAGES, functions_in, modules


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
    top_level = top_level_names(tree)
    if not assigned_and_called(tree) & top_level:
        return []  # hence in no function of it, which need not be searched one by one
    return [
        f"{function.name}: {name}"
        for function in functions_in(tree)
        for name in sorted(assigned_and_called(function) & top_level)
    ]


def assigned_and_called(tree: ast.AST) -> set[str]:
    """Names that are assigned, or are arguments, and are called somewhere in the same tree."""
    assigned: set[str] = set()
    called: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                assigned.add(name)
            case ast.Call(func=ast.Name(id=name)):
                called.add(name)
    return assigned & called


def test_no_local_name_hides_a_function_that_is_called() -> None:
    found = [
        f"{path}: {hidden}" for path, tree in modules(*PACKAGES) for hidden in hidden_calls(tree)
    ]
    assert found == [], "\n".join(found)


def test_a_hidden_function_is_found() -> None:
    tree = ast.parse("def required(): ...\ndef check(x):\n    required = x\n    required()\n")
    assert hidden_calls(tree) == ["check: required"]
