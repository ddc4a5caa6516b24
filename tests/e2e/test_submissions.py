"""A submission becomes the PEs, pods and widths that were requested."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping

import pytest

from contracts import labels
from tests.e2e.applications import (
    ENDS,
    FIRST,
    REGIONS,
    SECOND,
    submit_row,
    widths,
    widths_in_force,
)
from tests.e2e.examples import OUTSIDE, submit_example, until_width, with_example
from tests.e2e.resizing import until_widths
from tests.e2e.watching import TEST_S_MAX, Cluster, JobObjects, Obj

COVERS = (
    "planner/requesting.py",
    "planner/planning.py",
    "planner/fusion/*",
    "planner/description/threads.py",
    "services/fusion_backend/core/starting.py",
    "services/fusion_backend/core/loading.py",
    "services/fusion_backend/core/packs.py",
    "cli/submitting.py",
    "cli/stores.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
JOBS_AT_ONCE = 16


def of_regions(*three: int) -> Mapping[str, int]:
    return dict(zip(REGIONS, three, strict=True))


@pytest.mark.scenario(1)
async def test_manual_one_gives_one_of_everything(cluster: Cluster) -> None:
    """Generation 0, one PE, one pod, one launch, its ConfigMap and that of the job, its Service."""
    async with cluster.job("single") as job:
        await submit_row(cluster, job, {"manual": 1})
        await until_widths(job, 1, of_regions(1, 1, 1))
        assert job.phase == "Submitted"
        assert job.status["generation"] == 0
        (pe,) = job.of("pes").values()
        assert pe["metadata"]["name"] == "single-0"
        assert pe["status"]["launchCount"] == 1
        (pod,) = job.of("pods").values()
        assert pod["metadata"]["labels"][labels.LAUNCH_COUNT] == "1"
        assert pod["metadata"]["name"].startswith("single-0-")
        pack = pe["spec"]["pack"]["name"]
        assert set(job.of("config_maps")) == {"single", pack, "single.plan.0"}
        assert set(job.of("services")) == {"single-pes"}


async def test_the_threading_model_that_a_job_asks_for_is_in_the_texts_of_its_pes(
    cluster: Cluster,
) -> None:
    """The example's annotations name none, so every operator has that of the Job."""
    async with cluster.job("threads") as job:
        await with_example(cluster, job, 2, threadingModel={"dedicated": True})
        maps = job.of("config_maps")
        packs = [pe["spec"]["pack"] for pe in job.of("pes").values()]
        texts = [maps[each["name"]]["data"][each["key"]] for each in packs]
        assert texts
        assert all('value="dedicated"' in text for text in texts)


@pytest.mark.scenario(2)
@pytest.mark.parametrize(
    ("fusion", "three", "pes"),
    [
        pytest.param({"manual": 3}, (1, 1, 1), 3, id="manual-3"),
        pytest.param({"manual": 20}, (5, 6, 7), 20, id="manual-20"),
        pytest.param({"legacy": True}, (3, 2, 4), 3 + 2 + 4 + ENDS, id="legacy"),
    ],
)
async def test_fusion_gives_that_many_pes(
    cluster: Cluster, fusion: Obj, three: tuple[int, int, int], pes: int
) -> None:
    """Manual N has N; legacy one for each channel and two for source and sink."""
    async with cluster.job(f"fused-{pes}") as job:
        await submit_row(cluster, job, fusion, submissionTimeValues=widths(*three))
        await until_widths(job, pes, of_regions(*three))
        assert set(job.of("pes")) == {f"{job.job}-{number}" for number in range(pes)}
        operators = [each for pe in job.of("pes").values() for each in pe["spec"]["operators"]]
        assert len(operators) == len(set(operators)) == sum(three) + ENDS
        assert set(job.of("services")) == {f"{job.job}-pes"}
        assert len(job.of("pods")) == pes


