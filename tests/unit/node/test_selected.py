"""`make test-node` plays every module of tests on a real node, but the one that measures."""

from __future__ import annotations

from tests.node.__main__ import ALL, PROFILES, TESTS, files_of
from tests.places import ROOT

MEASURES = "tests/node/test_starting.py"
"""`make bench-node` plays it."""


def test_a_new_module_is_played_or_said_to_measure() -> None:
    modules = {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "tests/node").glob("test_*.py")
    }
    assert {each.partition("::")[0] for each in TESTS} == modules - {MEASURES}


def test_all_profiles_are_played_on_request_and_files_that_are_named_alone() -> None:
    assert files_of([]) == list(TESTS)
    assert PROFILES in files_of([ALL])
    assert len(files_of([ALL])) == len(TESTS)
    assert files_of([MEASURES, "-k", "x"]) == ()
