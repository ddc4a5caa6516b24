"""Texts of several profiles in one, and each of them out of it again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cli.installing.profiles import text_for
from tools.rendering import merged

TEXT = st.lists(st.sampled_from(["a", "b", "  c", ""]), min_size=1, max_size=8).map(
    lambda lines: "\n".join(lines) + "\n"
)


@given(st.dictionaries(st.sampled_from(["one", "two", "three"]), TEXT, min_size=1))
def test_each_profile_gets_its_own_text_again(texts: dict[str, str]) -> None:
    whole = merged(texts)
    assert {name: text_for(name, whole) for name in texts} == texts


def test_a_line_that_all_profiles_have_is_there_once() -> None:
    assert merged({"a": "1\n2\n3\n", "b": "1\n3\n4\n"}) == (
        "# of a b\n1\n# of a\n2\n# of a b\n3\n# of b\n4\n"
    )
