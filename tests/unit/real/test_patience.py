"""One factor stretches every deadline of a test; a slow machine is measured, and gets a larger."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests import patience
from tests.patience import QUIET_S, SETTING, NoPatience, patient
from tests.places import ROOT


def test_a_deadline_is_as_it_was_written_where_nothing_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(SETTING, raising=False)
    assert patient(20.0) == 20.0
    monkeypatch.setenv(SETTING, "")
    assert patient(20.0) == 20.0


def test_a_deadline_is_as_much_longer_as_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, "1.5")
    assert patient(20.0) == 30.0


@pytest.mark.parametrize("text", ["x", "0", "0.9", "-2", "10.1", "inf", "nan", "1,5"])
def test_what_is_no_factor_is_refused_by_name_and_value(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv(SETTING, text)
    with pytest.raises(NoPatience, match=rf"MILLRACE_PATIENCE='{text}' is no number from 1 to 10"):
        patient(20.0)


@pytest.mark.parametrize(
    ("slower", "factor"), [(0.5, 1.0), (1.0, 1.0), (1.72, 1.7), (9.5, 9.5), (200.0, 10.0)]
)
def test_a_machine_is_never_taken_for_faster_than_a_quiet_one(
    capsys: pytest.CaptureFixture[str], slower: float, factor: float
) -> None:
    middle_s = slower * QUIET_S
    assert patience.main(lambda: [99.0, middle_s, 0.01]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"{factor}\n"
    assert f"took {middle_s:.2f} s, {QUIET_S:.2f} s on a quiet machine" in printed.err
    assert f"stretched by {factor}\n" in printed.err


def test_the_command_needs_no_environment_and_prints_what_the_setting_takes() -> None:
    """It runs before anything is installed: `-S` leaves out what is."""
    done = subprocess.run(
        [sys.executable, "-S", "-m", "tests.patience"],
        cwd=ROOT,
        env={name: text for name, text in os.environ.items() if name != SETTING},
        capture_output=True,
        text=True,
        check=True,
        timeout=patient(60.0),
    )
    assert 1.0 <= patience.patience_of(done.stdout.strip()) <= patience.PATIENCE_MAX
    assert done.stdout.count("\n") == 1
