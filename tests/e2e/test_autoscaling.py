"""A HorizontalPodAutoscaler sets the width of a region: only the real pair has its controller.

Where the width in force is out of the bounds that it is given, it needs no metrics.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from contracts.resources import API_VERSION
from loadtest.api import MERGE
from tests.e2e.applications import FIRST, SECOND, THIRD, submit_row
from tests.e2e.resizing import Resized, moment_of, resized, until_widths
from tests.e2e.watching import TEST_S_MAX, Cluster, Obj

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(TEST_S_MAX),
    pytest.mark.parametrize(
        "system", [pytest.param("real", marks=pytest.mark.real)], indirect=True
    ),
]
AUTOSCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"


@asynccontextmanager
async def autoscaler(cluster: Cluster, region: str, bounds: Obj) -> AsyncIterator[str]:
    """An autoscaler of a ParallelRegion, which is deleted at the end; its path."""
    target = {"apiVersion": API_VERSION, "kind": "ParallelRegion", "name": region}
    body = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": region},
        "spec": {"scaleTargetRef": target, **bounds},
    }
    await cluster.api.call("POST", AUTOSCALERS, body)
    try:
        yield f"{AUTOSCALERS}/{region}"
    finally:
        await cluster.api.call("DELETE", f"{AUTOSCALERS}/{region}")


async def test_an_autoscaler_widens_and_narrows_a_region_within_its_bounds(
    cluster: Cluster,
) -> None:
    """From 2 up to the least of 4, then down to the most of 3; the rest is not written to."""
    async with cluster.job("autoscaled") as job:
        await submit_row(
            cluster, job, {"legacy": True}, parallelRegions=[{"alias": THIRD, "width": 2}]
        )
        await until_widths(job, 6, {FIRST: 1, SECOND: 1, THIRD: 2})
        region = next(n for n, r in job.of("regions").items() if r["spec"]["alias"] == THIRD)
        before = moment_of(job)
        bounds = {"minReplicas": 4, "maxReplicas": 9}
        async with autoscaler(cluster, region, bounds) as path:
            await until_widths(job, 8, {FIRST: 1, SECOND: 1, THIRD: 4})
            assert resized(job, before) == Resized({1, 3, 4, 5}, {0, 2}, {6, 7}, set())
            before = moment_of(job)
            bounds = {"minReplicas": 1, "maxReplicas": 3}
            await cluster.api.call("PATCH", path, {"spec": bounds}, MERGE)
            await until_widths(job, 7, {FIRST: 1, SECOND: 1, THIRD: 3})
            assert resized(job, before) == Resized({1, 3, 4, 5, 6}, {0, 2}, set(), {7})
