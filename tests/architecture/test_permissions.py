"""What READMEs and roles say of a service's rights is what its code says."""

from __future__ import annotations

import re

import pytest
import yaml

from contracts.resources import CUSTOM_RESOURCES, CustomResource
from deploy.generating import RBAC_FOLDER
from deploy.roles import PERMISSIONS
from services.fusion_backend.core.snapshot import CHILD_KINDS
from tests.architecture.source import services
from tests.places import ROOT

_ROW = re.compile(r"^\| (?P<resources>[^|]+) \| (?P<verbs>[^|]+) \|", re.M)
_ASIDE = re.compile(r"\([^)]*\)")


def words(cell: str) -> list[str]:
    """The words of a cell, without what stands in parentheses."""
    return [word.strip() for word in _ASIDE.sub("", cell).split(",")]


def described(service: str) -> set[tuple[str, str]]:
    """(resource, verb) of the table in a service's README."""
    text = (ROOT / "services" / service / "README.md").read_text(encoding="utf-8")
    table = text.split("## RBAC")[1].split("\n## ")[0]
    rows = [row for row in _ROW.finditer(table) if row["resources"] != "resource"]
    return {
        (resource, verb)
        for row in rows
        for resource in words(row["resources"])
        for verb in words(row["verbs"])
        if not resource.startswith("---")
    }


def granted(service: str) -> set[tuple[str, str]]:
    """(resource, verb) of the permissions."""
    return {(each.resource, each.verb) for each in PERMISSIONS[service.replace("_", "-")]}


def test_every_service_has_rights_and_a_file_of_its_own() -> None:
    """A service that was forgotten would run as somebody else."""
    assert {name.replace("_", "-") for name in services()} == PERMISSIONS.keys()
    files = {path.stem for path in (ROOT / RBAC_FOLDER).glob("*.yaml")}
    assert files == PERMISSIONS.keys()


@pytest.mark.parametrize("service", services())
def test_the_readme_tells_people_the_rights_that_the_service_has(service: str) -> None:
    """Whoever installs it reads the table and not the code."""
    assert described(service) == granted(service)


@pytest.mark.parametrize("service", services())
def test_the_roles_allow_what_the_code_needs_and_nothing_else(service: str) -> None:
    """Rules are sums: one more verb beside two resources would be two more rights."""
    file = ROOT / RBAC_FOLDER / f"{service.replace('_', '-')}.yaml"
    rules = [
        (document["kind"], rule)
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8"))
        for rule in document.get("rules", ())
    ]
    allowed = {
        (group, resource, verb, name, kind == "Role")
        for kind, rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }
    assert allowed == {
        (each.group, each.resource, each.verb, each.name, each.at_home)
        for each in PERMISSIONS[service.replace("_", "-")]
    }


@pytest.mark.parametrize("kind", CUSTOM_RESOURCES, ids=lambda kind: kind.kind)
def test_the_row_of_a_kind_names_the_services_that_may_write_its_status(
    kind: CustomResource,
) -> None:
    """The kinds in which watch-ingest reports an unreadable object follow from it."""
    writers = {
        service
        for service, permissions in PERMISSIONS.items()
        if any(
            (each.resource, each.verb) == (f"{kind.plural}/status", "patch") for each in permissions
        )
    }
    assert writers == set(kind.status_writers)


def test_watch_ingest_reports_unreadable_objects_of_every_kind_but_jobs() -> None:
    """Its permissions follow from the rows, so that a row that forgets it would go unseen."""
    silent = {each.kind for each in CUSTOM_RESOURCES if "watch-ingest" not in each.status_writers}
    assert silent == {"Job"}


@pytest.mark.parametrize("kind", CUSTOM_RESOURCES, ids=lambda kind: kind.kind)
def test_the_row_of_a_kind_names_the_service_that_may_create_it(kind: CustomResource) -> None:
    """The children of a job follow from it, which are deleted with the job."""
    creators = {
        service
        for service, permissions in PERMISSIONS.items()
        if any((each.resource, each.verb) == (kind.plural, "create") for each in permissions)
    }
    assert creators == ({kind.created_by} if kind.created_by else set())


def test_a_kind_that_people_create_is_no_child_of_a_job() -> None:
    assert "Job" not in CHILD_KINDS
    assert {each.kind for each in CUSTOM_RESOURCES if each.created_by} < set(CHILD_KINDS)
