"""Effects against an API server: guards, and what an effect that is repeated finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts import labels
from sandbox.store.deleting import DeleteOptions
from services.chassis.errors import NameTaken, Superseded
from services.fusion_backend.core.effects import CreateChild, DeleteChildren, RecordPlan, TakeJobId
from tests.unit.fusion_backend.lifecycle.api import KEY, Api


@pytest.fixture
async def api(tmp_path: Path) -> Api:
    """A sandbox with nothing but the example's bundle."""
    return Api(tmp_path)


async def test_a_submission_creates_every_child_once(api: Api) -> None:
    await api.with_children()
    names = {f"shop-{pe}" for pe in range(7)}
    assert api.names("streamspes") == api.names("services") == names
    assert api.names("streamsprs") == {"shop-0"}


async def test_a_job_that_dies_between_id_and_status_keeps_its_id(api: Api) -> None:
    api.submit()
    snapshot = api.stage.snapshot(api.table, KEY)
    (effect,) = api.decide().effects
    assert isinstance(effect, TakeJobId)
    job = api.table.get("Job", KEY.namespace, KEY.name)
    assert job is not None
    await api.stage.carry_out(KEY, snapshot, effect)
    taken = api.store.get(api.kind("configmaps"), KEY.namespace, labels.JOB_IDS_NAME)
    assert taken["data"] == {"next": "1", job.uid: "0"}
    with pytest.raises(Superseded):  # decided on a status that is not the Job's any more
        await api.stage.carry_out(KEY, snapshot, effect)
    taken = api.store.get(api.kind("configmaps"), KEY.namespace, labels.JOB_IDS_NAME)
    assert taken["data"]["next"] == "1"


async def test_a_plan_record_that_somebody_else_made_is_read_instead(api: Api) -> None:
    api.submit()
    await api.until(lambda: any(isinstance(e, RecordPlan) for e in api.decide().effects))
    snapshot, (effect,) = api.stage.snapshot(api.table, KEY), api.decide().effects
    assert await api.stage.carry_out(KEY, snapshot, effect) == "created"
    job = api.store.get(api.kind("streamsjobs"), KEY.namespace, KEY.name)
    api.restart()
    api.writer.observe("Job", job)
    await api.until(lambda: any(isinstance(e, RecordPlan) for e in api.decide().effects))
    snapshot, (effect,) = api.stage.snapshot(api.table, KEY), api.decide().effects
    assert await api.stage.carry_out(KEY, snapshot, effect) == "existed"
    assert (api.decide().detail or {})["observation"] == "PLAN_UNREAD"


async def test_children_of_a_job_that_lives_are_never_deleted_by_a_stale_view(api: Api) -> None:
    await api.with_children()
    entry = api.table.get("Job", KEY.namespace, KEY.name)
    assert entry is not None
    api.table.forget(entry.ref)  # as if the fact of a deletion had been wrong
    snapshot = api.stage.snapshot(api.table, KEY)
    effects = api.decide().effects
    assert effects
    assert all(isinstance(effect, DeleteChildren) for effect in effects)
    with pytest.raises(Superseded):
        await api.stage.carry_out(KEY, snapshot, effects[0])
    assert len(api.names("streamspes")) == 7
    assert api.table.get("Job", KEY.namespace, KEY.name) is not None


async def test_children_that_were_orphaned_unseen_are_left_alone(api: Api) -> None:
    await api.with_children()
    job = api.store.get(api.kind("streamsjobs"), KEY.namespace, KEY.name)
    for plural in ("configmaps", "services", "streamspes", "streamsprs", "streamshostpools"):
        for name in api.names(plural) - {labels.JOB_IDS_NAME}:
            api.store.patch(
                api.kind(plural),
                KEY.namespace,
                name,
                {"metadata": {"ownerReferences": None}},
                "application/merge-patch+json",
            )
    api.table.observe_gone(("Job", KEY.namespace, KEY.name), job["metadata"]["uid"])
    api.store.delete(api.kind("streamsjobs"), KEY.namespace, KEY.name, DeleteOptions())
    snapshot = api.stage.snapshot(api.table, KEY)
    for effect in api.decide().effects:
        with pytest.raises(Superseded):
            await api.stage.carry_out(KEY, snapshot, effect)
    assert len(api.names("streamspes")) == 7


async def test_a_child_whose_job_is_being_deleted_is_not_created_again(api: Api) -> None:
    await api.with_children()
    snapshot = api.stage.snapshot(api.table, KEY)
    api.store.patch(
        api.kind("streamsjobs"),
        KEY.namespace,
        KEY.name,
        {"metadata": {"finalizers": ["example.com/held"]}},
        "application/merge-patch+json",
    )
    api.store.delete(api.kind("streamsjobs"), KEY.namespace, KEY.name, DeleteOptions())
    with pytest.raises(Superseded):
        await api.stage.carry_out(
            KEY, snapshot, CreateChild("Service", "shop-0", 0, 0, confirmed=True)
        )


async def test_a_name_that_belongs_to_somebody_else_fails_the_submission(api: Api) -> None:
    foreign = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "shop-0", "namespace": KEY.namespace},
        "spec": {"ports": [{"port": 1}]},
    }
    api.store.create(api.kind("services"), KEY.namespace, foreign)
    api.submit()
    with pytest.raises(NameTaken):
        await api.until(lambda: False)
    assert KEY in api.woken
    await api.step()
    job = api.store.get(api.kind("streamsjobs"), KEY.namespace, KEY.name)
    assert job["status"]["reason"] == "NameTaken"
    await api.until(lambda: not api.decide().effects)
    assert api.names("services") == {"shop-0"}
    assert api.names("streamspes") == set()
    assert api.names("configmaps") == {labels.JOB_IDS_NAME}


async def test_a_missing_bundle_fails_the_job_and_says_so_in_an_event(api: Api) -> None:
    (api.settings.bundle_root / "shop.sab").unlink()
    api.submit()
    await api.until(lambda: not api.decide().effects)
    job = api.store.get(api.kind("streamsjobs"), KEY.namespace, KEY.name)
    assert job["status"]["phase"] == "Failed"
    assert job["status"]["reason"] == "BundleMissing"
    assert "spec.bundle.name" in job["status"]["message"]
    (event,) = api.store.list(api.kind("events"), KEY.namespace).items
    assert (event["type"], event["reason"]) == ("Warning", "BundleMissing")
    assert event["message"] == job["status"]["message"]
