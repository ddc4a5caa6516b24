"""The command line of the flood teaches what it does, and refuses what means nothing."""

from __future__ import annotations

import pytest

from tests.fuzz import __main__ as command
from tests.fuzz import real_command
from tests.fuzz.flooding import Report, ways_to_do_harm
from tests.fuzz.pair_report import FAULTS, FloodRequest, PairReport


def test_help_says_what_is_sent_what_is_asserted_and_what_the_exit_codes_mean(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """And every way to do harm, by the name that --only takes."""
    with pytest.raises(SystemExit) as end:
        command.main(["--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    for words in (
        "With --real",
        "--side",
        "Sent, half and half",
        "Asserted at the end",
        "Exit code: 0",
        "--crashes",
    ):
        assert words in said
    for way, says in ways_to_do_harm().items():
        assert way in said
        assert says
        assert says in said


@pytest.mark.parametrize(
    "arguments",
    [
        *(("--only", "nothing"), ("--count", "0"), ("--count", "-3"), ("--seed", "x")),
        *(("--real", "--side", "left"), ("--real", "--rounds", "0")),
    ],
)
def test_a_command_line_that_means_nothing_is_refused(arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as end:
        command.main(arguments)
    assert end.value.code == 2


def test_what_is_wrong_is_reported_with_the_line_that_floods_the_same_way_again(
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


def test_the_words_of_a_real_run_say_how_much_of_what_is_sent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """2,000 of each by default; what was wrong is reported as of a simulated flood."""
    wishes: list[FloodRequest] = []

    async def flooded(wish: FloodRequest) -> PairReport:
        wishes.append(wish)
        return PairReport(problems=["a process ended"] if wish.records else [])

    monkeypatch.setattr(real_command, "_flooded", flooded)
    assert command.main(["--real"]) == 1
    assert command.main(["--real", "--side", "objects", "--count", "9", "--no-faults"]) == 0
    assert (wishes[0].objects, wishes[0].records, wishes[0].faults) == (2_000, 2_000, FAULTS)
    assert (wishes[1].objects, wishes[1].records, wishes[1].faults) == (9, 0, ())
    said = capsys.readouterr().out
    assert "WRONG: a process ended\nagain: python -m tests.fuzz --real --side both" in said
