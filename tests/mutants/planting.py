"""What a mutant is, and how it is planted and pulled out again in a copy of the project.

Tests run in the copy, so nothing is ever changed in the project itself.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.anchoring import NotThere, replaced
from tests.patience import patient
from tests.pieces.environment import without_a_run
from tests.places import ROOT

TESTS_MAX_S = 300.0
WAIT_S = "40"
"""How long a test of the running system waits for what does not come."""
_MOMENTS = itertools.count(1_000_000_000)
"""Times of change of files: all different, or Python would run what it compiled before."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """Replace a pattern in a definition of a module by `new`; `caught_by` must then fail.

    `definition` is empty for the whole file. How a pattern is found: `anchoring.py`.
    """

    name: str
    path: str
    definition: str
    pattern: str
    new: str
    caught_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How it ended: `killed_by` is the first test that failed, empty for a survivor."""

    mutant: Mutant
    killed_by: str
    took_s: float
    problem: str = ""

    @property
    def is_well(self) -> bool:
        """Whether the mutant was planted, and a test failed."""
        return bool(self.killed_by) and not self.problem


def with_mutant(mutant: Mutant, root: Path = ROOT) -> str:
    """The text of the mutant's module with the mutant in it; raises NotThere."""
    path = root / mutant.path
    if not path.exists():
        raise NotThere(f"there is no {mutant.path}")
    return replaced(path.read_text(), mutant.definition, mutant.pattern, mutant.new)


@contextmanager
def planted(mutant: Mutant, root: Path) -> Iterator[None]:
    """The copy with the mutant in it; raises NotThere where it cannot be planted."""
    path = root / mutant.path
    text = with_mutant(mutant, root)
    before = path.read_text()
    _write(path, text)
    try:
        yield
    finally:
        _write(path, before)


def _write(path: Path, text: str) -> None:
    path.write_text(text)
    moment = next(_MOMENTS)
    os.utime(path, (moment, moment))


def copy_project(target: Path) -> None:
    """Everything that git knows or would know."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():  # else deleted in the working tree, not yet in the index
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)


def judge(mutant: Mutant, root: Path) -> Verdict:
    """Plant a mutant in a copy, run the tests that have to fail, and pull it out."""
    began = time.monotonic()
    try:
        with planted(mutant, root):
            killed_by = _first_failure(mutant, root)
    except ValueError as problem:
        return Verdict(mutant, "", time.monotonic() - began, str(problem))
    return Verdict(mutant, killed_by, time.monotonic() - began)


def _first_failure(mutant: Mutant, root: Path) -> str:
    """The first test that fails; empty where all pass. ValueError where they did not run."""
    corpus = os.environ.get("MILLRACE_CORPUS", str(ROOT / ".." / "shared" / "corpus"))
    within_s = patient(TESTS_MAX_S)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-rfE"]
    try:
        run = subprocess.run(
            [*command, *mutant.caught_by],
            cwd=root,
            env=without_a_run() | {"MILLRACE_CORPUS": corpus, "MILLRACE_TESTS_WAIT_S": WAIT_S},
            capture_output=True,
            timeout=within_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no end within {within_s:g} s"
    said = run.stdout.decode(errors="replace")
    if run.returncode == 0:
        return ""
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", said, re.MULTILINE)
    # 1: tests ran and some failed. Anything else means that they did not run.
    if run.returncode != 1 or failed is None:
        raise ValueError(f"the tests did not run: {said[-2000:]}")
    return failed.group(1)
