"""`millrace` on the package index of Python is another project: nothing of ours may install it."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.places import ROOT

STRANGER = "millrace"
OURS = {"pyproject.toml": "millrace-control-plane", "millrace/pyproject.toml": "millrace-streams"}
UNSEEN = (
    re.compile(r"docs/adr/00"),  # an accepted ADR is not edited
    re.compile(r"CHANGELOG\.md|tests/architecture/test_distribution_names\.py"),
)
NAMED = re.compile(
    r"""
      \bmillrace\[\w                                   # an extra, as of a requirement
    | \bmillrace\s?(?:==|~=|>=|<=|!=|===)\s?\d         # a requirement with a version
    | \bmillrace-(?:\*|\d[\w.]*)(?:\.whl|\.tar|\.dist) # its wheel, or what is installed of it
    | \bdistribution[ ]`?millrace`                     # a sentence
    | \bpypi/millrace(?![\w-])                         # a package URL
    | --no-emit-package[ =]millrace(?![\w-])
    | (?:Requires-Dist|^Name):[ ]*millrace(?![\w-])
    | \b(?:version|distribution|metadata|requires)\(["']millrace["']\)
    | \b(?:pip|pipx|uv|uvx|poetry|pdm)[ ](?:[\w-]+[ ])?(?:install|add|download|wheel|run|sync)\b
      (?:[ ][^\s#;&|]+)*?[ ]["'`]?millrace(?=["'`]?(?:\s|$|[;,.)]))
    """,
    re.VERBOSE | re.MULTILINE,
)
"""How texts, commands and programs name a distribution."""


def project(path: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / path).read_text(encoding="utf-8"))


def requirements(path: str) -> Iterator[str]:
    """Everything that a project makes pip or uv install."""
    read = project(path)
    yield from read["build-system"]["requires"]
    yield from read["project"]["dependencies"]
    for extra in read["project"].get("optional-dependencies", {}).values():
        yield from extra
    for group in read.get("dependency-groups", {}).values():
        yield from map(str, group)
    yield from read.get("tool", {}).get("uv", {}).get("sources", {})


def normal(requirement: str) -> str:
    name = re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("path", OURS)
def test_a_distribution_has_a_name_that_is_free(path: str) -> None:
    assert project(path)["project"]["name"] == OURS[path]


@pytest.mark.parametrize("path", OURS)
def test_no_requirement_installs_the_other_project(path: str) -> None:
    found = set(map(normal, requirements(path)))
    assert len(found) > 5
    assert STRANGER not in found


def test_the_command_needs_exactly_the_release_of_what_authors_import() -> None:
    streams = project("millrace/pyproject.toml")["project"]
    assert f"{streams['name']}=={streams['version']}" in set(requirements("pyproject.toml"))


def test_no_lock_file_has_the_other_project() -> None:
    locks = sorted(ROOT.glob("requirements*.lock"))
    assert len(locks) > 5
    for lock in locks:
        lines = lock.read_text(encoding="utf-8").splitlines()
        names = [normal(line) for line in lines if line[:1].isalnum()]
        assert not {STRANGER, *OURS.values()} & set(names), lock.name


def test_no_page_message_or_command_names_the_other_project_as_ours() -> None:
    found = [
        f"{path}: {match.group(0)}"
        for path, text in _texts()
        for match in NAMED.finditer(text)
        if not any(each.match(str(path)) for each in UNSEEN)
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "needs aiohttp: install millrace[http]",
        'dependencies = ["millrace>=0.1"]',
        "pip install millrace",
        "RUN pip install --quiet millrace",
        "uv pip install -U millrace",
        "pipx install 'millrace'",
        "--no-emit-package millrace",
        "dist/millrace-*.whl",
        "Requires-Dist: millrace (>=0.1)",
        "the distribution `millrace` is",
        'version("millrace")',
    ],
)
def test_a_name_of_the_other_project_is_found(text: str) -> None:
    assert NAMED.search(text)


@pytest.mark.parametrize(
    "text",
    [
        "pip install millrace-streams[http]",
        "pip wheel --no-deps -w dist . ./millrace",
        "helm install millrace deploy/chart",
        "pip install x && millrace demo",
        "import millrace",
        "millrace_streams-*.whl",
    ],
)
def test_what_is_ours_is_not_taken_for_it(text: str) -> None:
    assert not NAMED.search(text)


def _texts() -> Iterator[tuple[Path, str]]:
    """Every file of text that git knows."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in sorted(set(listed.stdout.splitlines())):
        path = ROOT / name
        data = path.read_bytes() if path.is_file() else b""
        if b"millrace" in data and b"\0" not in data[:1024]:
            yield Path(name), data.decode("utf-8", "replace")
