"""Effects against an API server: guards, and what an effect that is repeated finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from contracts import labels
from contracts.facts import Fact, FactType
from sandbox.store.deleting import DeleteOptions
from services.chassis.process.errors import NameTaken, Superseded
from services.fusion_backend.core.effects import (
    ConfirmJobGone,
    CreateChild,
    DeleteChild,
    DeleteChildren,
    LookForBundle,
    RecordPlan,
    TakeJobId,
)
from tests.unit.chassis.running.saying import RESOURCES_0, epoch
from tests.unit.fusion_backend.api import KEY, Api


@pytest.fixture
async def api(tmp_path: Path) -> Api:
    """A sandbox with nothing but the example's bundle."""
    return Api(tmp_path)


async def test_a_submission_creates_every_child_once(api: Api) -> None:
    await api.with_children()
    names = {f"shop-{pe}" for pe in range(7)}
    assert api.names("streamspes") == names
    assert api.names("services") == {"shop-pes"}
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
    assert api.decide().rules["generation"] == "RECORD_UNREAD"


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


def say_gone(api: Api) -> str:
    """A record says that the Job is gone, in its newest version; its uid."""
    entry = api.table.get("Job", KEY.namespace, KEY.name)
    assert entry is not None
    place = entry.kind, entry.namespace, entry.name, entry.uid
    gone = Fact(FactType.DELETION, *place, entry.resource_version + 1, epoch(), data=None)
    api.table.apply(gone, RESOURCES_0)
    assert api.table.get("Job", KEY.namespace, KEY.name) is None
    return entry.uid


async def test_a_job_that_is_falsely_reported_gone_is_looked_for(api: Api) -> None:
    """Also where nothing of it exists yet whose deletion would show that it is there."""
    api.submit()
    uid = say_gone(api)
    assert api.decide().effects == (ConfirmJobGone(uid),)
    await api.until(lambda: api.decide().rules["clean-up"] == "PODS_MISSING")
    assert len(api.names("streamspes")) == 7


async def test_children_whose_pods_run_do_not_wait_for_a_job_that_is_falsely_reported_gone(
    api: Api,
) -> None:
    await api.with_children()
    uid = say_gone(api)
    owner = {"kind": "ProcessingElement", "name": "shop-0", "uid": "of pe", "controller": True}
    marks = {labels.APP: labels.APP_VALUE, labels.JOB: KEY.name, labels.JOB_UID: uid}
    meta = {"name": "shop-0-0", "namespace": KEY.namespace, "uid": "of pod", "labels": marks}
    pod = {"metadata": {**meta, "resourceVersion": "9", "ownerReferences": [owner]}}
    api.writer.observe("Pod", {"kind": "Pod", **pod, "spec": {}, "status": {"phase": "Running"}})
    snapshot, effects = api.stage.snapshot(api.table, KEY), api.decide().effects
    assert effects == (ConfirmJobGone(uid), DeleteChildren("Service", uid))
    await api.stage.carry_out(KEY, snapshot, effects[0])
    with pytest.raises(Superseded):
        await api.stage.carry_out(KEY, snapshot, effects[1])
    job = api.table.get("Job", KEY.namespace, KEY.name)
    assert job is not None
    assert job.uid == uid


async def test_children_deleted_one_by_one_are_not_those_of_a_job_that_lives(api: Api) -> None:
    """One of them lacks its owner, so that no collection is deleted, and a record lies."""
    await api.with_children()
    robbed = api.store.patch(
        api.kind("streamspes"),
        KEY.namespace,
        "shop-0",
        {"metadata": {"ownerReferences": None}},
        "application/merge-patch+json",
    )
    api.writer.observe("ProcessingElement", dict(robbed))
    say_gone(api)
    snapshot, effects = api.stage.snapshot(api.table, KEY), api.decide().effects
    one_by_one = [effect for effect in effects if isinstance(effect, DeleteChild)]
    assert len(one_by_one) == 6
    for effect in one_by_one:
        with pytest.raises(Superseded):
            await api.stage.carry_out(KEY, snapshot, effect)
    assert len(api.names("streamspes")) == 7


async def test_a_job_that_is_gone_is_looked_for_once(api: Api) -> None:
    api.submit()
    api.store.delete(api.kind("streamsjobs"), KEY.namespace, KEY.name, DeleteOptions())
    say_gone(api)
    await api.step()
    assert api.decide().effects == ()
    assert api.table.get("Job", KEY.namespace, KEY.name) is None


async def test_another_job_of_the_name_is_not_taken_for_the_one_that_is_gone(api: Api) -> None:
    """Its own facts tell of it, maybe in a partition that this instance does not read."""
    api.submit()
    api.store.delete(api.kind("streamsjobs"), KEY.namespace, KEY.name, DeleteOptions())
    say_gone(api)
    body = {"apiVersion": "streams.ibm.com/v1", "kind": "Job", "spec": {"bundle": {"name": "b"}}}
    body["metadata"] = {"name": KEY.name, "namespace": KEY.namespace}
    api.store.create(api.kind("streamsjobs"), KEY.namespace, body)
    await api.step()
    assert api.table.get("Job", KEY.namespace, KEY.name) is None
    assert api.decide().effects == ()


async def test_a_job_that_was_seen_terminating_is_not_looked_for(api: Api) -> None:
    job = api.submit()
    meta = {**job["metadata"], "resourceVersion": "999999", "deletionTimestamp": "2027-01-01"}
    api.writer.observe("Job", {**job, "metadata": meta})
    say_gone(api)
    assert api.decide().effects == ()


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
        if isinstance(effect, ConfirmJobGone):
            continue
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
            KEY, snapshot, CreateChild("Service", "shop-pes", 0, confirmed=True)
        )


async def test_a_name_that_belongs_to_somebody_else_fails_the_submission(api: Api) -> None:
    foreign = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "shop-pes", "namespace": KEY.namespace},
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
    assert api.names("services") == {"shop-pes"}
    assert api.names("streamspes") == set()
    assert api.names("configmaps") == {labels.JOB_IDS_NAME}


async def test_why_there_is_no_plan_is_logged_once_for_each_cause(api: Api) -> None:
    """People read the log at level warning; a retry that fails alike is nothing new."""
    bundle = api.settings.bundle_root / "shop.sab"
    bundle.unlink()
    api.submit()
    with capture_logs() as lines:
        await api.until(lambda: {type(each) for each in api.decide().effects} == {LookForBundle})
        for content in (None, b"no bundle"):
            if content is not None:
                bundle.write_bytes(content)
            for retry in ("1", "2"):
                api.retry(f"{content!r}{retry}")
                await api.until(lambda: {*map(type, api.decide().effects)} <= {LookForBundle})
    found = [(each["reason"], each["job"]) for each in lines if each["event"] == "planning_failed"]
    assert found == [("BundleMissing", KEY.name), ("BundleInvalid", KEY.name)]


async def test_a_missing_bundle_fails_the_job_and_says_so_in_an_event(api: Api) -> None:
    (api.settings.bundle_root / "shop.sab").unlink()
    api.submit()
    await api.until(lambda: {type(each) for each in api.decide().effects} == {LookForBundle})
    job = api.store.get(api.kind("streamsjobs"), KEY.namespace, KEY.name)
    assert job["status"]["phase"] == "Failed"
    assert job["status"]["reason"] == "BundleMissing"
    assert "spec.bundle.name" in job["status"]["message"]
    (event,) = api.store.list(api.kind("events"), KEY.namespace).items
    assert (event["type"], event["reason"]) == ("Warning", "BundleMissing")
    assert event["message"] == job["status"]["message"]
