"""A resize restarts what it must, and writes nothing to the rest: ids, pod names, launches."""

from __future__ import annotations

import pytest

from loadtest.api import MERGE
from tests.e2e.applications import (
    ENDS,
    FIRST,
    INNER,
    OUTER,
    SECOND,
    THIRD,
    submit_nested,
    submit_row,
    widths,
)
from tests.e2e.resizing import Resized, moment_of, resized, until_widths
from tests.e2e.watching import PATHS, TEST_S_MAX, Cluster

COVERS = (
    "planner/resizing.py",
    "planner/fates.py",
    "planner/drafting.py",
    "planner/numbering/*",
    "services/fusion_backend/core/region_rules.py",
    "services/fusion_backend/core/hand_over_changes.py",
    "services/fusion_backend/core/handing_over.py",
    "contracts/id_runs.py",
)

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(TEST_S_MAX),
]
LEGACY = {"legacy": True}
START = {FIRST: 2, SECOND: 5, THIRD: 4}


@pytest.mark.scenario(18)
@pytest.mark.parametrize(
    ("region", "width", "expected"),
    [
        pytest.param(
            FIRST,
            10,
            Resized({0, 2, 3, 5, 6, 7, 8, 9}, {1, 4, 10, 11, 12}, {*range(13, 21)}, set()),
            id="wider",
        ),
        pytest.param(
            THIRD, 2, Resized({1, 3, 4, 6, 7, 8, 9, 10}, {0, 2, 5}, set(), {11, 12}), id="narrower"
        ),
    ],
)
async def test_a_resize_of_one_region_of_a_row_changes_these_pes(
    cluster: Cluster, region: str, width: int, expected: Resized
) -> None:
    """Widths 2/5/4, one PE an operator: channels of the region, and who is connected to them."""
    async with cluster.job(f"row-{width}") as job:
        await submit_row(cluster, job, LEGACY, submissionTimeValues=widths(2, 5, 4))
        await until_widths(job, 13, START)
        before = moment_of(job)
        await cluster.resize(job, region, width)
        now = START | {region: width}
        await until_widths(job, sum(now.values()) + ENDS, now)
        assert resized(job, before) == expected
        assert job.status["generation"] == 1


@pytest.mark.scenario(18)
async def test_a_region_that_grows_twice_numbers_its_channels_on(cluster: Cluster) -> None:
    """1 → 5 → 10: generations 1 and 2; the outer regions' channels restart, the ends never."""
    async with cluster.job("chain") as job:
        await submit_row(cluster, job, LEGACY)
        await until_widths(job, 5, {FIRST: 1, SECOND: 1, THIRD: 1})
        for generation, (width, added) in enumerate(
            [(5, {*range(5, 9)}), (10, {*range(9, 14)})], 1
        ):
            before = moment_of(job)
            await cluster.resize(job, SECOND, width)
            await until_widths(job, width + 4, {FIRST: 1, SECOND: width, THIRD: 1})
            there = {*range(2, 5)} | {*range(5, min(added))}
            assert resized(job, before) == Resized(there, {0, 1}, added, set())
            assert job.status["generation"] == generation


@pytest.mark.scenario(18)
async def test_a_job_of_one_pe_is_resized_inside_of_it(cluster: Cluster) -> None:
    """The PE keeps its id and its name in the DNS; it is launched again with another content."""
    async with cluster.job("alone") as job:
        await submit_row(cluster, job, {"manual": 1})
        await until_widths(job, 1, {FIRST: 1, SECOND: 1, THIRD: 1})
        before, content = moment_of(job), job.of("pes")["alone-0"]["spec"]["contentId"]
        await cluster.resize(job, SECOND, 7)
        await until_widths(job, 1, {FIRST: 1, SECOND: 7, THIRD: 1})
        assert resized(job, before) == Resized({0}, set(), set(), set())
        pe = job.of("pes")["alone-0"]
        assert pe["spec"]["contentId"] != content
        assert len(pe["spec"]["operators"]) == 1 + 7 + 1 + ENDS
        assert job.status["generation"] == 1


async def test_a_region_inside_of_a_region_is_resized_and_the_one_around_it(
    cluster: Cluster,
) -> None:
    """Each channel of the outer region has its inner channels.

    PEs: 0 before, 1 a (which feeds the outer region), 2 z (which all inner channels feed), 3 after.
    """
    async with cluster.job("nested") as job:
        await submit_nested(cluster, job)
        await until_widths(job, 4 + 2 + 4, {OUTER: 2, INNER: 2})
        before = moment_of(job)
        await cluster.resize(job, INNER, 3)
        await until_widths(job, 4 + 2 + 6, {OUTER: 2, INNER: 3})
        inner = resized(job, before)
        assert (len(inner.added), inner.removed) == (2, set())
        assert inner.untouched == {0, 1, 3}
        before = moment_of(job)
        await cluster.resize(job, OUTER, 3)
        await until_widths(job, 4 + 3 + 9, {OUTER: 3, INNER: 3})
        outer = resized(job, before)
        assert (len(outer.added), outer.removed) == (4, set())
        assert outer.untouched == {0, 3}
        assert min(outer.added) > max(inner.added)
        before = moment_of(job)
        await cluster.resize(job, INNER, 1)
        await until_widths(job, 4 + 3 + 3, {OUTER: 3, INNER: 1})
        narrowed = resized(job, before)
        assert (narrowed.added, len(narrowed.removed)) == (set(), 6)
        assert narrowed.untouched == {0, 1, 3}


async def test_a_width_that_is_set_through_scale_is_a_resize_like_any_other(
    cluster: Cluster,
) -> None:
    """`/scale` of the region says the width in force, and whose pods these are."""
    async with cluster.job("scaled") as job:
        await submit_row(cluster, job, LEGACY)
        await until_widths(job, 5, {FIRST: 1, SECOND: 1, THIRD: 1})
        before = moment_of(job)
        name = next(n for n, r in job.of("regions").items() if r["spec"]["alias"] == THIRD)
        path = f"{PATHS['regions']}/{name}/scale"
        await cluster.api.call("PATCH", path, {"spec": {"replicas": 3}}, MERGE)
        await until_widths(job, 7, {FIRST: 1, SECOND: 1, THIRD: 3})
        assert resized(job, before) == Resized({1, 3, 4}, {0, 2}, {5, 6}, set())
        scale = await cluster.api.call("GET", path)
        assert scale["status"]["replicas"] == 3
        selected = await cluster.api.call(
            "GET", f"{PATHS['pods']}?labelSelector={scale['status']['selector']}"
        )
        assert len(selected["items"]) == 3
