"""Standard output has the answer and nothing else."""

from __future__ import annotations

import errno
import io
import os
import signal
import subprocess
import sys

import pytest
import typer

from cli.printing import answers, failures_printed, is_terminal, terminated_by_exit
from tests.patience import patient

PROGRAM = """
import ctypes
from cli.printing import print_answers_only, print_json

c = ctypes.CDLL(None)
print_answers_only()
c.printf(b"a library's own note\\n")
print_json({"pes": 1})
"""


def test_what_a_c_library_prints_is_not_behind_the_json() -> None:
    """METIS prints there if a part is empty; its buffer is flushed when the process ends."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        check=True,
        capture_output=True,
        text=True,
        timeout=patient(60),
    )
    assert done.stdout == '{\n  "pes": 1\n}\n'


def test_an_answer_that_cannot_be_written_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """A full disk is no traceback; typer handles a closed pipe."""
    with pytest.raises(typer.Exit) as caught, failures_printed():
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.exit_code == 1
    assert capsys.readouterr().err == (
        "millrace: the answer cannot be written: No space left on device\n"
    )
    with pytest.raises(BrokenPipeError), failures_printed():
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")
    with pytest.raises(FileNotFoundError), failures_printed():
        raise FileNotFoundError(errno.ENOENT, "a defect of ours", "file")


def test_a_closed_standard_output_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert not is_terminal()
    answers().print("nobody reads this")


def test_an_encoding_without_arrows_gets_them_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    answers().print("Counted 3 → 4")
    sys.stdout.flush()
    assert written.getvalue() == b"Counted 3 \\u2192 4\n"


def test_being_terminated_is_an_exit_that_cleans_up() -> None:
    """And the former handler of SIGTERM is restored."""
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as caught, terminated_by_exit():
        os.kill(os.getpid(), signal.SIGTERM)
    assert caught.value.code == 143
    assert signal.getsignal(signal.SIGTERM) is before
