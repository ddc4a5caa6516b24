"""Text that somebody writes who wishes readers ill, and what may become of it on a terminal."""

from __future__ import annotations

import re

HOSTILE = {
    "closing tag": "[/x]",
    "link in markup": "[link=http://evil.example]x[/link]",
    "style": "[bold red]x[/]",
    "open tag": "[",
    "emoji code": ":skull:",
    "link of a terminal": "\x1b]8;;http://evil.example\x1b\\x\x1b]8;;\x1b\\",
    "clearing": "\x1b[2J\x1b[1;1H",
    "title": "\x1b]0;title\x07",
    "8-bit colour": "\x9b31mx",
    "return": "good\rbad",
    "end of line": "good\nmillrace: bad",
    "tab": "a\tb",
    "separators": "a\x1cb\x85c\u2028d\u2029e",
    "nul": "a\x00b",
    "backspaces": "good\b\b\b\bbad\x7f",
    "override": "\u202edab\u202c",
    "isolates": "\u2066a\u2069",
    "zero width": "a\u200bb\ufeffc\u00add",
    "tags": "a\U000e0041b",
    "filler": "\u3164\u115f",
    "surrogate": "a\ud800b",
    "long": "x" * 10_000,
    "long with escapes": "\x1b" * 10_000,
    "wide": "漢字" * 300,
    "quotes": "\"'`\\",
    "end of quote": 'a" tooltip="b\\',
    "entities": "&#27;&lt;b&gt;<b>",
}

_STYLES = re.compile(r"\x1b\[[0-9;]*m")
"""What rich writes where it colours; text of others never gets as far."""


def harm(printed: str, *, ends_of_lines: bool = True) -> str:
    """What in a printed text a terminal obeys or hides, but for styles and ends of lines."""
    text = _STYLES.sub("", printed)
    allowed = "\n" if ends_of_lines else ""
    return "".join(
        each
        for each in text
        if each not in allowed and (not each.isprintable() or each in "\u3164\u115f")
    )


def visible(text: str) -> str:
    """The part of a text that needs no escape, as it must be found where it is shown."""
    return text if harm(text, ends_of_lines=False) == "" and len(text) < 100 else ""


def texts(value: object) -> list[str]:
    """Every text of a value."""
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts(each)]
    if isinstance(value, list):
        return [text for each in value for text in texts(each)]
    return [value] if isinstance(value, str) else []
