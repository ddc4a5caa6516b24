"""A job id is given once, to one Job, whatever happens around it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from contracts import labels
from sandbox.store.deleting import DeleteOptions
from services.chassis.process.errors import Rejected
from services.fusion_backend.adapters.job_ids import (
    CREDIBLE_MAX,
    JOB_ID_MAX,
    REMEMBERED_MAX,
    JobIds,
    JobIdsUsedUp,
)
from tests.sandboxed import MERGE
from tests.unit.fusion_backend.api import Api


@pytest.fixture
async def api(tmp_path: Path) -> Api:
    """An empty sandbox."""
    return Api(tmp_path)


async def test_ids_rise_and_the_same_job_gets_the_same_id(api: Api) -> None:
    ids = JobIds(api.kube)
    assert [await ids.take("default", uid) for uid in ("a", "b", "a", "c")] == [0, 1, 0, 2]


async def test_a_process_that_starts_again_finds_the_id_that_a_job_took_before(api: Api) -> None:
    """It crashed before the id stood in the Job's status; others took ids meanwhile."""
    waiting = with_job(api, "waiting")
    assert await JobIds(api.kube).take("default", waiting) == 0
    assert await JobIds(api.kube).take("default", with_job(api, "other")) == 1
    assert await JobIds(api.kube).take("default", waiting) == 0


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
    with_job(api, "one", 7)
    with_job(api, "two", 3)
    assert await JobIds(api.kube).take("default", "new") == 8


async def test_a_counter_that_somebody_spoilt_is_read_as_far_as_it_goes(api: Api) -> None:
    """Another instance took 4 for a Job that does not say so yet."""
    ids = JobIds(api.kube)
    assert await ids.take("default", "a") == 0
    waiting = with_job(api, "waiting")
    spoil(api, {"data": {"next": "many", "b": "-3", "nobody": "9", waiting: "4"}})
    assert await ids.take("default", "d") == 5
    assert counter(api)["data"] == {waiting: "4", "d": "5", "next": "6"}


# --------------------------------------------------------------------------- hostile counters

ABSURD = (
    "9" * 5_000,
    str(2**63 - 1),
    str(2**31),
    "9999999999",
    "-1",
    "+9",
    " 9",
    "9\n",
    "1_000",
    "0009",
    "1e3",
    "9.0",
    "²",
    "٩٩٩",
    "",
    "null",
)


@pytest.mark.parametrize("said", ABSURD, ids=lambda said: said[:12] or "empty")
async def test_a_next_that_cannot_be_is_found_again_from_the_jobs(api: Api, said: str) -> None:
    with_job(api, "old", 7)
    api.store.create(api.kind("configmaps"), "default", config_map({"data": {"next": said}}))
    ids = JobIds(api.kube)
    assert [await ids.take("default", uid) for uid in ("a", "b")] == [8, 9]
    assert counter(api)["data"]["next"] == "10"


@pytest.mark.parametrize("said", ABSURD, ids=lambda said: said[:12] or "empty")
async def test_an_id_that_cannot_be_is_remembered_for_nobody(api: Api, said: str) -> None:
    ours = with_job(api, "ours")
    body = config_map({"data": {"next": "3", ours: said}})
    api.store.create(api.kind("configmaps"), "default", body)
    assert await JobIds(api.kube).take("default", ours) == 3
    assert counter(api)["data"] == {"next": "4", ours: "3"}


async def test_an_id_that_is_another_jobs_is_given_to_nobody_else(api: Api) -> None:
    """Whether that Job says so itself, or this process gave it a moment ago."""
    ids = JobIds(api.kube)
    first = with_job(api, "first", 7)
    ours, theirs = with_job(api, "ours"), with_job(api, "theirs")
    spoil(api, {"data": {"next": "8", ours: "7"}})
    assert await ids.take("default", ours) == 8
    spoil(api, {"data": {"next": "8", theirs: "8", ours: None, first: "7"}})
    assert await ids.take("default", theirs) == 9


async def test_two_jobs_that_are_remembered_with_one_id_both_get_another(api: Api) -> None:
    one, two = with_job(api, "one"), with_job(api, "two")
    spoil(api, {"data": {"next": "9", one: "5", two: "5"}})
    assert await JobIds(api.kube).take("default", one) == 9
    assert await JobIds(api.kube).take("default", two) == 10


async def test_a_next_that_was_set_back_gives_no_id_twice(api: Api) -> None:
    """Also where what was remembered is gone, and the Jobs do not say their ids yet."""
    ids = JobIds(api.kube)
    taken = [with_job(api, name) for name in "abc"]
    assert [await ids.take("default", uid) for uid in taken] == [0, 1, 2]
    spoil(api, {"data": {"next": "0", **dict.fromkeys(taken)}})
    assert await ids.take("default", "d") == 3
    with_job(api, "old", 7)
    spoil(api, {"data": {"next": "2"}})
    assert await JobIds(api.kube).take("default", "e") == 8


async def test_ids_that_are_never_given_are_in_nobodys_way(api: Api) -> None:
    """A status may say any number of 64 bits."""
    with_job(api, "absurd", 2**53 - 1)
    with_job(api, "above", JOB_ID_MAX + 1)
    with_job(api, "good", 4)
    assert await JobIds(api.kube).take("default", "new") == 5


async def test_a_namespace_whose_last_id_is_taken_says_so_until_that_job_is_gone(api: Api) -> None:
    ids = JobIds(api.kube)
    with_job(api, "last-but-one", JOB_ID_MAX - 1)
    last = with_job(api, "last")
    assert await ids.take("default", last) == JOB_ID_MAX
    api.store.patch(
        api.kind("streamsjobs"),
        "default",
        "last",
        {"status": {"id": JOB_ID_MAX}},
        MERGE,
        subresource="status",
    )
    with pytest.raises(JobIdsUsedUp, match=r"no job id left up to 2147483647: Job last has"):
        await JobIds(api.kube).take("default", "next")
    for name in ("last", "last-but-one"):
        api.store.delete(api.kind("streamsjobs"), "default", name, DeleteOptions())
    assert await JobIds(api.kube).take("default", "next") == 0


