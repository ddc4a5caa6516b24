"""POST: what a new object gets, and what is refused."""

from __future__ import annotations

import pytest

from sandbox.store.resources import CONFIG_MAP, NAMESPACE, NODE, POD, SERVICE
from sandbox.store.store import Store
from tests.unit.sandbox.store.building import (
    NOW_TEXT,
    Body,
    causes,
    config_map,
    pod,
    refusal,
    serve,
    widget,
)


def test_a_new_object_gets_identity_version_and_time(store: Store) -> None:
    before = store.version
    made = store.create(CONFIG_MAP, "default", config_map(data={"a": "1"}))
    meta = made["metadata"]
    assert meta["namespace"] == "default"
    assert meta["uid"].startswith("uid-")
    assert meta["creationTimestamp"] == NOW_TEXT
    assert meta["resourceVersion"] == str(before + 1) == str(store.version)
    assert (made["apiVersion"], made["kind"]) == ("v1", "ConfigMap")
    assert store.get(CONFIG_MAP, "default", "settings") is made


def test_what_only_the_server_may_say_is_overwritten(store: Store) -> None:
    sent = config_map(
        metadata={
            "uid": "mine",
            "creationTimestamp": "2000-01-01T00:00:00Z",
            "deletionTimestamp": "2000-01-01T00:00:00Z",
            "deletionGracePeriodSeconds": 9,
            "generation": 7,
            "managedFields": [{}],
        }
    )
    meta = store.create(CONFIG_MAP, "default", sent)["metadata"]
    assert meta["uid"] != "mine"
    assert meta["creationTimestamp"] == NOW_TEXT
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"):
        assert field not in meta


def test_a_name_can_be_taken_only_once(store: Store) -> None:
    store.create(CONFIG_MAP, "default", config_map())
    error = refusal(lambda: store.create(CONFIG_MAP, "default", config_map()))
    assert (error.code, error.reason) == (409, "AlreadyExists")
    assert error.message == 'configmaps "settings" already exists'
    assert error.details == {"name": "settings", "kind": "configmaps"}


def test_generated_names_keep_their_base_and_differ(store: Store) -> None:
    sent = {"metadata": {"generateName": "batch-"}}
    names = {store.create(CONFIG_MAP, "default", sent)["metadata"]["name"] for _ in range(50)}
    assert len(names) == 50
    assert all(name.startswith("batch-") and len(name) == 11 for name in names)


def test_a_generated_name_that_is_taken_is_tried_again() -> None:
    from sandbox.store.store import Store as Plain

    uids = iter(["a", "b", "same", "same", "other"])
    store = Plain(now=lambda: 0.0, new_uid=lambda: next(uids))
    sent = {"metadata": {"generateName": "batch-"}}
    one = store.create(CONFIG_MAP, "default", sent)
    two = store.create(CONFIG_MAP, "default", sent)
    assert one["metadata"]["name"] != two["metadata"]["name"]


def test_an_object_without_a_name_is_refused(store: Store) -> None:
    error = refusal(lambda: store.create(CONFIG_MAP, "default", {"metadata": {}}))
    assert error.code == 422
    assert causes(error) == [("metadata.name", "FieldValueRequired")]


def test_a_version_on_create_is_the_servers_error(store: Store) -> None:
    sent = config_map(metadata={"resourceVersion": "3"})
    error = refusal(lambda: store.create(CONFIG_MAP, "default", sent))
    assert (error.code, error.reason) == (500, "")


def test_a_namespace_has_to_exist(store: Store) -> None:
    error = refusal(lambda: store.create(CONFIG_MAP, "nowhere", config_map()))
    assert error.code == 404
    assert error.message == 'namespaces "nowhere" not found'


def test_nothing_is_created_in_a_namespace_that_ends(store: Store) -> None:
    store.create(NAMESPACE, None, {"metadata": {"name": "short"}})
    store.delete(NAMESPACE, None, "short")
    error = refusal(lambda: store.create(CONFIG_MAP, "short", config_map()))
    assert error.code == 403
    assert causes(error) == [("metadata.namespace", "NamespaceTerminating")]


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"apiVersion": "v2"},
        {"kind": "Pod"},
        {"metadata": []},
        {"metadata": {"name": "a", "labels": {"a": 1}}},
        {"metadata": {"name": "a", "ownerReferences": [1]}},
        {"metadata": {"name": "a", "namespace": "other"}},
        {"metadata": {"name": "a"}, "data": {"a": 1}},
        {"metadata": {"name": "a"}, "data": ["a"]},
    ],
)
def test_what_cannot_be_read_is_a_bad_request(store: Store, body: Body) -> None:
    assert refusal(lambda: store.create(CONFIG_MAP, "default", body)).code == 400


