"""Messages name the option to people who used one, and the field to authors of a Job."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.phrasing import given_twice, with_option_names
from tests.unit.cli.test_planning import ran, written
from tests.unit.planner.adl_writing import Adl


@pytest.fixture(name="adl")
def adl_file(tmp_path: Path) -> Path:
    adl = Adl().chain("a", "N.First", "N.Second", "z").value("wide", '"2"')
    return written(tmp_path, adl.region("N.First", "wide").region("N.Second", 2))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ("--width", "Frist=2"),
            "--width Frist names 'Frist', but the application has no such parallel region "
            "(CDISR1411E); did you mean N.First? it has: N.First, N.Second",
        ),
        (("--width", "*First=0"), "parallel region N.First: --width *First is 0, which is no"),
        (("--width", "N.Frist=3"), "did you mean N.First? it has: "),
        (("--width", "n.first=3"), "did you mean N.First? it has: "),
        (("--resize", "Frist=3"), "--resize Frist names 'Frist', but the application has no"),
        (("--resize", "Frist=3"), "did you mean N.First? it has: "),
        (("--resize", "First=0"), "parallel region N.First: --resize N.First is 0, which is no"),
        (("--param", "wide=x"), "--param wide has the value 'x', which is not a number"),
        (("--param", "wide=0"), "parallel region N.First: --param wide is 0, which is no width"),
    ],
)
def test_a_refusal_names_the_option(adl: Path, words: tuple[str, ...], expected: str) -> None:
    result = ran(adl, *words, "--format", "json")
    assert result.exit_code == 1
    message = json.loads(result.stdout)["message"]
    assert expected in message
    assert "spec." not in message


@pytest.mark.parametrize("form", ["json", "table", "dot"])
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ("--param", "wdie=3"),
            "--param wdie is ignored: the application has no such value (CDISR1149W), did you mean "
            "wide? it has: wide",
        ),
        (
            ("--param", "wide=3", "--param", "wide=4"),
            "--param wide is given 2 times: the last value, 4, counts",
        ),
        (
            ("--width", "*=3", "--width", "*=4"),
            "--width * is given 2 times: the last width, 4, counts",
        ),
    ],
)
def test_likely_mistakes_are_warned_of(
    adl: Path, words: tuple[str, ...], expected: str, form: str
) -> None:
    """Below the table, else on stderr."""
    result = ran(adl, *words, "--format", form)
    assert result.exit_code == 0
    assert expected in (result.stdout if form == "table" else result.stderr)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("spec.parallelRegions[f[0].*].width is 0, which", "--width f[0].* is 0, which"),
        ("ParallelRegion a.b spec.width is 0", "--resize a.b is 0"),
        ("(f=3 by spec.submissionTimeValues.w)", "(f=3 by --param w)"),
        ("nothing of ours", "nothing of ours"),
    ],
)
def test_fields_become_options(sentence: str, expected: str) -> None:
    assert with_option_names(sentence) == expected


def test_a_key_that_is_given_once_is_not_warned_of() -> None:
    assert list(given_twice("--param", [("a", "1"), ("b", "1")])) == []
