"""After each test: the rules that `docs/life-cycles.md` says it reaches have held in it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import orjson
import pytest

from tests.places import ROOT
from tests.simulation.reached import begin_run, rules_of_run

NOTES = os.environ.get("MILLRACE_REACH_NOTES", "")
"""A folder for what each test reached, where the file of the page is to be written again."""


@pytest.fixture(scope="session")
def named() -> Mapping[str, str]:
    """The scenario or the test that the page names for each rule."""
    found: dict[str, str] = orjson.loads((ROOT / "deploy/reached.json").read_bytes())
    return found


@pytest.fixture(autouse=True)
def reaches_what_the_page_says(
    request: pytest.FixtureRequest, named: Mapping[str, str]
) -> Iterator[None]:
    """Rules of runs in fixtures of a module count for no test."""
    begin_run()
    yield
    test, reached = f"{request.path.stem}::{request.node.name}", rules_of_run()
    if NOTES:
        line = orjson.dumps([test, sorted(reached)]) + b"\n"
        with (Path(NOTES) / str(os.getpid())).open("ab") as notes:
            notes.write(line)
        return
    missing = {rule for rule, where in named.items() if where == test} - reached
    assert not missing, "run `make reach`: the page of rules names this test for them"
