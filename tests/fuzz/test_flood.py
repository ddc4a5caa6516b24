"""A share of the flood that `python -m tests.fuzz` sends whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.flooding import flood

OBJECTS = frozenset({"custom_resource", "pod", "config_map_or_service", "node", "change"})


@pytest.mark.parametrize("seed", [1, 2])
def test_bad_objects_and_records_stop_no_service_and_delay_no_good_job(
    tmp_path: Path, seed: int
) -> None:
    """No loop ends, no stranger is written to, and a resize takes as long as it usually does."""
    report = flood(tmp_path, count=1_000, seed=seed)
    assert not report.problems, f"python -m tests.fuzz --count 1000 --seed {seed}: {report}"
    assert report.counts["records"] == 500
    assert report.counts["requests taken"] > 50


def test_what_the_api_server_takes_crashes_nothing(tmp_path: Path) -> None:
    """Objects alone, as its schemas let them through: every one is read, or refused by name."""
    report = flood(tmp_path, count=600, seed=3, only=OBJECTS)
    assert not report.problems, f"python -m tests.fuzz --count 600 --seed 3 --only …: {report}"
    assert report.counts["Jobs Failed"] > 5