async def test_the_id_of_a_job_that_is_gone_is_in_nobodys_way(api: Api) -> None:
    """Also where this process gave it: a namespace could have no id left until it ends."""
    ids = JobIds(api.kube)
    with_job(api, "last-but-one", JOB_ID_MAX - 1)
    assert await ids.take("default", with_job(api, "last")) == JOB_ID_MAX
    for name in ("last", "last-but-one"):
        api.store.delete(api.kind("streamsjobs"), "default", name, DeleteOptions())
    config_maps = api.kind("configmaps")
    api.store.delete(config_maps, "default", "millrace-job-ids", DeleteOptions())
    assert await ids.take("default", with_job(api, "next")) == 0


async def test_a_number_at_the_border_in_an_edited_counter_uses_up_no_ids(api: Api) -> None:
    """One job would get the last id, and no other an id while it lives."""
    waiting = with_job(api, "waiting")
    with_job(api, "old", 7)
    spoil(api, {"data": {"next": str(JOB_ID_MAX), waiting: str(JOB_ID_MAX)}})
    assert await JobIds(api.kube).take("default", waiting) == 8
    spoil(api, {"data": {"next": str(CREDIBLE_MAX)}})
    ids = JobIds(api.kube)
    assert [await ids.take("default", uid) for uid in "ab"] == [CREDIBLE_MAX, CREDIBLE_MAX + 1]


@pytest.mark.parametrize(
    "more",
    [
        {"data": None},
        {"data": {f"key-{number}": "x" * 100 for number in range(900)}},
        {"data": {f"key-{number}": str(number) for number in range(8_000)}},
        {"data": {"next": "3"}, "immutable": True},
        {"binaryData": {"next": "AAAA", "other": "AAAA"}},
        {"data": {"next": "3"}, "metadata": {"finalizers": ["example.com/mine"]}},
    ],
    ids=["no data", "rubbish", "many keys", "immutable", "binary", "finalizer"],
)
async def test_a_config_map_that_is_no_counter_is_made_one(api: Api, more: dict[str, Any]) -> None:
    with_job(api, "old", 7)
    api.store.create(api.kind("configmaps"), "default", config_map(more))
    ids = JobIds(api.kube)
    assert [await ids.take("default", uid) for uid in ("a", "b")] == [8, 9]
    assert counter(api)["data"] == {"next": "10", "a": "8", "b": "9"}
    assert not counter(api).get("binaryData")


async def test_a_counter_does_not_go_with_somebody_else(api: Api) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "name": "gone", "uid": "gone"}
    body = config_map({"data": {"next": "3"}, "metadata": {"ownerReferences": [pod]}})
    api.store.create(api.kind("configmaps"), "default", body)
    assert await JobIds(api.kube).take("default", "a") == 3
    assert not counter(api)["metadata"].get("ownerReferences")


async def test_a_counter_that_is_being_deleted_counts_until_it_is_gone(api: Api) -> None:
    config_maps, kept = api.kind("configmaps"), {"finalizers": ["example.com/mine"]}
    body = config_map({"data": {"next": "3"}, "metadata": kept})
    api.store.create(config_maps, "default", body)
    api.store.delete(config_maps, "default", labels.JOB_IDS_NAME, DeleteOptions())
    ids = JobIds(api.kube)
    assert await ids.take("default", with_job(api, "first")) == 3
    spoil(api, {"metadata": {"finalizers": None}})
    assert await ids.take("default", "b") == 4


async def test_a_counter_that_nobody_can_repair_is_reported(api: Api) -> None:
    kept = {"finalizers": ["example.com/mine"]}
    body = config_map({"data": {"next": "3"}, "immutable": True, "metadata": kept})
    api.store.create(api.kind("configmaps"), "default", body)
    with pytest.raises(Rejected, match="millrace-job-ids can be neither changed nor deleted"):
        await JobIds(api.kube).take("default", "a")


def config_map(more: dict[str, Any]) -> dict[str, Any]:
    """The ConfigMap as somebody else wrote it."""
    named = {"name": labels.JOB_IDS_NAME, "namespace": "default"}
    meta = named | (more.get("metadata") or {})
    return {"apiVersion": "v1", "kind": "ConfigMap", **more, "metadata": meta}


def counter(api: Api) -> dict[str, Any]:
    """The ConfigMap as it is."""
    return dict(api.store.get(api.kind("configmaps"), "default", labels.JOB_IDS_NAME))


def spoil(api: Api, patch: dict[str, Any]) -> None:
    """Edit the ConfigMap, which is made where there is none yet."""
    kind = api.kind("configmaps")
    names = {each["metadata"]["name"] for each in api.store.list(kind, "default").items}
    if labels.JOB_IDS_NAME not in names:
        api.store.create(kind, "default", config_map({}))
    api.store.patch(kind, "default", labels.JOB_IDS_NAME, patch, MERGE)


def with_job(api: Api, name: str, job_id: int | None = None) -> str:
    """A Job, whose status says this id; gives its uid."""
    body = {
        "apiVersion": "streams.ibm.com/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"bundle": {"name": "shop.sab"}},
    }
    jobs = api.kind("streamsjobs")
    uid = str(api.store.create(jobs, "default", body)["metadata"]["uid"])
    if job_id is not None:
        said = {"status": {"id": job_id}}
        api.store.patch(jobs, "default", name, said, MERGE, subresource="status")
    return uid
