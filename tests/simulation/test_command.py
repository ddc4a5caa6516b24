"""The command line: what it plays, what it refuses to count as played, and its exit codes."""

from __future__ import annotations

import re

import pytest

from tests.simulation.command import main, undisturbed

SCENARIO = "service-deleted"
OF_IT = ("--scenario", SCENARIO)


def test_one_plan_is_played_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """With the effects around its fault, and the counts at the end."""
    assert main([*OF_IT, "--plan", "crash-after:0"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^>> +0 ", said, re.MULTILINE)
    assert said.endswith("1 plans, 0 failed\n")


@pytest.mark.parametrize("plan", ["crash-before:{end}", "crash-before:0,expired:{end}"])
def test_a_plan_past_the_end_of_the_run_is_not_said_to_have_been_played(
    capsys: pytest.CaptureFixture[str], plan: str
) -> None:
    effects = len(undisturbed(SCENARIO, 0).trace)
    assert main([*OF_IT, "--plan", plan.format(end=effects)]) == 2
    said = capsys.readouterr().out
    assert f":{effects} cannot be met: the run has only {effects} effects\n" in said
    assert "0 failed" not in said


def test_a_mishap_that_an_effect_cannot_meet_is_not_said_to_have_been_played(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A write has no watch that could be late."""
    trace = undisturbed(SCENARIO, 0).trace
    write = next(number for number, each in enumerate(trace) if each.kind == "write")
    assert main([*OF_IT, "--plan", f"late-watch:{write}"]) == 2
    assert f"effect {write} is a write (it has crash-before, " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((*OF_IT, "--plan", "crash-before"), "is not MISHAP:NUMBER"),
        ((*OF_IT, "--plan", "crash-before:-1"), "is not MISHAP:NUMBER"),
        ((*OF_IT, "--plan", "crash:7"), "is not MISHAP:NUMBER"),
        (("--plan", "crash-before:0"), "the one --scenario that it is of"),
        (("--only-seeds",), "needs --seeds N"),
    ],
)
def test_a_command_line_that_means_nothing_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], why: str
) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert why in capsys.readouterr().err


def test_a_class_that_no_plan_is_of_is_reported_not_to_have_been_played(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.simulation.command.every_plan", lambda *_: iter(()))
    assert main([*OF_IT, "--kind", "zombie"]) == 2
    assert "nothing was played" in capsys.readouterr().out
