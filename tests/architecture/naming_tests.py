"""Which tests a file has, for pages that name them."""

from __future__ import annotations

import ast
from functools import cache

from tests.architecture.source import functions_in
from tests.places import ROOT


@cache
def names_in(path: str) -> frozenset[str]:
    """The names of the test functions of a file, those of classes included; empty without one."""
    if not (ROOT / path).exists():
        return frozenset()
    tree = ast.parse((ROOT / path).read_text())
    return frozenset(
        function.name for function in functions_in(tree) if function.name.startswith("test_")
    )
