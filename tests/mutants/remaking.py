"""Planted bugs in what is refused because its objects would not come back as they were."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_REMAKING = ("tests/unit/millrace/test_types_that_change.py",)

MUTANTS = (
    Mutant(
        "whatever __post_init__ assigns is refused",
        "millrace/remaking.py",
        "refuse_what_changes",
        "names and not _comes_to_the_same(class_)",
        "names",
        _REMAKING,
    ),
    Mutant(
        "one sample decides whether __post_init__ comes to the same",
        "millrace/remaking.py",
        "_comes_to_the_same",
        "(0, 1, None)",
        "(0,)",
        _REMAKING,
    ),
    Mutant(
        "a class passes of which no sample could be made",
        "millrace/remaking.py",
        "_comes_to_the_same",
        " and True in tried",
        "",
        _REMAKING,
    ),
    Mutant(
        "a sample that is made again shares its lists",
        "millrace/remaking.py",
        "_is_same_again",
        "copy.deepcopy(values)",
        "values",
        _REMAKING,
    ),
    Mutant(
        "__post_init__ does not run where a moment has a zone",
        "millrace/remaking.py",
        "remade",
        "complete()",
        "pass",
        _REMAKING,
    ),
)
