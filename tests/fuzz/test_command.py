"""The command line of the flood teaches what it does, and refuses what means nothing."""

from __future__ import annotations

import pytest

from tests.fuzz import __main__ as command
from tests.fuzz.flooding import Report, ways_to_do_harm


def test_help_says_what_is_sent_what_is_asserted_and_what_the_exit_codes_mean(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """And every way to do harm, by the name that --only takes."""
    with pytest.raises(SystemExit) as end:
        command.main(["--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    for words in ("Sent, half and half", "Asserted at the end", "Exit code: 0", "--crashes"):
        assert words in said
    for way, says in ways_to_do_harm().items():
        assert way in said
        assert says
        assert says in said


@pytest.mark.parametrize(
    "arguments", [("--only", "nothing"), ("--count", "0"), ("--count", "-3"), ("--seed", "x")]
)
def test_a_command_line_that_means_nothing_is_refused(arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as end:
        command.main(arguments)
    assert end.value.code == 2


def test_what_is_wrong_is_told_with_the_line_that_floods_the_same_way_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    report = Report(problems=["a service has ended"])
    monkeypatch.setattr(command, "flood", lambda *_, **__: report)
    assert command.main(["--count", "7", "--seed", "5", "--only", "pod", "--only", "noise"]) == 1
    said = capsys.readouterr().out
    assert "WRONG: a service has ended\n" in said
    again = "again: python -m tests.fuzz --count 7 --seed 5 --only pod --only noise --crashes\n"
    assert again in said
    report.problems.clear()
    assert command.main(["--count", "7"]) == 0
