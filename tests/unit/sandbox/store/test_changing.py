"""PUT and PATCH: optimistic locking, identity, generation, no-ops, status."""

from __future__ import annotations

from functools import partial

import pytest

from sandbox.store.resources import CONFIG_MAP, LEASE, NODE, POD, SERVICE, ResourceType
from sandbox.store.store import Store
from tests.unit.sandbox.store.building import (
    MERGE,
    Body,
    causes,
    config_map,
    pod,
    refusal,
    serve,
    widget,
)


@pytest.fixture
def widgets(store: Store) -> ResourceType:
    rt = serve(store)
    store.create(rt, "default", widget({"width": 1}))
    return rt


def patch(store: Store, rt: ResourceType, body: Body, subresource: str = "") -> Body:
    return store.patch(rt, "default", "one", body, MERGE, subresource=subresource)


def test_every_write_has_a_higher_version_than_all_before(store: Store) -> None:
    versions = [
        store.create(CONFIG_MAP, "default", config_map(f"m{n}"))["metadata"]["resourceVersion"]
        for n in range(3)
    ]
    changed = store.patch(CONFIG_MAP, "default", "m0", {"data": {"a": "1"}}, MERGE)
    versions.append(changed["metadata"]["resourceVersion"])
    assert versions == sorted(versions, key=int)
    assert len(set(versions)) == 4


