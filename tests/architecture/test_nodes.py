"""A node that takes pods has one definition, and what is taken on nodes has one account."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

import pytest

from tests.architecture.source import PACKAGES, functions_in, modules

OURS = [each for each in PACKAGES if each not in ("sandbox", "tools")]
"""The sandbox is the oracle, and the workshop looks at clusters of its own."""
FIELDS = frozenset({"taints", "unschedulable", "allocatable"})
"""Fields of a Node, and of its projection, that say whether it takes pods, and how much."""
READERS = {
    "contracts/projections.py": "makes the projection",
    "contracts/scheduling/nodes.py": "the definition",
    "history/why/closed_nodes.py": "asks the definition about an object of the API",
    "history/why/health.py": "shows how many CPUs a node says it has",
    "history/wording.py": "shows the fields of a fact",
    "services/node_tainter/adapters/carry_out.py": "writes the list of taints",
}
ASKS_NOTHING = {
    "contracts/scheduling/nodes.py": "the definition",
    "placement/cluster.py": "the fields as columns",
    "placement/patching.py": "the same",
}
SUMS = {
    "placement/taken.py": "the account",
    "placement/greedy.py": "what a search has placed so far",
    "placement/program.py": "the same, as a program",
    "services/fusion_backend/core/rooms.py": "what pods that are not bound would take",
}


def fields_read(tree: ast.Module) -> Iterator[str]:
    """The fields that are looked up by their name."""
    for each in ast.walk(tree):
        match each:
            case (
                ast.Subscript(slice=ast.Constant(str(name)), ctx=ast.Load())
                | ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(str(name)), *_])
            ) if name in FIELDS:
                yield name


def passes_questions_by(tree: ast.AST) -> bool:
    """Whether fields of a Node or of its taints are read instead of asking it."""
    attributes = [each for each in ast.walk(tree) if isinstance(each, ast.Attribute)]
    return any(
        each.attr == "repels" or (each.attr == "unschedulable" and not is_self(each.value))
        for each in attributes
    )


def is_self(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id == "self"


def sums_of_requests(tree: ast.Module) -> Iterator[str]:
    """The functions that add something up under a key, and speak of nodes and of requests."""
    for function in functions_in(tree):
        words = {
            getattr(each, name)
            for each in ast.walk(function)
            for name in ("attr", "id", "arg", "value")
            if isinstance(getattr(each, name, None), str)
        }
        if words & {"node", "nodes"} and "requests" in words and any(map(adds, ast.walk(function))):
            yield function.name


def adds(each: ast.AST) -> bool:
    """Whether a statement adds to what stands under a key."""
    match each:
        case ast.AugAssign(target=ast.Subscript(), op=ast.Add() | ast.Sub()):
            return True
        case ast.Assign(targets=[ast.Subscript()], value=ast.BinOp(op=ast.Add() | ast.Sub())):
            return True
    return False


def found_by(look: Callable[[ast.Module], object]) -> set[str]:
    return {str(path) for path, tree in modules(*OURS) if look(tree)}


def test_who_reads_the_fields_of_a_node_is_listed() -> None:
    assert found_by(lambda tree: list(fields_read(tree))) == READERS.keys()


def test_all_others_ask_a_node_their_question() -> None:
    assert found_by(passes_questions_by) == ASKS_NOTHING.keys()


def test_requests_are_summed_by_node_in_one_account() -> None:
    assert found_by(lambda tree: list(sums_of_requests(tree))) == SUMS.keys()


@pytest.mark.parametrize(
    ("look", "copy"),
    [
        (fields_read, "def is_open(entry): return not entry.data['unschedulable']"),
        (fields_read, "def taints(node): return node['spec'].get('taints') or ()"),
        (sums_of_requests, "def add(pod):\n for n in pod.requests: free[pod.node][n] -= 1"),
        (sums_of_requests, "def f(node, requests):\n for n in requests: t[n] = t.get(n, 0) + 1"),
    ],
)
def test_a_copy_is_found(look: Callable[[ast.Module], Iterator[str]], copy: str) -> None:
    assert list(look(ast.parse(copy)))
