"""Makes the text of others safe to show: on a terminal, in a message, status, Event or log line.

The author of an object chooses its names, values and messages, and most of them are shown to
others. Only this module makes such text harmless: it handles escape sequences,
bidirectional and invisible characters, line breaks, and text that floods a screen. It does not
handle markup: `cli/showing.py` prints none.

    printable   the text with unprintable characters escaped; ends of lines stay
    one_line    printable, one line, bounded
    shown       one_line, and neighbouring spaces are one: a value or message inside a sentence
    readable    a message of the API server without words of Go
    counted     a number with what it counts; `agreeing` is the verb of so many
    json_text   JSON: exact, and nothing but printable characters and the ends of lines in it
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import orjson

SHOWN_VALUE_CHARS_MAX: Final = 200
"""Of one value inside a message."""
LINE_CHARS_MAX: Final = 4_096
"""Of one line or one cell of a table: longer than any sentence of ours."""
_ENDS_OF_LINES: Final = dict.fromkeys(map(ord, "\t\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"), " ")
# Python calls these printable; a terminal shows nothing, or a gap, in their place.
_INVISIBLE: Final = re.compile("[\u034f\u115f\u1160\u3164\uffa0]")
_MANTISSA: Final = 0x10000
_NOT_CHECKED: Final = re.compile(
    r'(?:, )?<nil>: Invalid value: "?null"?: some validation rules were not checked because the '
    r"object was invalid; correct the existing errors to complete validation"
)
_NO_VALUE: Final = re.compile(r'Invalid value: "?(?:object|array|null|<nil>)"?: ')
"""A rule about more than one field: in place of a value the API server prints its type."""


def printable(text: str) -> str:
    """The text; escapes replace characters that control a terminal or that a reader cannot see.

    Python's own escapes: `\\x1b`, `\\u202e`. Ends of lines, and only those, stay as they are.
    """
    return "\n".join(map(_escaped, text.split("\n")))


def one_line(value: object, chars_max: int = LINE_CHARS_MAX) -> str:
    """The value as one line of at most `chars_max` characters; tabs and line ends are spaces."""
    text = _text(value)
    # What comes behind is never shown, and may be a megabyte.
    return _cut(_escaped(text[: chars_max + 1].translate(_ENDS_OF_LINES)), chars_max)


def shown(value: object, chars_max: int = SHOWN_VALUE_CHARS_MAX) -> str:
    """The value as it may appear in a message: one line, printable, at most `chars_max` characters.

    What was shown once is not changed when it is shown again.
    """
    return _cut(_escaped(" ".join(_text(value).split())), chars_max)


def readable(message: str) -> str:
    """A message of the API server without the parts that only mean something in Go.

    The field comes first in such a message, and stays. `<nil>` is the path of the object itself.
    """
    message = _NO_VALUE.sub("", _NOT_CHECKED.sub("", message))
    return message.replace("<nil>: ", "").replace("<nil>", "no value")


def counted(number: int, what: str, whats: str = "") -> str:
    """A number with what it counts, in the singular where it is one; `whats`: not `what` and s."""
    return f"{number} {what}" if number == 1 else f"{number} {whats or f'{what}s'}"


def agreeing(number: int, do: str) -> str:
    """What so many of them do: the verb, which comes first, has the form of one where it is one."""
    verb, space, rest = do.partition(" ")
    if number == 1:
        verb = _OF_ONE.get(verb) or _as_one_does(verb)
    return f"{verb}{space}{rest}"


def _as_one_does(verb: str) -> str:
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(_HISSING) else f"{verb}s"


_OF_ONE: Final = {"are": "is", "were": "was", "have": "has", "cannot": "cannot"}
_HISSING: Final = ("o", "s", "x", "ch", "sh")


def json_text(document: Any, *, is_indented: bool = False) -> str:
    """A document as JSON that reads back as it was, also where texts are no Unicode.

    Raises TypeError for what JSON cannot say, as orjson does. Keys that are no texts become texts.
    """
    options = orjson.OPT_NON_STR_KEYS | (orjson.OPT_INDENT_2 if is_indented else 0)
    try:
        text = orjson.dumps(document, option=options).decode()
    except TypeError:  # lone surrogates; json raises TypeError for the rest, too
        text = json.dumps(document, ensure_ascii=False, indent=2 if is_indented else None)
    lines = text.split("\n")  # inside of texts they are escaped already
    if all(map(_is_plain, lines)):
        return text
    return "\n".join("".join(map(_json_escaped, line)) for line in lines)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return str(value)
    except (RecursionError, ValueError):  # nested too deep; a number of too many digits
        return f"a {type(value).__name__} that is too large to be shown"


def _cut(text: str, chars_max: int) -> str:
    return text if len(text) <= chars_max else f"{text[: chars_max - 1]}…"


def _is_plain(text: str) -> bool:
    return text.isprintable() and _INVISIBLE.search(text) is None


def _escaped(text: str) -> str:
    if _is_plain(text):
        return text
    return "".join(
        each if _is_plain(each) else each.encode("unicode_escape").decode("ascii") for each in text
    )


def _json_escaped(each: str) -> str:
    if _is_plain(each):
        return each
    code = ord(each)
    if code < _MANTISSA:
        return f"\\u{code:04x}"
    code -= _MANTISSA
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
