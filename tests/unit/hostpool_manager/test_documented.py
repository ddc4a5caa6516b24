"""Every reason that users meet is on the page about placement, with what to do about it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from contracts.reasons import UNPLACEABLE, Reason
from tests.places import ROOT

PAGE = ROOT / "docs" / "placement.md"
DECIDING = (ROOT / "services" / "hostpool_manager" / "core", ROOT / "placement")
REPORTING = (ROOT / "services" / "fusion_backend" / "core",)
"""What reports on jobs for which no placement is requested."""
INTERNAL = frozenset(
    {
        Reason.NOTHING_TO_CHANGE,
        Reason.OWNER_DELETED,
        Reason.PLACED,
        Reason.PLACING,
        Reason.WAITING,
    }
)
"""Reasons of decisions, and of success."""


def _named_in_code(folders: Iterable[Path] = DECIDING) -> set[Reason]:
    """Every reason that the code names."""
    paths = (path for folder in folders for path in folder.rglob("*.py"))
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in paths)
    return {
        Reason[node.attr]
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "Reason"
    }


def _met_by_users() -> set[Reason]:
    return (_named_in_code() | UNPLACEABLE | {Reason.CRASHING}) - INTERNAL


def _rows() -> dict[str, tuple[str, str]]:
    """Meaning and remedy by reason."""
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", PAGE.read_text(), re.MULTILINE)
    return {reason: (meaning, remedy) for reason, meaning, remedy in rows}


def test_every_reason_for_which_there_is_no_placement_is_explained_with_a_remedy() -> None:
    wanted = _met_by_users()
    assert {each.value for each in wanted} - _rows().keys() == set()
    assert all(meaning.strip() and remedy.strip() for meaning, remedy in _rows().values())


def test_no_reason_is_explained_that_the_code_never_names() -> None:
    named = _met_by_users() | _named_in_code(REPORTING)
    assert _rows().keys() - {each.value for each in named} == set()
