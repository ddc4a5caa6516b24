"""A PE whose code calls os._exit has failed, whatever the code says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.places import ROOT

PROGRAM = """
import os, sys
from pathlib import Path
from millrace.runtime.exiting import end_process, guard
guard(Path(sys.argv[1]))
{then}
"""


def ended(log: Path, then: str) -> int:
    command = [sys.executable, "-c", PROGRAM.format(then=then), str(log)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def test_code_of_an_author_that_ends_the_process_is_a_failure(tmp_path: Path) -> None:
    assert ended(tmp_path / "log", "os._exit(0)") == 10
    assert (tmp_path / "log").read_text() == (
        "OperatorFailed: a function of the application ended the process with os._exit(0)"
    )


def test_the_runtime_and_processes_that_are_forked_end_as_they_say(tmp_path: Path) -> None:
    assert ended(tmp_path / "log", "end_process(0)") == 0
    forked = "pid = os.fork()\nif not pid: os._exit(0)\nend_process(os.waitpid(pid, 0)[1])"
    assert ended(tmp_path / "log", forked) == 0
    assert not (tmp_path / "log").exists()
