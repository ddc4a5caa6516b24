"""Every reason has a sentence, and is given by somebody."""

from __future__ import annotations

import ast
import re

from contracts.reasons import Reason
from tests.architecture.source import attributes_of, modules


def test_every_reason_is_given_somewhere() -> None:
    """A reason that nobody gives is one that users look for in vain."""
    given: set[str] = set()
    for _, tree in modules("services", "planner", "placement", with_words=("Reason",)):
        given |= attributes_of(tree, {"Reason"} | _aliases(tree))
    assert {reason.name for reason in Reason} - given == set()


def _aliases(tree: ast.Module) -> set[str]:
    return {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name)
        for target in node.targets
        if node.value.id == "Reason" and isinstance(target, ast.Name)
    }


def test_every_reason_is_one_camel_case_word_with_a_sentence_of_its_own() -> None:
    """Conditions and Events demand the word; two reasons with one sentence are one reason."""
    for reason in Reason:
        assert re.fullmatch(r"([A-Z][a-z]+)+", reason.value), reason
        assert reason.sentence.endswith("."), reason
    assert len({reason.sentence for reason in Reason}) == len(Reason)