@pytest.mark.scenario(3)
async def test_sixteen_jobs_at_once_are_all_submitted_and_no_two_have_one_id(
    cluster: Cluster,
) -> None:
    """All POSTs are in flight together."""

    async def submitted(number: int) -> None:
        async with cluster.job(f"crowd-{number}") as job:
            await submit_example(cluster, job, 1)
            await until_width(job, 1)
            assert {len(each) for each in job.pods_of_pes().values()} == {1}
            assert len(job.of("pods")) == 1 + OUTSIDE
            ids.append(job.status["id"])
            await all_run.wait()

    ids: list[int] = []
    all_run = asyncio.Barrier(JOBS_AT_ONCE)
    async with asyncio.TaskGroup() as submissions:
        for number in range(JOBS_AT_ONCE):
            submissions.create_task(submitted(number))
    assert len(set(ids)) == JOBS_AT_ONCE


@pytest.mark.scenario(4)
@pytest.mark.parametrize(
    ("name", "values", "overrides", "three"),
    [
        pytest.param("value", widths(2, 4, 6), {}, (2, 4, 6), id="value"),
        pytest.param("default", {}, {}, (1, 1, 1), id="default"),
        pytest.param("override", {}, dict.fromkeys(REGIONS, 3), (3, 3, 3), id="override"),
        pytest.param(
            "wildcard", {}, {f"*Region{n}": 2 for n in (1, 2, 3)}, (2, 2, 2), id="wildcard"
        ),
        pytest.param("star", widths(4, 4, 4), {"*": 2}, (2, 2, 2), id="one-wildcard-for-all"),
        pytest.param("mixed", {"width1": "3"}, {"*Region2": 7}, (3, 7, 1), id="mixed"),
        pytest.param(
            "precedence",
            widths(9, 9, 2),
            {SECOND: 4, "*Region2": 6, FIRST: 5},
            (5, 4, 2),
            id="override-over-value-and-name-over-wildcard",
        ),
    ],
)
async def test_the_widths_of_a_submission(
    cluster: Cluster,
    name: str,
    values: Mapping[str, str],
    overrides: Mapping[str, int],
    three: tuple[int, int, int],
) -> None:
    """Submission-time value, override and wildcard override; the region says what is in force."""
    async with cluster.job(f"widths-{name}") as job:
        regions = [{"alias": alias, "width": width} for alias, width in overrides.items()]
        more: Obj = {"submissionTimeValues": values, "parallelRegions": regions}
        await submit_row(cluster, job, {"manual": 2}, **more)
        await until_widths(job, 2, of_regions(*three))
        asked = {r["spec"]["alias"]: r["spec"]["width"] for r in job.of("regions").values()}
        assert asked == widths_in_force(job)
        channels = [len(pe["spec"]["operators"]) for pe in job.of("pes").values()]
        assert sum(channels) == sum(three) + ENDS


@pytest.mark.scenario(10)
async def test_the_content_id_is_the_digest_of_the_text_that_the_pod_mounts(
    cluster: Cluster,
) -> None:
    """Of PE, ConfigMap and pod, also after a resize that changed some of them."""
    async with cluster.job("contents") as job:
        await submit_example(cluster, job, 2)
        await until_width(job, 2)
        before = contents_of(job)
        await cluster.resize(job, "Counted", 3)
        await until_width(job, 3)
        after = contents_of(job)
        changed = {name for name in before if before[name] != after[name]}
        assert changed == {"contents-1", "contents-2", "contents-3", "contents-5"}


def contents_of(job: JobObjects) -> Mapping[str, str]:
    """The content id of each PE, which says the same wherever it stands."""
    found = {}
    for name, (pod,) in job.pods_of_pes().items():
        content = str(job.of("pes")[name]["spec"]["contentId"])
        (volume,) = [v for v in pod["spec"]["volumes"] if v["name"] == "pe-config-volume"]
        pack = job.of("config_maps")[volume["configMap"]["name"]]
        (item,) = volume["configMap"]["items"]
        assert item["path"] == labels.AADL_KEY
        assert pod["metadata"]["annotations"][labels.PACK] == pack["metadata"]["name"]
        assert hashlib.sha256(pack["data"][item["key"]].encode()).hexdigest() == content
        listed = pack["metadata"]["annotations"][labels.CONTENT_IDS].split()
        assert f"{item['key']}={content[:10]}" in listed
        assert pod["metadata"]["annotations"][labels.CONTENT_ID] == content
        found[name] = content
    return found
