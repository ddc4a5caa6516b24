"""Where tests wait for real time, and whether `patient` of tests/patience.py stretches it.

A deadline is an expression: the argument of a time-out, or what is added to or compared with a
clock. It is not stretched if nothing in it but numbers and constants says how long it is, and none
of these is made by `patient`. What a caller or the moment gives is the caller's matter.
"""

from __future__ import annotations

import ast
import functools
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from tests.places import ROOT

MARK = "# unstretched: "
"""A comment beside a deadline; the reason follows."""
_HINT = re.compile(r"timeout|wait_for|wait_s|within_s|\.wait\(|\btime\.(?:monotonic|time|perf)")
_KEYWORDS = frozenset({"timeout", "timeout_s", "wait_s", "within_s"})
_SIMULATED = "tests/simulation/"
_OF_WORLDS = frozenset({"wait_s", "within_s"})
"""Keywords that mean the time of the simulated world there, which jumps to the next timer."""
_WAITING = {"timeout": 0, "wait": 0, "settimeout": 0, "wait_for": 1}
"""Which argument of a call by this name is its deadline."""
_CLOCKS = frozenset({"monotonic", "time", "perf_counter"})
_VIRTUAL = frozenset({"virtually", "looptime"})

Scope = ast.FunctionDef | ast.AsyncFunctionDef | None


def unstretched(path: Path) -> Iterator[str]:
    """The deadlines of a module that `patient` does not stretch: each with its file and line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    hints = [number for number, line in enumerate(lines, 1) if _HINT.search(line)]
    if not hints:
        return
    module, name = _module(path), str(path.relative_to(ROOT))
    if module.is_virtual:
        return
    keywords = _KEYWORDS - _OF_WORLDS if name.startswith(_SIMULATED) else _KEYWORDS
    for scope, node in _nodes(module.tree, None, hints):
        for deadline in _deadlines(node, keywords):
            where = lines[node.lineno - 1 : node.end_lineno]
            if module.is_stretched(deadline, scope) or any(MARK in line for line in where):
                continue
            words = ast.unparse(deadline)
            yield f"{name}:{deadline.lineno}: {words} is not made by `patient`"


def _nodes(node: ast.AST, scope: Scope, hints: Sequence[int]) -> Iterator[tuple[Scope, ast.expr]]:
    """Expressions with the function that they are in, where a line hints at a deadline.

    Those in virtual time are left out.
    """
    for child in ast.iter_child_nodes(node):
        within = scope
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            if any(_names(each) & _VIRTUAL for each in child.decorator_list):
                continue
            within = child
        if isinstance(child, ast.stmt | ast.expr) and not _hints_at(child, hints):
            continue
        if isinstance(child, ast.expr):
            yield scope, child
        yield from _nodes(child, within, hints)


def _hints_at(node: ast.stmt | ast.expr, hints: Sequence[int]) -> bool:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    place = bisect_left(hints, min(each.lineno for each in [node, *decorators]))
    return place < len(hints) and hints[place] <= (node.end_lineno or node.lineno)


def _names(node: ast.AST) -> set[str]:
    """Every name in an expression, of attributes as well."""
    return {
        each.id if isinstance(each, ast.Name) else each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Name | ast.Attribute)
    }


# ----------------------------------------------------------------------------------- what is one


def _deadlines(node: ast.expr, keywords: AbstractSet[str]) -> Iterator[ast.expr]:
    """The deadlines that an expression itself has, not those of its parts."""
    if isinstance(node, ast.Call):
        yield from _of_call(node, keywords)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = (node.left, node.right)
        yield from (other for one, other in (sides, sides[::-1]) if _reads_clock(one))
    elif isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
        if any(map(_reads_clock, parts)):
            yield from (part for part in parts if not _reads_clock(part))
    elif isinstance(node, ast.JoinedStr):
        for text, value in zip(node.values, node.values[1:], strict=False):
            is_option = isinstance(text, ast.Constant) and str(text.value).endswith("timeout=")
            if is_option and isinstance(value, ast.FormattedValue):
                yield value.value


def _of_call(call: ast.Call, keywords: AbstractSet[str]) -> Iterator[ast.expr]:
    yield from (each.value for each in call.keywords if each.arg in keywords)
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    place = _WAITING.get(name, len(call.args))
    yield from call.args[place : place + 1]


def _reads_clock(node: ast.expr) -> bool:
    """Whether it calls `time.monotonic` or its like; clocks that are arguments may be virtual."""
    return any(
        isinstance(each, ast.Attribute)
        and each.attr in _CLOCKS
        and isinstance(each.value, ast.Name)
        and each.value.id == "time"
        for each in ast.walk(node)
    )


# ------------------------------------------------------------------------------ what stretches it


class _Module:
    """A module of the tests: its constants, and those that it imports of other tests."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.is_virtual = False
        self._constants: dict[str, ast.expr] = {}
        self._imports: dict[str, tuple[str, str]] = {}
        for node in tree.body:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    is_mark = _names(target) == {"pytestmark"}
                    self.is_virtual |= is_mark and bool(_names(node.value) & _VIRTUAL)
                    self._constants |= dict.fromkeys(_names(target), node.value)
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                self._constants |= dict.fromkeys(_names(node.target), node.value)
            elif isinstance(node, ast.ImportFrom):
                for each in node.names:
                    self._imports[each.asname or each.name] = (node.module or "", each.name)

    def is_stretched(self, node: ast.expr | None, scope: Scope = None) -> bool:
        """Whether something in an expression is made by `patient`, or is no constant at all."""
        match node:
            case ast.Constant(value):
                return not value  # no deadline, or one that is over at once
            case ast.Name(name):
                return self._is_name_stretched(name, scope)
            case ast.BinOp(left, _, right):
                return self.is_stretched(left, scope) or self.is_stretched(right, scope)
            case ast.Call(ast.Name("min" | "max" | "float" | "int" | "str"), arguments):
                return any(self.is_stretched(each, scope) for each in arguments)
            case ast.Tuple(elements):
                return any(self.is_stretched(each, scope) for each in elements)
        return True

    def _is_name_stretched(self, name: str, scope: Scope) -> bool:
        defaults = _defaults(scope)
        if name in defaults:
            return self.is_stretched(defaults[name])
        if name in self._constants:
            return self.is_stretched(self._constants[name])
        if name in self._imports:
            package, original = self._imports[name]
            path = ROOT / f"{package.replace('.', '/')}.py"
            is_of_tests = package.startswith("tests.") and path.exists()
            return is_of_tests and _module(path).is_stretched(ast.Name(original))
        return True


def _defaults(scope: Scope) -> dict[str, ast.expr]:
    """What the parameters of a function are where its caller gives nothing."""
    if scope is None:
        return {}
    given = reversed([*scope.args.posonlyargs, *scope.args.args])
    by_place = zip(given, reversed(scope.args.defaults), strict=False)
    by_name = zip(scope.args.kwonlyargs, scope.args.kw_defaults, strict=True)
    return {each.arg: value for each, value in [*by_place, *by_name] if value is not None}


@functools.cache
def _module(path: Path) -> _Module:
    return _Module(ast.parse(path.read_text(encoding="utf-8")))