@pytest.mark.parametrize("subresource", ["", "status"])
def test_a_patch_with_a_stale_version_is_a_conflict(
    store: Store, widgets: ResourceType, subresource: str
) -> None:
    stale = store.get(widgets, "default", "one")["metadata"]["resourceVersion"]
    patch(store, widgets, {"spec": {"width": 2}})
    body = {"metadata": {"resourceVersion": stale}, "status": {"phase": "x"}, "spec": {"width": 3}}
    error = refusal(lambda: patch(store, widgets, body, subresource))
    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == (
        'Operation cannot be fulfilled on widgets.example.com "one": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


def test_a_put_with_a_stale_version_is_a_conflict(store: Store, widgets: ResourceType) -> None:
    old = store.get(widgets, "default", "one")
    patch(store, widgets, {"spec": {"width": 2}})
    error = refusal(lambda: store.replace(widgets, "default", "one", dict(old)))
    assert error.code == 409


def test_a_put_without_version_is_refused_for_custom_resources_and_leases(
    store: Store, widgets: ResourceType
) -> None:
    error = refusal(lambda: store.replace(widgets, "default", "one", widget()))
    assert error.code == 422
    assert causes(error) == [("metadata.resourceVersion", "FieldValueInvalid")]
    store.create(LEASE, "default", config_map("lock"))
    assert refusal(lambda: store.replace(LEASE, "default", "lock", config_map("lock"))).code == 422


def test_a_put_without_version_replaces_core_kinds_whatever_is_there(store: Store) -> None:
    store.create(CONFIG_MAP, "default", config_map(data={"a": "1"}))
    changed = store.replace(CONFIG_MAP, "default", "settings", config_map(data={"b": "2"}))
    assert changed["data"] == {"b": "2"}


def test_a_put_with_another_uid_is_a_conflict(store: Store, widgets: ResourceType) -> None:
    body = widget(metadata={"uid": "other"})
    assert refusal(lambda: store.replace(widgets, "default", "one", body)).code == 409


def test_a_uid_in_a_patch_of_status_fences_nothing(store: Store, widgets: ResourceType) -> None:
    body = {"metadata": {"uid": "other"}, "status": {"phase": "Running"}}
    changed = patch(store, widgets, body, "status")
    assert changed["status"] == {"phase": "Running"}
    assert changed["metadata"]["uid"] != "other"


def test_another_uid_in_a_patch_of_the_object_is_invalid(
    store: Store, widgets: ResourceType
) -> None:
    error = refusal(lambda: patch(store, widgets, {"metadata": {"uid": "other"}}))
    assert error.code == 422
    assert causes(error) == [("metadata.uid", "FieldValueInvalid")]
    store.create(NODE, None, {"metadata": {"name": "n1"}})
    body = {"metadata": {"uid": "other"}}
    assert refusal(lambda: store.patch(NODE, None, "n1", body, MERGE)).code == 422


def test_a_stale_version_wins_over_a_wrong_uid(store: Store, widgets: ResourceType) -> None:
    body = {"metadata": {"uid": "other", "resourceVersion": "1"}}
    assert refusal(lambda: patch(store, widgets, body)).code == 409


@pytest.mark.parametrize(
    "body", [{}, {"spec": {"width": 1}}, {"status": {"phase": "x"}}, {"metadata": {"labels": {}}}]
)
def test_a_patch_that_changes_nothing_makes_no_version_and_no_event(
    store: Store, widgets: ResourceType, body: Body
) -> None:
    before = store.get(widgets, "default", "one")
    watch = store.watch(widgets, None, since=store.version)
    assert patch(store, widgets, body) is before
    assert watch.take() == []


def test_true_is_not_the_number_one(store: Store, widgets: ResourceType) -> None:
    assert patch(store, widgets, {"spec": {"width": True}})["spec"] == {"width": True}


def test_generation_rises_with_the_spec_only(store: Store, widgets: ResourceType) -> None:
    assert patch(store, widgets, {"spec": {"width": 2}})["metadata"]["generation"] == 2
    labelled = patch(store, widgets, {"metadata": {"labels": {"a": "b"}}})
    assert labelled["metadata"]["generation"] == 2
    said = patch(store, widgets, {"status": {"phase": "x"}}, "status")
    assert said["metadata"]["generation"] == 2
    assert patch(store, widgets, {"metadata": {"generation": 9}})["metadata"]["generation"] == 2


def test_status_is_written_only_through_status(store: Store, widgets: ResourceType) -> None:
    patch(store, widgets, {"status": {"phase": "a"}}, "status")
    both = {"spec": {"width": 5}, "status": {"phase": "b"}, "metadata": {"labels": {"a": "b"}}}
    through_main = patch(store, widgets, both)
    assert (through_main["spec"], through_main["status"]) == ({"width": 5}, {"phase": "a"})
    both["spec"] = {"width": 6}
    both["metadata"] = {"labels": {"a": "c"}}
    through_status = patch(store, widgets, both, "status")
    assert (through_status["spec"], through_status["status"]) == ({"width": 5}, {"phase": "b"})
    assert through_status["metadata"]["labels"] == {"a": "b"}


def test_status_of_a_new_custom_resource_is_dropped(store: Store, widgets: ResourceType) -> None:
    made = store.create(widgets, "default", widget(name="two", status={"phase": "x"}))
    assert "status" not in made


def test_identity_cannot_be_taken_away(store: Store, widgets: ResourceType) -> None:
    before = store.get(widgets, "default", "one")["metadata"]
    gone = {"uid": None, "creationTimestamp": None, "generation": None, "namespace": None}
    after = patch(store, widgets, {"metadata": {**gone, "labels": {"a": "b"}}})["metadata"]
    for field in gone:
        assert after[field] == before[field]


def test_a_change_cannot_rename_or_move(store: Store, widgets: ResourceType) -> None:
    for field in ("name", "namespace"):
        body = {"metadata": {field: "other"}}
        assert refusal(partial(patch, store, widgets, body)).code == 400


def test_a_deletion_time_cannot_be_set_by_a_change(store: Store, widgets: ResourceType) -> None:
    body = {"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}}
    error = refusal(partial(patch, store, widgets, body))
    assert causes(error) == [("metadata.deletionTimestamp", "FieldValueInvalid")]


def test_what_was_stored_is_never_changed(store: Store, widgets: ResourceType) -> None:
    before = store.get(widgets, "default", "one")
    text = before.json
    patch(store, widgets, {"spec": {"width": 2}, "metadata": {"labels": {"a": "b"}}})
    assert before["spec"] == {"width": 1}
    assert "labels" not in before["metadata"]
    assert before.json is text


def test_a_dry_run_shows_the_change_and_stores_nothing(store: Store, widgets: ResourceType) -> None:
    shown = store.patch(widgets, "default", "one", {"spec": {"width": 2}}, MERGE, dry_run=True)
    assert shown["spec"] == {"width": 2}
    assert store.get(widgets, "default", "one")["spec"] == {"width": 1}


def test_status_of_a_pod_leaves_its_spec_alone(store: Store) -> None:
    store.create(POD, "default", pod())
    body = {"status": {"phase": "Running"}, "spec": {"nodeName": "n9"}}
    changed = store.patch(POD, "default", "worker", body, MERGE, subresource="status")
    assert changed["status"]["phase"] == "Running"
    assert "nodeName" not in changed["spec"]


def test_a_patch_of_what_does_not_exist_is_not_found(store: Store, widgets: ResourceType) -> None:
    request = {"spec": {"width": 2}}
    error = refusal(lambda: store.patch(widgets, "default", "none", request, MERGE))
    assert error.code == 404
    assert error.message == 'widgets.example.com "none" not found'


@pytest.mark.parametrize(
    ("rt", "body", "finalizers"),
    [
        (CONFIG_MAP, config_map("one"), ["", "[0]"]),
        (POD, pod("one"), ["", "[0]"]),
        (NODE, {"metadata": {"name": "one"}}, ["", "[0]"]),
        (SERVICE, {"metadata": {"name": "one"}, "spec": {"clusterIP": "None"}}, ["", "[0]"]),
        (LEASE, {"metadata": {"name": "one"}, "spec": {}}, [""]),
    ],
    ids=lambda value: value.kind if isinstance(value, ResourceType) else "",
)
def test_metadata_that_may_not_be_is_refused_in_a_change(
    store: Store, rt: ResourceType, body: Body, finalizers: list[str]
) -> None:
    namespace = "default" if rt.namespaced else None
    store.create(rt, namespace, body)
    bad = {"metadata": {"labels": {"a": "-"}, "finalizers": ["a b"]}}
    error = refusal(lambda: store.patch(rt, namespace, "one", bad, MERGE))
    found = [field for field, _ in causes(error)]
    assert found == ["metadata.labels", *(f"metadata.finalizers{index}" for index in finalizers)]
