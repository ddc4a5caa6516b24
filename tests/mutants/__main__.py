"""Plants every mutant in a copy of the project and runs the tests that have to catch it.

Exit code 1 where a mutant survives or can no longer be planted.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.mutants.planted import MUTANTS, Mutant
from tests.places import ROOT

TESTS_MAX_S = 300


def plant(mutant: Mutant, root: Path) -> None:
    """Change the copy; ValueError where the place is not there exactly once."""
    path = root / mutant.path
    text = path.read_text()
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant.path} does not hold the place exactly once: {mutant.old!r}")
    path.write_text(text.replace(mutant.old, mutant.new))


def survives(mutant: Mutant) -> bool:
    """Whether the tests stay green with the mutant planted."""
    with tempfile.TemporaryDirectory(prefix="millrace-mutant-") as folder:
        copy = Path(folder) / "copy"
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        for name in listed.stdout.splitlines():
            if not (ROOT / name).is_file():
                continue  # deleted in the working tree, not yet in the index
            target = copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)
        plant(mutant, copy)
        corpus = os.environ.get("MILLRACE_CORPUS", str(ROOT / ".." / "shared" / "corpus"))
        command = [sys.executable, "-m", "pytest", "-x", "-q", *mutant.caught_by]
        run = subprocess.run(
            command,
            cwd=copy,
            env=os.environ | {"MILLRACE_CORPUS": corpus},
            capture_output=True,
            timeout=TESTS_MAX_S,
            check=False,
        )
        # 1: tests ran and some failed. Anything else but 0 means that they did not run.
        if run.returncode not in (0, 1):
            raise ValueError(f"the tests did not run: {run.stdout.decode()[-2000:]}")
        return run.returncode == 0


def main() -> int:
    """Plant them all; say which survive."""
    failed = 0
    for mutant in MUTANTS:
        try:
            outcome = "SURVIVES" if survives(mutant) else "caught"
        except ValueError as problem:
            outcome = f"CANNOT BE PLANTED: {problem}"
        failed += outcome != "caught"
        sys.stdout.write(f"{outcome:9} {mutant.name}\n")
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
