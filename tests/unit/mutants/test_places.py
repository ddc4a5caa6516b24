"""`make test` says when a mutant can no longer be planted; `make mutants` takes minutes."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

from tests.mutants.anchoring import NotThere, definitions_of, parsed
from tests.mutants.planted import MUTANTS
from tests.mutants.planting import Mutant, with_mutant
from tests.places import ROOT

MUTANTS_MIN = 30


def test_every_mutant_can_be_planted_in_one_place_and_changes_the_code() -> None:
    """Where code moved or was rewritten, the mutant moves with it, or a better one is found."""
    problems = [
        f"{mutant.path}: {mutant.name}: {problem}"
        for mutant in sorted(MUTANTS, key=lambda each: each.path)
        if (problem := problem_of(mutant))
    ]
    assert problems == [], "\n".join(problems)


def problem_of(mutant: Mutant, root: Path = ROOT) -> str:
    """Why it is not planted or is no bug; empty if it is one."""
    try:
        after = ast.parse(with_mutant(mutant, root))
    except (NotThere, SyntaxError) as problem:
        return str(problem)
    before = parsed((root / mutant.path).read_text())
    return "" if differ(before, after, mutant.definition) else "the code stays the same"


def differ(before: ast.Module, after: ast.Module, definition: str) -> bool:
    """Whether modules differ; in most cases one look at the definition shows that they do."""
    named = [
        [ast.dump(node) for node in definitions_of(tree, definition)] for tree in (before, after)
    ]
    return named[0] != named[1] or ast.dump(before) != ast.dump(after)


def test_a_mutant_that_changes_no_code_or_has_no_place_is_a_problem(tmp_path: Path) -> None:
    """The check above would pass for ever if it saw no difference."""
    (tmp_path / "a.py").write_text("A = 1\n\ndef f() -> int:\n    return A\n")
    mutant = Mutant("it is", "a.py", "f", "return A", "return 2", ())
    assert problem_of(mutant, tmp_path) == ""
    for wrong, problem in (
        (replace(mutant, new="return (A)"), "the code stays the same"),
        (replace(mutant, definition="g"), "0 definitions have the name g"),
        (replace(mutant, pattern="return B"), "f holds 0 times: 'return B'"),
        (replace(mutant, path="b.py"), "there is no b.py"),
        (replace(mutant, new="return ="), "invalid syntax (<unknown>, line 4)"),
    ):
        assert problem_of(wrong, tmp_path) == problem
    beyond = replace(mutant, new="return A\n\nB = 1", definition="")
    assert problem_of(beyond, tmp_path) == ""


def test_every_mutant_has_a_name_of_its_own_and_names_tests_that_exist() -> None:
    """The tests are files or folders, and words after -k."""
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names) >= MUTANTS_MIN
    for mutant in MUTANTS:
        named = [word for word in mutant.caught_by if "/" in word]
        assert named
        assert all((ROOT / word).exists() for word in named), mutant.name
