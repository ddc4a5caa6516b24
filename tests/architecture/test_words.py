"""The words of the field, not a language of our own: what nobody would grep for only gets rarer."""

from __future__ import annotations

import re
from collections import Counter

from tests.architecture.source import texts

UNWANTED = (
    "said",
    "told",
    "asked",
    "wish",
    "wishes",
    "wished",
    "standing",
    "picture",
    "whoever",
    "anew",
    "mend",
    "mends",
    "mended",
    "is none",
    "are none",
    "of which",
)
"""docs/GLOSSARY.md has the words to use instead."""

UNWANTED_MAX = 1_494
"""How often they may occur, all together. This number only ever falls."""

_WORD = re.compile(rf"\b(?:{'|'.join(UNWANTED)})\b")
_PARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")
"""Where a name is made of several words."""


def occurrences(text: str) -> Counter[str]:
    """The unwanted words of a text, those in names, too; `is None` is Python's."""
    words = " ".join(_PARTS.sub(" ", text.replace("None", "")).split())
    return Counter(_WORD.findall(words.lower()))


def test_unwanted_words_only_get_rarer() -> None:
    found: Counter[str] = Counter()
    for path, text in texts():
        if path.name not in ("test_words.py", "GLOSSARY.md"):
            found += occurrences(text)
    assert found.total() <= UNWANTED_MAX, found


def test_words_are_found_in_names_and_over_line_ends() -> None:
    text = "class WidthsAsked: is_told = None  # there is\nnone; said\nif x is None: pass"
    assert occurrences(text) == Counter({"asked": 1, "told": 1, "is none": 1, "said": 1})
