"""A launch of a PE takes less of a processor when it loads less: each resize waits for launches."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import millrace
from tests.places import ROOT

LATER = {
    "aiohttp": "adapters of HTTP",
    "importlib.metadata": "nothing",
    "packaging": "a bundle with wheels",
    "prometheus_client": "the first scrape",
    "redis": "states in redis",
    "urllib.request": "nothing",
}
"""What is loaded where it is used, and what uses it; together 0.25 s."""


def test_a_pe_loads_what_is_seldom_used_when_it_is_used() -> None:
    code = "import sys, millrace.runtime.__main__; print(*sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT
    )
    assert set(found.stdout.split()) & LATER.keys() == set()


def test_the_version_that_a_pe_reports_is_that_of_its_distribution() -> None:
    project = tomllib.loads((ROOT / "millrace" / "pyproject.toml").read_text())["project"]
    assert millrace.__version__ == project["version"]
