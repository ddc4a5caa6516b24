"""`make test` says when a mutant can no longer be planted; `make mutants` takes minutes."""

from __future__ import annotations

import pytest

from tests.mutants.planted import MUTANTS
from tests.mutants.planting import Mutant, places
from tests.places import ROOT

MUTANTS_MIN = 30


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_the_text_that_a_mutant_replaces_stands_in_its_file_once(mutant: Mutant) -> None:
    """Where code moved or was written anew, the mutant moves with it, or a better one is found."""
    assert places(mutant) == 1, f"{mutant.path}: {mutant.old!r}"
    assert mutant.new != mutant.old


def test_every_mutant_has_a_name_of_its_own_and_names_tests_that_exist() -> None:
    """The tests are files or folders, and words after -k."""
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names) >= MUTANTS_MIN
    for mutant in MUTANTS:
        named = [word for word in mutant.caught_by if "/" in word]
        assert named
        assert all((ROOT / word).exists() for word in named), mutant.name
