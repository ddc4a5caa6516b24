"""A run of pytest plays the pieces of its share, and the tests that are in no piece."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tests.pieces import environment
from tests.places import ROOT

CONFTEST = """
from tests.pieces import selecting

def pytest_configure(config):
    for line in ("e2e", "real", "piece(name)"):
        config.addinivalue_line("markers", line)

def pytest_collection_modifyitems(config, items):
    selecting.leave_out(config, items)
"""
SCENARIOS = """
import pytest

@pytest.mark.e2e
@pytest.mark.parametrize("on", ["sandbox", pytest.param("pair", marks=pytest.mark.real)])
def test_a(on): ...

def test_plain(): ...
"""
MARKED = """
import pytest

PARTS = [pytest.param(n, marks=pytest.mark.piece(f"exact/{n}")) for n in (0, 1)]

@pytest.mark.parametrize("n", PARTS)
def test_b(n): ...
"""
OPTIONS = (
    *("-q", "-p", "no:randomly", "-p", "no:xdist", "--import-mode=importlib"),
    *("-o", "asyncio_default_fixture_loop_scope=function"),
)
ALL = ["test_a[sandbox]", "test_a[pair]", "test_plain", "test_b[0]", "test_b[1]", "test_c"]


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Modules at places where suites have theirs, for a pytest that has not imported ours."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv(environment.SHARE, raising=False)
    pytester.makeconftest(CONFTEST)
    for folder, name, text in (
        ("tests/e2e", "test_nodes.py", SCENARIOS),
        ("tests/e2e", "test_exactness.py", MARKED),
        ("tests/unit", "test_c.py", "def test_c(): ..."),
    ):
        path = pytester.path / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return pytester


def selected(
    project: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    pieces: Sequence[str],
    *,
    always: bool = True,
) -> list[str]:
    """The tests that are left of all."""
    share = project.path / "share"
    share.write_text(json.dumps({"pieces": pieces, "always": always}))
    monkeypatch.setenv(environment.SHARE, str(share))
    return listed(project)


def listed(project: pytest.Pytester) -> list[str]:
    found = project.runpytest_subprocess("--collect-only", *OPTIONS)
    return [line.rpartition("::")[2] for line in found.outlines if "::" in line]


def test_without_a_share_every_test_is_played(project: pytest.Pytester) -> None:
    assert sorted(listed(project)) == sorted(ALL)


@pytest.mark.parametrize(
    ("pieces", "left"),
    [
        ([], ["test_plain", "test_c"]),
        (["pair/nodes"], ["test_a[pair]", "test_plain", "test_c"]),
        (["sandbox/nodes", "exact/1"], ["test_a[sandbox]", "test_plain", "test_b[1]", "test_c"]),
    ],
)
def test_pieces_that_are_not_in_the_share_are_left_out(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, pieces: list[str], left: list[str]
) -> None:
    assert sorted(selected(project, monkeypatch, pieces)) == sorted(left)


def test_a_test_of_a_whole_suite_is_played_last_with_any_of_its_pieces(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_suite = '@pytest.mark.piece("exact/*")\ndef test_all(): ...\n'
    (project.path / "tests/e2e/test_exactness.py").write_text(f"import pytest\n{of_suite}{MARKED}")
    assert selected(project, monkeypatch, ["exact/1"], always=False) == ["test_b[1]", "test_all"]
    assert "test_all" not in selected(project, monkeypatch, ["pair/nodes"])
    monkeypatch.delenv(environment.SHARE)
    assert listed(project)[-1] == "test_all"


def test_a_part_of_everything_plays_its_pieces_alone(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert selected(project, monkeypatch, ["exact/0"], always=False) == ["test_b[0]"]


def test_a_share_that_names_a_piece_of_no_suite_stops_the_run(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is of another commit, or was written by hand."""
    share = project.path / "share"
    share.write_text(json.dumps({"pieces": ["pair/nothing-of-that-name"]}))
    monkeypatch.setenv(environment.SHARE, str(share))
    ended = project.runpytest_subprocess(*OPTIONS)
    assert ended.ret == pytest.ExitCode.USAGE_ERROR
    ended.stderr.fnmatch_lines(["*no suite has pair/nothing-of-that-name"])


def test_a_test_of_a_piece_that_no_suite_has_stops_the_run(project: pytest.Pytester) -> None:
    (project.path / "tests/e2e/test_unknown.py").write_text(SCENARIOS)
    ended = project.runpytest_subprocess(*OPTIONS)
    assert ended.ret == pytest.ExitCode.USAGE_ERROR
    ended.stderr.fnmatch_lines(["*is of piece *unknown, which no suite has*"])
