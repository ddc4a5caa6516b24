"""The page of the seeds' behaviours names tests and planted bugs that exist and belong together."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from tests.architecture.naming_tests import names_in
from tests.mutants.planted import MUTANTS
from tests.places import ROOT, seeds

PAGE = ROOT / "docs" / "seeds.md"
OF_PAGE = {"H": "000_*.txt", "C": "001_*.txt"}
"""The letter of a row's number, and the document that its words are from."""
NUMBER = re.compile(r"([HC])(\d+)")


class Behaviour(NamedTuple):
    """A row: the seed's words, the tests that hold it, and the planted bug that turns one red."""

    words: str
    ours: str
    tests: tuple[tuple[str, str], ...]
    mutant: str


def behaviours() -> dict[str, Behaviour]:
    """The rows by number."""
    found: dict[str, Behaviour] = {}
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
        if len(cells) == 5 and NUMBER.fullmatch(cells[0]):
            assert cells[0] not in found, f"{cells[0]} has two rows"
            tests = tuple(re.findall(r"`([^`:]+)::(\w+)`", cells[3]))
            words = cells[1].strip("“”").replace(r"\|", "|")
            found[cells[0]] = Behaviour(words, cells[2], tests, cells[4])
    return found


ROWS = behaviours()
PLANTED = {mutant.name: mutant for mutant in MUTANTS}


def test_rows_are_numbered_without_gaps() -> None:
    """H are host constraints, C is the controller."""
    for letter in OF_PAGE:
        numbers = [int(number[1:]) for number in ROWS if number[0] == letter]
        assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("number", ROWS)
def test_a_behaviour_has_a_test_and_a_planted_bug_that_turns_it_red(number: str) -> None:
    """The planted bug runs one of the tests of its row, or the file that has it."""
    row = ROWS[number]
    assert row.ours
    assert row.tests, "no test holds it"
    for path, name in row.tests:
        assert name in names_in(path), f"{path} has no {name}"
    assert row.mutant in PLANTED, f"no bug is planted under the name {row.mutant!r}"
    caught_by = PLANTED[row.mutant].caught_by
    files = [each.partition("::")[0] for each in caught_by if each.startswith("tests/")]
    assert {path for path, _ in row.tests} & set(files), f"{row.mutant}: caught by {files}"
    if "-k" in caught_by:
        chosen = caught_by[caught_by.index("-k") + 1].split(" and ")[0]
        assert any(chosen in name for _, name in row.tests), f"it is to be caught by {chosen}"


@pytest.mark.skipif(not seeds().exists(), reason="MILLRACE_SEEDS says where the documents are")
@pytest.mark.parametrize("letter", OF_PAGE)
def test_the_words_are_those_of_the_document(letter: str) -> None:
    """But for line breaks."""
    (document,) = seeds().glob(OF_PAGE[letter])
    text = " ".join(document.read_text().split())
    for number, row in ROWS.items():
        if number[0] == letter:
            assert " ".join(row.words.split()) in text, number
