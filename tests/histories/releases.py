"""Copies of the source tree from which services run: as another release, or with a bug."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from services.chassis.process.release import DISTRIBUTION
from tests.mutants.anchoring import replaced
from tests.mutants.planting import copy_project
from tests.places import ROOT


@dataclass(frozen=True, slots=True)
class Tree:
    """A folder with the source of a release; Python that runs in it finds that release."""

    root: Path
    release: str


@dataclass(frozen=True, slots=True)
class Bug:
    """A line of a rule that is replaced. How the pattern is found: tests/mutants/anchoring.py."""

    what: str
    path: str
    definition: str
    pattern: str
    new: str


def version() -> str:
    """The release that this source says it is."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def next_release(release: str) -> str:
    """The release behind it, by its last number."""
    *first, last = release.split(".")
    return ".".join([*first, str(int(last) + 1)])


def here() -> Tree:
    """The source as it is."""
    return Tree(ROOT, version())


def copied(folder: Path, release: str) -> Tree:
    """A copy of the source that says that it is this release."""
    copy_project(folder)
    metadata = folder / f"{DISTRIBUTION.replace('-', '_')}-{release}.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: {DISTRIBUTION}\nVersion: {release}\n")
    return Tree(folder, release)


def with_bug(folder: Path, bug: Bug) -> Tree:
    """A copy of the source with a bug."""
    tree = copied(folder, version())
    path = folder / bug.path
    path.write_text(replaced(path.read_text(), bug.definition, bug.pattern, bug.new))
    return tree
