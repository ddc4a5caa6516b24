"""Leaves out of a run of pytest what is in no piece of the share that MILLRACE_SHARE names."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.pieces import environment
from tests.pieces.noting import PIECE
from tests.pieces.suites import ELSEWHERE, SUITE, part_of, pieces
from tests.places import ROOT

_SUITES = {
    "tests/node": "node",
    "tests/simulation": "simulation",
    "tests/compose": "compose",
    "tests/real": "installed",
    "tests/real/differential": "comparisons",
    "tests/real/faults": "faults",
}
_EVERY = "/*"
"""Ends the marker of a test that is of all pieces of a suite: it is played with any of them."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The names of the pieces that are played, and whether tests of no piece are."""

    pieces: frozenset[str]
    always: bool = True

    def plays(self, piece: str) -> bool:
        """Whether a test of this piece is played; it is empty for a test of no piece."""
        if piece.endswith(_EVERY):
            suite = piece.removesuffix("*")
            return any(each.startswith(suite) for each in self.pieces)
        return piece in self.pieces if piece else self.always


def selection() -> Selection | None:
    """What the file of the setting selects; None where everything is played."""
    path = os.environ.get(environment.SHARE, "")
    if not path:
        return None
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    return Selection(frozenset(content["pieces"]), content.get("always", True))


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Note the piece of each test, and deselect the tests that are not selected.

    A test of all pieces of a suite comes last, so that each piece pays for what it plays itself.
    """
    known = {each.name for each in pieces(ROOT)}
    selected = selection()
    if selected is not None and (unknown := selected.pieces - known):
        raise pytest.UsageError(f"a share of another commit: no suite has {', '.join(unknown)}")
    kept: list[pytest.Item] = []
    last: list[pytest.Item] = []
    out: list[pytest.Item] = []
    for item in items:
        name = piece_of(item)
        is_of_suite = name.endswith(_EVERY)
        if name and name not in known and name.removesuffix(_EVERY) not in SUITE:
            raise pytest.UsageError(f"{item.nodeid} is of piece {name}, which no suite has")
        if name and not is_of_suite:
            item.user_properties.append((PIECE, name))
        if selected is not None and not selected.plays(name):
            out.append(item)
        else:
            (last if is_of_suite else kept).append(item)
    if out:
        config.hook.pytest_deselected(items=out)
    items[:] = [*kept, *last]


def piece_of(item: pytest.Item) -> str:
    """The name of the piece that a test belongs to; empty for one that is played every time.

    It follows from the module; where a module has tests of several pieces, the marker says it.
    """
    if (marker := item.get_closest_marker("piece")) is not None:
        return str(marker.args[0])
    folder, _, module = item.nodeid.partition("::")[0].rpartition("/")
    if (suite := _suite_of(folder, item)) and part_of(module) not in ELSEWHERE:
        return f"{suite}/{'all' if SUITE[suite].whole else part_of(module)}"
    return ""


def _suite_of(folder: str, item: pytest.Item) -> str:
    is_real = item.get_closest_marker("real") is not None
    if folder == "tests/e2e":
        on_sandbox = "sandbox" if item.get_closest_marker("e2e") is not None else ""
        return "pair" if is_real else on_sandbox
    marked = (
        is_real
        or folder == "tests/simulation"
        or any(item.get_closest_marker(name) is not None for name in ("node", "compose"))
    )
    return _SUITES.get(folder, "") if marked else ""
