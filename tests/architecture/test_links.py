"""Links of the documentation lead to files that exist."""

from __future__ import annotations

import re
import subprocess

from tests.places import ROOT

_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
PAGES_MIN = 30
LINKS_MIN = 50


def test_every_relative_link_of_a_page_leads_to_a_file() -> None:
    """A page that was moved leaves no link behind."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    pages = [ROOT / name for name in listed.stdout.split()]
    links = [
        (page, link)
        for page in pages
        if page.exists()
        for link in _LINK.findall(page.read_text())
        if "://" not in link
    ]
    broken = [
        f"{page.relative_to(ROOT)}: {link}"
        for page, link in links
        if not (page.parent / link).exists()
    ]
    assert broken == []
    assert len(pages) >= PAGES_MIN
    assert len(links) >= LINKS_MIN
