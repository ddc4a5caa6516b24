"""`make test` says when a mutant can no longer be planted; `make mutants` takes minutes."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from tests.mutants.planted import MUTANTS
from tests.mutants.planting import Mutant, with_mutant
from tests.places import ROOT

MUTANTS_MIN = 30


@cache
def _parsed(path: str) -> str:
    """A module as its syntax tree; many mutants are of one module."""
    return ast.dump(ast.parse((ROOT / path).read_text()))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_every_mutant_can_be_planted_in_one_place_and_changes_the_code(mutant: Mutant) -> None:
    """Where code moved or was rewritten, the mutant moves with it, or a better one is found."""
    assert ast.dump(ast.parse(with_mutant(mutant))) != _parsed(mutant.path)


def test_every_mutant_has_a_name_of_its_own_and_names_tests_that_exist() -> None:
    """The tests are files or folders, and words after -k."""
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names) >= MUTANTS_MIN
    for mutant in MUTANTS:
        named = [word for word in mutant.caught_by if "/" in word]
        assert named
        assert all((ROOT / word).exists() for word in named), mutant.name
