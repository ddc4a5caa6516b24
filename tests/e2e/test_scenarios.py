"""Every scenario has a test that runs on both backends, or skips and names what it waits for."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.e2e.scenarios import PARTLY_WAITS_FOR, SCENARIOS, WAITS_FOR

FOLDER = Path(__file__).parent
NUMBERS = 29
BACKENDS = "cluster"
"""Who takes this fixture runs on the sandbox and on the real pair."""


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("number", "feature"),
    [
        pytest.param(number, feature, marks=pytest.mark.scenario(number), id=f"scenario-{number}")
        for number, feature in sorted({**WAITS_FOR, **PARTLY_WAITS_FOR}.items())
    ],
)
def test_a_scenario_of_what_is_to_come_waits_for_it(number: int, feature: str) -> None:
    """It is listed, so that whoever builds the feature finds what it has to show."""
    part = "in part " if number in PARTLY_WAITS_FOR else ""
    pytest.skip(f"scenario {number} ({SCENARIOS[number]}) {part}waits for {feature}")


def test_every_scenario_has_a_test_or_names_what_it_waits_for() -> None:
    """Those that wait have none yet: whoever writes one takes it from the list."""
    shown = shown_in(FOLDER)
    assert set(SCENARIOS) == {*range(1, NUMBERS + 1)}
    assert set(shown) == set(SCENARIOS) - set(WAITS_FOR), {n: shown[n] for n in sorted(shown)}
    assert set(PARTLY_WAITS_FOR) <= set(shown)


def test_a_marker_is_found_where_it_stands_and_only_on_tests_of_the_running_system(
    tmp_path: Path,
) -> None:
    (tmp_path / "test_some.py").write_text(
        "pytestmark = pytest.mark.scenario(9)\n"
        "@pytest.mark.scenario(1, 2)\n@other\nasync def test_a(cluster): ...\n"
        "@pytest.mark.scenario(3)\ndef test_b(): ...\n"
        "@pytest.mark.scenario(4)\n@pytest.mark.skip\nasync def test_c(cluster): ...\n"
    )
    assert shown_in(tmp_path) == {1: ["test_some.py::test_a"], 2: ["test_some.py::test_a"]}


def shown_in(folder: Path) -> Mapping[int, list[str]]:
    """The tests that show each scenario, by the markers in their source."""
    found: dict[int, list[str]] = defaultdict(list)
    for path in sorted(folder.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _runs(node):
                for number in _scenarios(node):
                    found[number].append(f"{path.name}::{node.name}")
    return dict(found)


def _runs(test: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    skips = any("pytest.mark.skip" in ast.unparse(each) for each in test.decorator_list)
    return not skips and BACKENDS in {each.arg for each in test.args.args}


def _scenarios(test: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[int]:
    for each in test.decorator_list:
        if isinstance(each, ast.Call) and ast.unparse(each.func) == "pytest.mark.scenario":
            yield from (ast.literal_eval(number) for number in each.args)
