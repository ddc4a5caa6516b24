"""Text of others is shown in full where it is harmless, and escaped where it is not."""

from __future__ import annotations

import json

import pytest

from contracts.showing import (
    LINE_CHARS_MAX,
    agreeing,
    counted,
    json_text,
    one_line,
    printable,
    readable,
    shown,
)
from services.chassis.process.errors import Rejected
from tests.hostile import HOSTILE, harm

TEXTS = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)


@TEXTS
def test_whatever_is_shown_is_harmless_and_bounded(text: str) -> None:
    assert harm(printable(text)) == ""
    for line in (one_line(text), shown(text)):
        assert harm(line, ends_of_lines=False) == ""
        line.encode()
    assert len(one_line(text)) <= LINE_CHARS_MAX
    assert len(shown(text, 50)) <= 50


@TEXTS
def test_what_is_shown_twice_is_what_is_shown_once(text: str) -> None:
    """A status is compared with what would be written: it must not be written for ever."""
    once = shown(text, 64)
    assert shown(once, 64) == once


@TEXTS
def test_json_says_exactly_what_it_was_given_and_is_harmless(text: str) -> None:
    document = {"name": text, text: [text, 1]}
    for is_indented in (False, True):
        told = json_text(document, is_indented=is_indented)
        assert harm(told, ends_of_lines=is_indented) == ""
        assert json.loads(told) == document
        told.encode()


def test_harmless_text_of_any_script_stays_as_it_is() -> None:
    for text in ("Zähler → 5 €", "名前", "العربية", "emoji 🙂", "[bold] \\x1b"):
        assert printable(text) == one_line(text) == shown(text) == text


def test_escapes_say_what_was_there() -> None:
    assert one_line("\x1b[2J\x9b\u202e\ud800\x00") == "\\x1b[2J\\x9b\\u202e\\ud800\\x00"
    assert one_line("a\r\nb\tc") == "a  b c"
    assert shown(" a\r\n b\tc ") == "a b c"
    assert printable("a\tb\nc") == "a\\tb\nc"


def test_values_that_have_no_text_are_named() -> None:
    """Python raises for both."""
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert shown(deep) == "a list that is too large to be shown"
    assert shown(10**5_000) == "a int that is too large to be shown"
    while deep:  # taken apart one by one: ending it at once would end the process
        (deep,) = deep  # type: ignore[assignment]


NOTE = (
    '<nil>: Invalid value: "null": some validation rules were not checked because the object was '
    "invalid; correct the existing errors to complete validation"
)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (f"is invalid: [spec.a: Required value, {NOTE}]", "is invalid: [spec.a: Required value]"),
        ('spec.fusion: Invalid value: "object": say one', "spec.fusion: say one"),
        ('"j" is invalid: <nil>: Invalid value: "object": say one', '"j" is invalid: say one'),
        ("Scale: <nil>: Required value", "Scale: Required value"),
        (
            "spec.replicas: Invalid value: 7: at most 5",
            "spec.replicas: Invalid value: 7: at most 5",
        ),
        ("got <nil>, want a number", "got no value, want a number"),
    ],
)
def test_a_message_of_the_api_server_has_no_words_of_go(message: str, expected: str) -> None:
    assert readable(message) == expected
    assert Rejected(422, "Invalid", message, {}).message == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "0 tuples are lost; 0 launches wait"),
        (1, "1 tuple is lost; 1 launch waits"),
        (2, "2 tuples are lost; 2 launches wait"),
    ],
)
def test_what_is_counted_and_what_it_does_agree(number: int, expected: str) -> None:
    lost = f"{counted(number, 'tuple')} {agreeing(number, 'are')} lost"
    waits = f"{counted(number, 'launch', 'launches')} {agreeing(number, 'wait')}"
    assert f"{lost}; {waits}" == expected


@pytest.mark.parametrize(
    ("do", "does"),
    [
        ("do not run", "does not run"),
        ("lack connections", "lacks connections"),
        ("qualify", "qualifies"),
        ("stay", "stays"),
        ("have no node", "has no node"),
        ("were lost", "was lost"),
        ("cannot keep checkpoints", "cannot keep checkpoints"),
        ("finish", "finishes"),
    ],
)
def test_a_verb_has_the_form_of_one(do: str, does: str) -> None:
    assert (agreeing(1, do), agreeing(2, do), agreeing(0, do)) == (does, do, do)
