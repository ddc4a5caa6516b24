"""A share of the flood that `python -m tests.fuzz` sends whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.flooding import flood, ways_to_do_harm

STORABLE = frozenset(
    {
        *("deep_spec", "deep_manager", "large", "many_keys"),
        *("borders", "odd_texts", "false_claims", "held"),
    }
)
RECORDS = frozenset({"deep_record", "large_record", "odd_record", "false_unreadable"})
OBJECTS = frozenset({"custom_resource", "pod", "config_map_or_service", "node", "change"})


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_bad_objects_and_records_stop_no_service_and_delay_no_good_job(
    tmp_path: Path, seed: int
) -> None:
    """No loop ends, no stranger is written to, and a resize takes as long as it usually does."""
    others = frozenset(ways_to_do_harm()) - STORABLE - RECORDS
    report = flood(tmp_path, count=1_000, seed=seed, only=others)
    assert not report.problems, f"python -m tests.fuzz --count 1000 --seed {seed}: {report}"
    assert report.counts["records"] == 500
    assert report.counts["requests taken"] > 50


def test_what_the_api_server_takes_crashes_nothing(tmp_path: Path) -> None:
    """Objects alone, as its schemas let them through: every one is read, or refused by name."""
    report = flood(tmp_path, count=600, seed=3, only=OBJECTS)
    assert not report.problems, f"python -m tests.fuzz --count 600 --seed 3 --only …: {report}"
    assert report.counts["Jobs Failed"] > 5


def test_what_is_deep_large_or_false_says_so_and_crashes_nothing(tmp_path: Path) -> None:
    """Objects as a real server stores them, under definitions that keep unknown fields."""
    report = flood(tmp_path, count=250, seed=4, only=STORABLE)
    assert not report.problems, f"python -m tests.fuzz --count 250 --seed 4 --only …: {report}"
    assert report.counts["requests taken"] > 200


def test_records_of_that_kind_stop_nobody(tmp_path: Path) -> None:
    report = flood(tmp_path, count=250, seed=5, only=RECORDS)
    assert not report.problems, f"python -m tests.fuzz --count 250 --seed 5 --only …: {report}"
    assert report.counts["records"] == 250
