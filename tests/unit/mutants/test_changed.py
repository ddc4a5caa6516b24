"""Which mutants CI plants: those of what was touched, the newest first, and others each time."""

from __future__ import annotations

from tests.mutants.changed import ordered
from tests.mutants.planting import Mutant


def mutant(name: str, path: str, caught_by: str = "tests/unit/test_a.py") -> Mutant:
    return Mutant(name, path, "", "a", "b", (f"{caught_by}::test_some", "-k", "word"))


def names(mutants: list[Mutant], touched: dict[str, int], head: str = "0") -> list[str]:
    return [each.name for each in ordered(mutants, touched, head)]


def test_mutants_of_touched_files_are_planted_the_newest_first() -> None:
    mutants = [mutant("old", "old.py"), mutant("none", "none.py"), mutant("new", "new.py")]
    assert names(mutants, {"old.py": 7, "new.py": 1}) == ["new", "old"]


def test_a_touched_test_has_its_mutants_planted_since_it_may_catch_less() -> None:
    mutants = [mutant("a", "a.py"), mutant("b", "b.py", "tests/unit/test_b.py")]
    assert names(mutants, {"tests/unit/test_b.py": 0}) == ["b"]


def test_quick_tests_come_before_those_of_running_systems() -> None:
    mutants = [mutant("slow", "a.py", "tests/e2e/test_a.py"), mutant("quick", "a.py")]
    assert names(mutants, {"a.py": 0}) == ["quick", "slow"]


def test_another_commit_begins_with_others_of_a_file() -> None:
    mutants = [mutant(str(number), "a.py") for number in range(20)]
    assert len({names(mutants, {"a.py": 0}, head)[0] for head in "0123456789"}) > 3
    assert names(mutants, {"a.py": 0}) == names(mutants[::-1], {"a.py": 0})
