"""Services look alike from outside, and nobody forgets one of them."""

from __future__ import annotations

import pytest

from services.roster import SERVICES
from tests.architecture.source import deciding_services, services
from tests.places import ROOT
from tests.simulation.mains import MAINS

LAUNCHES_PODS = {"pod_state_machine"}
"""The services whose rules are those of launches."""


@pytest.mark.parametrize("service", services())
def test_every_service_has_the_same_inner_names(service: str) -> None:
    """A reader of one service finds the way in the next one."""
    folder = ROOT / "services" / service
    expected = {"README.md", "__init__.py", "__main__.py", "service.py", "settings.py"}
    found = {each.name for each in folder.iterdir() if each.name != "__pycache__"}
    assert found - {"policies.yaml"} == {*expected, "core", "adapters"}


@pytest.mark.parametrize("service", deciding_services())
def test_every_deciding_service_has_what_decides_in_files_of_known_names(service: str) -> None:
    """Grep for an observation and stand on the rule that says what follows."""
    core = ROOT / "services" / service / "core"
    expected = ("effects.py", "deciding.py", "snapshot.py")
    assert [name for name in expected if not (core / name).is_file()] == []
    shared = ROOT / "services/launching/core" if service in LAUNCHES_PODS else core
    assert [*shared.glob("*rules.py")]


@pytest.mark.parametrize("service", services())
def test_every_readme_says_in_out_rights_invariants_and_failures(service: str) -> None:
    """These are the questions of somebody who runs the service."""
    text = (ROOT / "services" / service / "README.md").read_text(encoding="utf-8")
    sections = ("**In**", "**Out**", "## RBAC", "## Invariants", "## Failure stories")
    assert [each for each in sections if each not in text] == []


def test_every_service_has_a_row_and_is_simulated() -> None:
    """A service that is left out would be missed by everything that is derived from the rows."""
    assert sorted(row.folder for row in SERVICES) == services()
    assert [*MAINS] == [row.name for row in SERVICES]


def test_check_runs_the_import_rules_and_the_types() -> None:
    """Rules that nothing runs are wishes."""
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").split("\ncheck:")[1]
    commands = recipe.split("\n\n")[0]
    for command in ("ruff check", "ruff format --check", "mypy", "lint-imports"):
        assert f"$(BIN)/{command}" in commands
