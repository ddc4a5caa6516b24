"""A share of `python -m tests.fuzz --real`: hostile objects and records beside a good job."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.settings import SERVICES
from tests.fuzz.pair_flood import flood_pair
from tests.fuzz.pair_report import FloodRequest
from tests.patience import patient

COVERS = (
    "contracts/unreadable.py",
    "contracts/projections.py",
    "tests/fuzz/*",
    "services/watch_ingest/core/publishing.py",
)

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(patient(280)),
    pytest.mark.filterwarnings("ignore:Sending a large body"),  # that is what it is for
]
SHARE = FloodRequest(objects=100, records=200, seed=1, rounds=1, faults=("kill",), slower_max=0)
"""No seconds are compared: the machine of a test has other work."""


async def test_hostile_objects_and_records_stop_nobody_and_are_forgotten(tmp_path: Path) -> None:
    """Also after kill -9 of each service while they exist."""
    report = await flood_pair(tmp_path, SHARE, print)
    assert not report.problems, report
    assert report.counts["objects taken"] >= SHARE.objects
    assert report.counts["records"] == SHARE.records
    assert len(report.rounds["kill"]) == len(SERVICES)
