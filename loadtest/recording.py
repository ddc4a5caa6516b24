"""Writes what a benchmark printed into a page of docs, in the place of its last figures."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

PAGE: Final = Path("docs/measurements.md")


def record(page: Path, command: str, report: str) -> None:
    """Write the newest figures of a command into a page, with date, cores and load."""
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    about = f"{today}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    text = recorded(page.read_text(encoding="utf-8"), command, report, about=about)
    page.write_text(text, encoding="utf-8")


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
