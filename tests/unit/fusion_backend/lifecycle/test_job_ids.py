"""A job id is given once, to one Job, whatever happens around it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from contracts import labels
from services.fusion_backend.adapters.job_ids import REMEMBERED_MAX, JobIds
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
