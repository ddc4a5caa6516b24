"""Ctrl-C while the command imports its modules ends it with 130, and without a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import patient
from tests.places import ROOT

STARTED = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    "from cli.__main__ import main; main()"
)
SLOW = "import time; print('importing', flush=True)\nfor _ in range(6000): time.sleep(0.1)"
"""A signal between a sleep's call and its system call is handled after it: so sleeps are short."""


@pytest.mark.parametrize(
    ("module", "words"), [("typer", ["--help"]), ("aiohttp", ["get"]), ("aiohttp", ["up"])]
)
def test_ctrl_c_during_the_imports_ends_the_command(
    tmp_path: Path, module: str, words: list[str]
) -> None:
    """In those of every command, and in those of the one that is called."""
    (tmp_path / f"{module}.py").write_text(SLOW)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", STARTED, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=environment,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "importing\n"
    process.send_signal(signal.SIGINT)
    assert (process.communicate(timeout=patient(60)), process.returncode) == (("", ""), 130)
