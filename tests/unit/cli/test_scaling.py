"""`millrace scale` requests a width, and names the state that the resize loses."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.connecting import REGIONS, Cluster
from cli.jobs import scale
from cli.showing import Screen
from tests.builders import a_job, a_parallel_region
from tests.sandboxed import Sandboxed
from tests.virtual_time import virtually

KEPT = "2 operators in 2 PEs"


@pytest.mark.parametrize(
    ("message", "lines"),
    [
        (KEPT, []),
        (f"{KEPT}; StateNotKept: that of b is lost", ["StateNotKept: that of b is lost"]),
    ],
    ids=["none", "that of b"],
)
@virtually
async def test_state_that_a_resize_loses_is_a_line_of_scale(
    message: str, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    sandboxed = Sandboxed()
    fused = {"type": "Fused", "status": "True", "reason": "Fused", "message": message}
    fused["lastTransitionTime"] = "2027-01-15T08:00:00Z"
    status = {"phase": "Submitted", "generation": 1, "conditions": [fused]}
    sandboxed.create(a_job("shop").with_status(**status))
    sandboxed.create(a_parallel_region("shop", width=3).orphaned())
    cluster = Cluster(sandboxed.client(), Path("kubeconfig"), None)
    words, screen = "Region0=5", Screen(quiet=True)
    outcome = await scale(cluster, "default", "shop", words, screen, wait=False, timeout_s=1.0)
    assert outcome == "job shop: Region0=5 is requested"
    assert capsys.readouterr().err.splitlines() == lines
    (region,) = [page async for page in sandboxed.client().list_pages(REGIONS, "default")]
    assert [each["spec"]["width"] for each in region.items] == [5]
