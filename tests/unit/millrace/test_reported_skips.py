"""How often the runtime reports what functions skipped: each report is a write of a status."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from millrace.protocol import Report, Skipped
from millrace.runtime.noticing import SKIPS_S, Skips
from millrace.runtime.targets import Counts


def nodes(*skipped: int) -> Any:
    """Nodes that skipped so many tuples each."""
    return [SimpleNamespace(counts=Counts(skipped=each)) for each in skipped]


def test_the_first_skipped_tuple_is_reported_at_once_and_more_once_a_minute() -> None:
    reports: list[Report] = []
    skips = Skips(reports.append)
    skips.look(nodes(0, 0), 5.0)
    assert reports == []
    skips.look(nodes(1, 2), 10.0)
    for second in range(1, int(SKIPS_S)):
        skips.look(nodes(1, 2 + second), 10.0 + second)
    assert reports == [Skipped(3)]
    skips.look(nodes(1, 90), 10.0 + SKIPS_S)
    assert reports == [Skipped(3), Skipped(91)]


def test_what_did_not_grow_is_not_reported_again() -> None:
    reports: list[Report] = []
    skips = Skips(reports.append)
    for second in range(500):
        skips.look(nodes(4), float(second))
    assert reports == [Skipped(4)]
