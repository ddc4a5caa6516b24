"""Which files of the project a piece covers: its own, those that it names, and those of mutants.

A module of a long suite names the files that it is there for:

    COVERS = ("placement/*", "services/hostpool_manager/*")

Globs below the root, where `*` goes over folders, too. A planted bug is a record as well: the tests
that have to catch it (`caught_by`) cover the file that it is planted in. What a module merely runs
through does not count: each scenario runs through nearly every module of the services.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import translate
from functools import cache
from pathlib import Path

from tests.pieces.suites import SUITE, Piece

NAME = "COVERS"

Records = Mapping[str, frozenset[str]]
"""The files that bugs are planted in, for each module that has to catch one."""


class Unreadable(Exception):
    """COVERS of a module is not a tuple of texts, or the module cannot be parsed."""


def covers_of(module: Path) -> tuple[str, ...]:
    """The globs that a module names; none where it names none. Raises Unreadable."""
    try:
        body = ast.parse(module.read_text(encoding="utf-8")).body
    except (SyntaxError, UnicodeDecodeError) as broken:
        raise Unreadable(f"{module} is no module of Python: {broken}") from None
    for node in body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and NAME in _targets(node):
            try:
                found = ast.literal_eval(node.value or ast.Constant(None))
            except (ValueError, TypeError):  # it is computed
                found = None
            if not isinstance(found, tuple) or not all(isinstance(each, str) for each in found):
                raise Unreadable(f"{module}: {NAME} has to be a tuple of texts")
            return found
    return ()


def _targets(node: ast.Assign | ast.AnnAssign) -> Sequence[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [ast.unparse(each) for each in targets]


def globs_of(piece: Piece, root: Path) -> tuple[str, ...]:
    """What a piece covers, as globs: its modules, and what they and its suite name."""
    named = [glob for module in piece.modules for glob in covers_of(root / module)]
    return (*piece.modules, *SUITE[piece.suite].covers, *named)


def first_covered(
    piece: Piece, globs: Iterable[str], records: Records, touched: Iterable[str]
) -> str:
    """The first of these files that the piece covers; empty where it covers none of them."""
    patterns = [_pattern(glob) for glob in globs]
    planted = frozenset[str]().union(*(records.get(module, ()) for module in piece.modules))
    for path in touched:
        if path in planted or any(pattern.match(path) for pattern in patterns):
            return path
    return ""


@cache
def _pattern(glob: str) -> re.Pattern[str]:
    """fnmatch remembers 256 globs; modules name more, and each meets all touched files."""
    return re.compile(translate(glob))


def records_of_mutants() -> Records:
    """What the planted bugs say: which module catches a bug of which file."""
    from tests.mutants.planted import MUTANTS  # sixty modules, for this alone

    found: dict[str, set[str]] = {}
    for mutant in MUTANTS:
        for word in mutant.caught_by:
            found.setdefault(word.partition("::")[0], set()).add(mutant.path)
    return {module: frozenset(paths) for module, paths in found.items()}
