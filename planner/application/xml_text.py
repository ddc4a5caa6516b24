"""Writing XML text: escaping for attributes and content, on a single line.

Line breaks become character references: they survive attribute normalisation, and the text stays
one line.
"""

from __future__ import annotations

import re

_SPECIAL = re.compile('[&<>"\t\n\r]')
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REFERENCES = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "\t": "&#9;",
    "\n": "&#10;",
    "\r": "&#13;",
}


def escape(text: str) -> str:
    """The text as it may stand in an attribute or in content."""
    return _SPECIAL.sub(lambda found: _REFERENCES[found.group()], text)


def is_xml_text(text: str) -> bool:
    """Whether XML 1.0 can hold the text at all."""
    return _FORBIDDEN.search(text) is None
