"""A job id is given once, to one Job, whatever happens around it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from contracts import labels
from services.fusion_backend.adapters.job_ids import REMEMBERED_MAX, JobIds
from tests.sandboxed import MERGE
from tests.unit.fusion_backend.lifecycle.api import Api


@pytest.fixture
async def api(tmp_path: Path) -> Api:
    """An empty sandbox."""
    return Api(tmp_path)


async def test_ids_rise_and_the_same_job_gets_the_same_id(api: Api) -> None:
    ids = JobIds(api.kube)
    assert [await ids.take("default", uid) for uid in ("a", "b", "a", "c")] == [0, 1, 0, 2]


async def test_namespaces_count_on_their_own(api: Api) -> None:
    ids = JobIds(api.kube)
    await ids.take("default", "a")
    assert await ids.take("kube-system", "b") == 0


async def test_takers_of_several_processes_never_share_an_id(api: Api) -> None:
    processes = [JobIds(api.kube) for _ in range(3)]
    taken = await asyncio.gather(
        *(ids.take("default", f"{number}-{job}") for number, ids in enumerate(processes)
          for job in range(5))
    )  # fmt: skip
    assert sorted(taken) == list(range(15))


async def test_what_is_remembered_is_bounded_and_costs_no_duplicate(api: Api) -> None:
    ids = JobIds(api.kube)
    for number in range(REMEMBERED_MAX + 5):
        assert await ids.take("default", f"uid-{number}") == number
    kept = api.store.get(api.kind("configmaps"), "default", labels.JOB_IDS_NAME)["data"]
    assert len(kept) == REMEMBERED_MAX + 1
    assert await ids.take("default", "uid-0") == REMEMBERED_MAX + 5, "a gap, never a duplicate"


async def test_a_counter_that_somebody_deleted_goes_on_above_the_ids_of_all_jobs(api: Api) -> None:
    for name, job_id in (("one", 7), ("two", 3)):
        body = {
            "apiVersion": "streams.ibm.com/v1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"bundle": {"name": "shop.sab"}},
        }
        jobs = api.kind("streamsjobs")
        api.store.create(jobs, "default", body)
        said = {"status": {"id": job_id}}
        api.store.patch(jobs, "default", name, said, MERGE, subresource="status")
    assert await JobIds(api.kube).take("default", "new") == 8


async def test_a_counter_that_somebody_spoilt_is_read_as_far_as_it_goes(api: Api) -> None:
    ids, config_maps = JobIds(api.kube), api.kind("configmaps")
    assert await ids.take("default", "a") == 0
    spoilt = {"data": {"next": "many", "b": "-3", "c": "4"}}
    api.store.patch(config_maps, "default", labels.JOB_IDS_NAME, spoilt, MERGE)
    assert await ids.take("default", "d") == 5
    kept = api.store.get(config_maps, "default", labels.JOB_IDS_NAME)["data"]
    assert kept == {"a": "0", "c": "4", "d": "5", "next": "6"}
