"""DELETE: preconditions, finalizers, propagation, grace."""

from __future__ import annotations

import pytest

from sandbox.store.deleting import DeleteOptions
from sandbox.store.resources import CONFIG_MAP, NAMESPACE, POD, SERVICE
from sandbox.store.store import Store
from sandbox.store.watching import WatchEvent
from tests.unit.sandbox.store.building import (
    MERGE,
    NOW_TEXT,
    Body,
    Clock,
    causes,
    config_map,
    pod,
    refusal,
    serve,
    widget,
)


def told(events: list[WatchEvent]) -> list[tuple[str, str]]:
    return [(event.type, event.object["metadata"]["name"]) for event in events]


def running_pod(store: Store, **metadata: object) -> Body:
    store.create(POD, "default", pod(metadata=dict(metadata)))
    return store.bind("default", "worker", "n1")


def test_without_finalizers_an_object_goes_at_once(store: Store) -> None:
    store.create(CONFIG_MAP, "default", config_map())
    watch = store.watch(CONFIG_MAP, None, since=store.version)
    assert store.delete(CONFIG_MAP, "default", "settings") is None
    (event,) = watch.take()
    assert event.type == "DELETED"
    assert event.object["metadata"]["resourceVersion"] == str(store.version)
    assert refusal(lambda: store.get(CONFIG_MAP, "default", "settings")).code == 404


@pytest.mark.parametrize(
    "options", [DeleteOptions(uid="other"), DeleteOptions(resource_version="1")]
)
def test_a_precondition_that_does_not_hold_is_a_conflict(
    store: Store, options: DeleteOptions
) -> None:
    store.create(CONFIG_MAP, "default", config_map())
    error = refusal(lambda: store.delete(CONFIG_MAP, "default", "settings", options))
    assert error.code == 409
    assert "precondition" in error.message


def test_preconditions_that_hold_let_the_deletion_pass(store: Store) -> None:
    meta = store.create(CONFIG_MAP, "default", config_map())["metadata"]
    body = {"preconditions": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}}
    assert store.delete(CONFIG_MAP, "default", "settings", DeleteOptions.from_body(body)) is None


def test_a_finalizer_holds_the_object_until_it_is_removed(store: Store) -> None:
    rt = serve(store)
    store.create(rt, "default", widget(metadata={"finalizers": ["example.com/a"]}))
    held = store.delete(rt, "default", "one")
    assert held is not None
    assert held["metadata"]["deletionTimestamp"] == NOW_TEXT
    assert held["metadata"]["deletionGracePeriodSeconds"] == 0
    assert held["metadata"]["generation"] == 2
    watch = store.watch(rt, None, since=store.version)
    store.patch(rt, "default", "one", {"metadata": {"finalizers": None}}, MERGE)
    assert told(watch.take()) == [("DELETED", "one")]
    assert refusal(lambda: store.get(rt, "default", "one")).code == 404


def test_a_second_delete_changes_nothing(store: Store, clock: Clock) -> None:
    rt = serve(store)
    store.create(rt, "default", widget(metadata={"finalizers": ["example.com/a"]}))
    held = store.delete(rt, "default", "one")
    clock.now_s += 60
    assert store.delete(rt, "default", "one") is held


def test_no_finalizer_can_be_added_to_an_object_that_is_being_deleted(store: Store) -> None:
    rt = serve(store)
    store.create(rt, "default", widget(metadata={"finalizers": ["example.com/a"]}))
    store.delete(rt, "default", "one")
    body = {"metadata": {"finalizers": ["example.com/a", "example.com/b"]}}
    error = refusal(lambda: store.patch(rt, "default", "one", body, MERGE))
    assert error.code == 422
    assert causes(error) == [("metadata.finalizers", "FieldValueForbidden")]


