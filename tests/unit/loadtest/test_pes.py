"""The processes that `make bench-runtime` and `make soak-runtime` measure."""

from __future__ import annotations

from pathlib import Path

from loadtest.pes import Flow
from tests.patience import patient

TUPLES = 100


async def test_processes_of_pes_report_that_they_are_connected_and_tuples_come(
    tmp_path: Path,
) -> None:
    async with Flow("paused", tmp_path, values={"count": TUPLES, "rate": 0}) as flow:
        await flow.until_connected(patient(60.0))
        assert len(flow.pes) == 3
        flow.go()
        result = await flow.result(within_s=patient(60.0))
    assert result["count"] == TUPLES
    assert int(result["checked"]) == 0, "tuples out of order"