@pytest.mark.parametrize(
    "spec",
    ["text", {"containers": {}}, {"containers": ["x"]}, {"nodeName": 1}, {"tolerations": [[]]}],
)
def test_a_misshapen_pod_is_a_bad_request(store: Store, spec: object) -> None:
    body = {"metadata": {"name": "a"}, "spec": spec}
    assert refusal(lambda: store.create(POD, "default", body)).code == 400


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"name": "Upper"}, "metadata.name"),
        ({"name": "a" * 254}, "metadata.name"),
        ({"labels": {"-bad": "x"}}, "metadata.labels"),
        ({"labels": {"a/b/c": "x"}}, "metadata.labels"),
        ({"labels": {"ok": "not ok"}}, "metadata.labels"),
        ({"labels": {"ok": "x" * 64}}, "metadata.labels"),
        ({"annotations": {"not ok": ""}}, "metadata.annotations"),
        ({"annotations": {"a": "x" * 262_144}}, "metadata.annotations"),
        ({"finalizers": ["a/not ok"]}, "metadata.finalizers"),
        ({"finalizers": ["bare"]}, "metadata.finalizers[0]"),
        ({"ownerReferences": [{"kind": "A", "name": "a", "apiVersion": "v1"}]},
         "metadata.ownerReferences.uid"),
        ({"ownerReferences": [
            {"kind": "A", "name": "a", "apiVersion": "v1", "uid": "1", "controller": True},
            {"kind": "A", "name": "b", "apiVersion": "v1", "uid": "2", "controller": True},
        ]}, "metadata.ownerReferences"),
    ],
)  # fmt: skip
def test_metadata_that_breaks_a_rule_names_the_field(
    store: Store, metadata: Body, field: str
) -> None:
    error = refusal(lambda: store.create(CONFIG_MAP, "default", config_map(metadata=metadata)))
    assert error.code == 422
    assert {found for found, _ in causes(error)} == {field}
    assert error.message.startswith('ConfigMap "')


def test_services_and_namespaces_have_stricter_names(store: Store) -> None:
    ports = [{"port": 80}]
    service = {"metadata": {"name": "a.b"}, "spec": {"ports": ports}}
    assert causes(refusal(lambda: store.create(SERVICE, "default", service))) == [
        ("metadata.name", "FieldValueInvalid")
    ]
    dotted = {"metadata": {"name": "a.b"}}
    assert refusal(lambda: store.create(NAMESPACE, None, dotted)).code == 422
    assert store.create(CONFIG_MAP, "default", config_map("1.job.plan"))


def test_a_dry_run_checks_but_stores_nothing(store: Store) -> None:
    before = store.version
    made = store.create(CONFIG_MAP, "default", config_map(), dry_run=True)
    assert made["metadata"]["name"] == "settings"
    assert store.version == before
    assert refusal(lambda: store.get(CONFIG_MAP, "default", "settings")).code == 404


def test_cluster_objects_have_no_namespace(store: Store) -> None:
    node = store.create(NODE, None, {"metadata": {"name": "n1"}})
    assert "namespace" not in node["metadata"]
    sent = {"metadata": {"name": "n2", "namespace": "default"}}
    assert refusal(lambda: store.create(NODE, None, sent)).code == 400


def test_generation_begins_at_one_where_there_is_a_generation(store: Store) -> None:
    rt = serve(store)
    assert store.create(rt, "default", widget())["metadata"]["generation"] == 1
    assert store.create(POD, "default", pod())["metadata"]["generation"] == 1
    assert "generation" not in store.create(CONFIG_MAP, "default", config_map())["metadata"]


def test_a_finalizer_needs_no_domain(store: Store) -> None:
    rt = serve(store)
    made = store.create(rt, "default", widget(metadata={"finalizers": ["mine"]}))
    assert made["metadata"]["finalizers"] == ["mine"]


def test_the_cluster_is_known_by_the_uid_of_kube_system(store: Store) -> None:
    assert store.cluster_uid == store.get(NAMESPACE, None, "kube-system")["metadata"]["uid"]
