"""Writes what a benchmark printed into docs/measurements.md, in the place of its last figures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

PAGE: Final = Path("docs/measurements.md")


def recorded(page: str, command: str, report: str, *, about: str) -> str:
    """The page with the newest figures of a command, such as `make bench`.

    `about` says when and on what they were measured. A command without figures gets its section at
    the end of the page.
    """
    begin, end = f"<!-- {command}: begin -->", f"<!-- {command}: end -->"
    text = f"{begin}\n`{command}`, {about}:\n\n```\n{report.rstrip()}\n```\n{end}"
    found = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if found.search(page):
        return found.sub(lambda _: text, page)
    return f"{page.rstrip()}\n\n{text}\n"
