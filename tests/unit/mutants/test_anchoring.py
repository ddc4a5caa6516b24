"""A planted bug stays in its place when the code around it changes or is formatted otherwise."""

from __future__ import annotations

import pytest

from tests.mutants.anchoring import NotThere, replaced

MODULE = '''
LIMIT = 7


def first(a: int) -> int:
    """The same line stands in both functions."""
    if a > LIMIT:  # too many
        return call(
            a,
            other=1,
        )
    return a


class Some:
    @property
    def second(self) -> int:
        if a > LIMIT:
            return 2
        return a
'''


def test_only_the_definition_that_is_named_is_changed() -> None:
    changed = replaced(MODULE, "Some.second", "if a > LIMIT:", "if True:")
    assert "    if a > LIMIT:  # too many" in changed
    assert "        if True:\n            return 2" in changed


def test_layout_comments_and_trailing_commas_do_not_count() -> None:
    changed = replaced(MODULE, "first", "if a > LIMIT:\n    return call(a, other=1)", "pass")
    assert "    pass\n    return a" in changed


def test_what_is_planted_is_indented_as_the_place_is() -> None:
    changed = replaced(MODULE, "Some.second", "return 2", "try:\n    return 2\nfinally:\n    pass")
    assert "            try:\n                return 2\n            finally:\n" in changed


def test_a_constant_is_a_definition_and_so_is_the_whole_file() -> None:
    assert "LIMIT = 8\n" in replaced(MODULE, "LIMIT", "7", "8")
    assert "LIMIT = 8\n" in replaced(MODULE, "", "LIMIT = 7", "LIMIT = 8")


@pytest.mark.parametrize(
    ("definition", "pattern", "message"),
    [
        ("", "a > LIMIT", "the file holds 2 times"),
        ("first", "a < LIMIT", "first holds 0 times"),
        ("Some.third", "a", "0 definitions have the name Some.third"),
    ],
)
def test_a_place_that_is_not_there_exactly_once_is_named(
    definition: str, pattern: str, message: str
) -> None:
    with pytest.raises(NotThere, match=message):
        replaced(MODULE, definition, pattern, "b")
