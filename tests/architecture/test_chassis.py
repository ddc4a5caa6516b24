"""The chassis carries any service: Kubernetes, logs and keys, and no word of the domain."""

from __future__ import annotations

import re

from tests.places import ROOT

DOMAIN = re.compile(
    r"\b(jobs?|PEs?|processing elements?|host ?pools?|parallel ?regions?|placements?)\b", re.I
)


def test_no_word_of_the_domain_stands_in_the_chassis() -> None:
    """Import rules see modules; a name gives away that a service's rule slipped in."""
    found = [
        f"{path.name}:{number}: {line.strip()}"
        for path in sorted((ROOT / "services" / "chassis").rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if DOMAIN.search(line)
    ]
    assert found == []
