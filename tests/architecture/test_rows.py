"""A service is a row: what it names is there, and nobody keeps another list of services."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from contracts.waits import Wait
from deploy.composing import PART
from services.chassis.kube.permissions import Permission
from services.chassis.process.settings import ServiceSettings
from services.chassis.running.rules import Rule
from services.chassis.running.service import Service, loaded
from services.roster import BY_NAME, NAMES, SERVICES
from tests.architecture.source import modules
from tests.places import ROOT

EXCEPTIONS = ROOT / "tests/architecture/names_of_services.txt"
"""Files outside its folder that have the name of a service; the list only gets shorter."""
EXCEPTIONS_MAX = 24
GENERATED = ("deploy/chart/files/", "deploy/crds/", "deploy/install.yaml", "deploy/rbac/")
LISTS = frozenset(
    {
        "services/roster.py",
        "deploy/chart/values.yaml",
        "deploy/chart/values.schema.json",
        "deploy/reached.json",
    }
)
"""The roster, and more files that `make generate` and `make reach` write."""


@pytest.mark.parametrize("row", SERVICES, ids=lambda row: row.name)
def test_what_a_row_names_is_there(row: Service) -> None:
    """A row names modules in texts, which no type checker follows."""
    settings = loaded(row.settings)
    assert issubclass(settings, ServiceSettings)
    assert all(isinstance(each, Permission) for each in loaded(row.permissions))
    for decides in row.decides:
        assert all(isinstance(rule, Rule) for rule in loaded(decides.rules))
    assert row.main or row.stage
    for part in filter(None, (row.main, row.stage, row.leadership)):
        assert callable(loaded(part))
    given = [port.setting for port in row.ports] + [mount.setting for mount in row.mounts]
    given += [each.host_setting for each in row.ports if each.host_setting]
    assert {*given, *row.without_dns} <= settings.model_fields.keys()


def test_every_tuple_of_rules_is_in_a_row() -> None:
    """`replay --break` and the page of life cycles know the rules by the rows alone."""
    in_rows = {rule for row in SERVICES for each in row.decides for rule in loaded(each.rules)}
    found = {
        f"{'.'.join(path.with_suffix('').parts)}:{name}"
        for path, tree in modules("services", with_words=("Rule",))
        if "core" in path.parts
        for name in _tuples_of_rules(tree)
    }
    assert len(found) > 10
    assert {name for name in found if not in_rows.issuperset(loaded(name))} == set()


def _tuples_of_rules(tree: ast.Module) -> list[str]:
    """The names of annotated tuples whose elements are made of a class of rules."""
    return [
        node.target.id
        for node in tree.body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and isinstance(node.value, ast.Tuple)
        and "Rule" in ast.unparse(node.annotation)
    ]


def test_every_wait_is_ended_by_one_service() -> None:
    """`millrace why` finds the service that an object waits for by the wait."""
    assert Counter(wait for row in SERVICES for wait in row.awaited) == Counter(Wait)


def test_every_kind_is_decided_on_by_one_service() -> None:
    kinds = Counter(kind for row in SERVICES for kind in row.objects)
    assert {*kinds.values()} == {1}


def test_rows_import_nothing_of_what_they_name() -> None:
    """A command that needs names alone, as the completion of a shell does, starts quickly."""
    program = "import sys, services.roster; print(*sorted(sys.modules))"
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    ours = [each for each in found if each.startswith("services.")]
    rows = {f"services.{row.folder}" for row in SERVICES}
    rows |= {f"{each}.service" for each in rows}
    assert {*ours} - rows == {
        "services.roster",
        "services.chassis",
        "services.chassis.running",
        "services.chassis.running.service",
    }
    assert not {"pydantic", "aiokafka", "asyncio"} & {*found}


def test_no_file_outside_its_folder_has_the_name_of_a_service() -> None:
    """A list of services that is kept by hand is forgotten when a service comes."""
    listed = EXCEPTIONS.read_text(encoding="utf-8").split()
    assert listed == sorted(listed)
    assert len(listed) <= EXCEPTIONS_MAX
    assert _files_with_names() == listed


def _files_with_names() -> list[str]:
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    found = []
    for name in tracked:
        path = Path(name)
        is_prose = path.suffix == ".md" or path.parts[0] in ("docs", "tests")
        if is_prose or name.startswith(GENERATED) or name in LISTS:
            continue
        text = _without_prose(path, (ROOT / path).read_bytes().decode("utf-8", "replace"))
        own = re.match(r"services/([a-z_]+)/", name)
        named = {
            each
            for each in NAMES
            if re.search(rf"\b({each}|{BY_NAME[each].folder})\b", text)
            and not (own and own[1] == BY_NAME[each].folder)
        }
        if named:
            found.append(name)
    return sorted(found)


def _without_prose(path: Path, text: str) -> str:
    """A file without its comments, its docstrings, and parts that are generated."""
    if path.suffix != ".py":
        return re.sub(r"(?m)#.*$|\{\{-? */\*.*?\*/ *-?\}\}", "", PART.sub("", text))
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            kept = [each for each in body if not _is_text(each)]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(tree)


def _is_text(node: ast.AST) -> bool:
    """Whether a statement is a docstring, or that of an attribute."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