@pytest.mark.parametrize(
    ("policy", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")]
)
def test_a_propagation_policy_becomes_a_finalizer(
    store: Store, policy: str, finalizer: str
) -> None:
    store.create(CONFIG_MAP, "default", config_map())
    options = DeleteOptions.from_body({"propagationPolicy": policy})
    held = store.delete(CONFIG_MAP, "default", "settings", options)
    assert held is not None
    assert held["metadata"]["finalizers"] == [finalizer]
    assert held["metadata"]["deletionTimestamp"] == NOW_TEXT


def test_background_removes_a_foreground_finalizer(store: Store) -> None:
    store.create(CONFIG_MAP, "default", config_map())
    store.delete(CONFIG_MAP, "default", "settings", DeleteOptions(propagation="Foreground"))
    background = DeleteOptions(propagation="Background")
    assert store.delete(CONFIG_MAP, "default", "settings", background) is None


def test_options_that_mean_nothing_are_refused() -> None:
    unknown = {"propagationPolicy": "Sideways"}
    assert refusal(lambda: DeleteOptions.from_body(unknown)).code == 422
    assert refusal(lambda: DeleteOptions.from_body({"gracePeriodSeconds": "soon"})).code == 400


def test_a_pod_that_nobody_runs_goes_at_once(store: Store) -> None:
    store.create(POD, "default", pod())
    assert store.delete(POD, "default", "worker") is None


def test_a_running_pod_stays_until_the_kubelet_lets_it_go(store: Store) -> None:
    running_pod(store)
    leaving = store.delete(POD, "default", "worker")
    assert leaving is not None
    assert leaving["metadata"]["deletionGracePeriodSeconds"] == 30
    assert leaving["metadata"]["deletionTimestamp"] == "1970-01-12T13:47:10Z"
    assert store.delete(POD, "default", "worker") is leaving
    assert store.delete(POD, "default", "worker", DeleteOptions(grace_period_s=0)) is None


def test_grace_can_only_be_shortened(store: Store, clock: Clock) -> None:
    running_pod(store)
    store.delete(POD, "default", "worker")
    clock.now_s += 5
    longer = store.delete(POD, "default", "worker", DeleteOptions(grace_period_s=60))
    assert longer is not None
    assert longer["metadata"]["deletionGracePeriodSeconds"] == 30
    shorter = store.delete(POD, "default", "worker", DeleteOptions(grace_period_s=10))
    assert shorter is not None
    assert shorter["metadata"]["deletionGracePeriodSeconds"] == 10
    assert shorter["metadata"]["deletionTimestamp"] == "1970-01-12T13:46:50Z"


def test_a_pod_that_has_ended_goes_at_once(store: Store) -> None:
    running_pod(store)
    body = {"status": {"phase": "Failed"}}
    store.patch(POD, "default", "worker", body, MERGE, subresource="status")
    assert store.delete(POD, "default", "worker") is None


def test_a_pod_with_a_finalizer_outlives_a_forced_deletion(store: Store) -> None:
    running_pod(store, finalizers=["example.com/a"])
    held = store.delete(POD, "default", "worker", DeleteOptions(grace_period_s=0))
    assert held is not None
    store.patch(POD, "default", "worker", {"metadata": {"finalizers": []}}, MERGE)
    assert refusal(lambda: store.get(POD, "default", "worker")).code == 404


def test_a_pod_in_its_grace_survives_the_loss_of_its_finalizers(store: Store) -> None:
    running_pod(store, finalizers=["example.com/a"])
    store.delete(POD, "default", "worker")
    store.patch(POD, "default", "worker", {"metadata": {"finalizers": []}}, MERGE)
    assert "finalizers" not in store.get(POD, "default", "worker")["metadata"]


def test_a_dry_run_removes_nothing(store: Store) -> None:
    store.create(CONFIG_MAP, "default", config_map())
    store.delete(CONFIG_MAP, "default", "settings", DeleteOptions(dry_run=True))
    assert store.get(CONFIG_MAP, "default", "settings")


def test_a_namespace_stays_until_it_is_finalized(store: Store) -> None:
    store.create(NAMESPACE, None, {"metadata": {"name": "short"}})
    ending = store.delete(NAMESPACE, None, "short")
    assert ending is not None
    assert ending["status"]["phase"] == "Terminating"
    body = {**ending, "spec": {"finalizers": []}}
    store.replace(NAMESPACE, None, "short", body, subresource="finalize")
    assert refusal(lambda: store.get(NAMESPACE, None, "short")).code == 404


@pytest.mark.parametrize("name", ["default", "kube-system"])
def test_first_namespaces_cannot_be_deleted(store: Store, name: str) -> None:
    assert refusal(lambda: store.delete(NAMESPACE, None, name)).code == 403


def test_dependents_are_found_by_the_uid_of_their_owner(store: Store) -> None:
    owner = store.create(CONFIG_MAP, "default", config_map("owner"))["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner}
    owned = {"ownerReferences": [reference]}
    store.create(CONFIG_MAP, "default", config_map("child", metadata=owned))
    service = {"metadata": {"name": "child", **owned}, "spec": {"clusterIP": "None"}}
    store.create(SERVICE, "default", service)
    found = [(rt.kind, obj["metadata"]["name"]) for rt, obj in store.dependents(owner)]
    assert sorted(found) == [("ConfigMap", "child"), ("Service", "child")]
    body = {"metadata": {"ownerReferences": None}}
    store.patch(CONFIG_MAP, "default", "child", body, MERGE)
    store.delete(SERVICE, "default", "child")
    assert store.dependents(owner) == []
