"""Core kinds: what the server adds to them and refuses in them."""

from __future__ import annotations

import base64
from functools import partial
from typing import Any

import pytest

from sandbox.store.deleting import DeleteOptions
from sandbox.store.resources import CONFIG_MAP, EVENT, NAMESPACE, NODE, POD, SECRET, SERVICE
from sandbox.store.store import Store
from tests.unit.sandbox.store.building import MERGE, causes, config_map, pod, refusal

MEBIBYTE = 1_048_576
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


def test_a_new_pod_is_pending_and_complete(store: Store) -> None:
    made = store.create(POD, "default", pod())
    spec = made["spec"]
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert spec["restartPolicy"] == "Always"
    assert spec["dnsPolicy"] == "ClusterFirst"
    assert spec["schedulerName"] == "default-scheduler"
    assert spec["terminationGracePeriodSeconds"] == 30
    assert [(item["key"], item["tolerationSeconds"]) for item in spec["tolerations"]] == [
        ("node.kubernetes.io/not-ready", 300),
        ("node.kubernetes.io/unreachable", 300),
    ]
    assert spec["containers"][0]["imagePullPolicy"] == "IfNotPresent"


def test_what_a_pod_says_itself_is_kept(store: Store) -> None:
    told = {
        "key": "node.kubernetes.io/not-ready",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 5,
    }
    spec = store.create(POD, "default", pod(restartPolicy="Never", tolerations=[told]))["spec"]
    assert spec["restartPolicy"] == "Never"
    assert spec["tolerations"][0] == told
    assert len(spec["tolerations"]) == 2


@pytest.mark.parametrize(
    ("resources", "qos"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable"),
    ],
)
def test_quality_of_service_follows_from_resources(
    store: Store, resources: dict[str, Any], qos: str
) -> None:
    containers = [{"name": "a", "image": "b", "resources": resources}]
    made = store.create(POD, "default", pod(containers=containers))
    assert made["status"]["qosClass"] == qos


def test_requests_default_to_limits(store: Store) -> None:
    containers = [{"name": "a", "image": "b", "resources": {"limits": {"cpu": "2"}}}]
    made = store.create(POD, "default", pod(containers=containers))
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "2"}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"containers": []}, "spec.containers"),
        ({"containers": [{"image": "x"}]}, "spec.containers[0].name"),
        ({"containers": [{"name": "x"}]}, "spec.containers[0].image"),
        ({"containers": [{"name": "x", "image": "y"}] * 2}, "spec.containers[1].name"),
        ({"restartPolicy": "Sometimes"}, "spec.restartPolicy"),
    ],
)
def test_a_pod_that_cannot_run_is_refused(store: Store, spec: dict[str, Any], field: str) -> None:
    error = refusal(lambda: store.create(POD, "default", pod(**spec)))
    assert [found for found, _ in causes(error)] == [field]


def test_the_spec_of_a_pod_is_fixed(store: Store) -> None:
    store.create(POD, "default", pod())
    body = {"spec": {"nodeName": "n1"}}
    error = refusal(lambda: store.patch(POD, "default", "worker", body, MERGE))
    assert causes(error) == [("spec", "FieldValueForbidden")]


def test_the_image_of_a_pod_may_change(store: Store) -> None:
    made = store.create(POD, "default", pod())
    containers = [{**made["spec"]["containers"][0], "image": "registry/app:2"}]
    body = {"spec": {"containers": containers}}
    changed = store.patch(POD, "default", "worker", body, MERGE)
    assert changed["spec"]["containers"][0]["image"] == "registry/app:2"
    assert changed["metadata"]["generation"] == 2


def test_a_pod_may_not_ask_for_more_than_its_limit(store: Store) -> None:
    """Quantities are compared by what they are, not by how they are written."""
    for asked, limit, is_taken in (("1000m", "1", True), ("1001m", "1", False), ("2", "", True)):
        resources = {"requests": {"cpu": asked}, "limits": {"cpu": limit} if limit else {}}
        container = {"name": "c", "image": "x", "resources": resources}
        wanted = pod(f"asks-{asked}", containers=[container])
        if is_taken:
            store.create(POD, "default", wanted)
            continue
        error = refusal(partial(store.create, POD, "default", wanted))
        assert error.code == 422
        assert error.message.endswith(
            'spec.containers[0].resources.requests: Invalid value: "1001m": '
            "must be less than or equal to cpu limit of 1"
        )


def test_a_pod_is_bound_once(store: Store) -> None:
    store.create(POD, "default", pod())
    bound = store.bind("default", "worker", "n1")
    assert bound["spec"]["nodeName"] == "n1"
    (condition,) = bound["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")
    assert refusal(lambda: store.bind("default", "worker", "n2")).code == 409


def test_a_pod_that_is_being_deleted_is_not_bound(store: Store) -> None:
    store.create(POD, "default", pod(metadata={"finalizers": ["example.com/a"]}))
    store.delete(POD, "default", "worker")
    assert refusal(lambda: store.bind("default", "worker", "n1")).code == 409


def test_an_evicted_pod_is_deleted_with_its_grace(store: Store) -> None:
    store.create(POD, "default", pod())
    store.bind("default", "worker", "n1")
    removal = store.evict("default", "worker")
    assert not removal.gone
    assert removal.object["metadata"]["deletionGracePeriodSeconds"] == 30


def test_an_eviction_says_that_a_running_pod_is_disrupted_and_of_a_pending_one_nothing(
    store: Store,
) -> None:
    store.create(POD, "default", pod())
    store.bind("default", "worker", "n1")
    assert all(each["type"] != "DisruptionTarget" for each in evicted_conditions(store))
    store.delete(POD, "default", "worker", DeleteOptions(grace_period_s=0))
    store.create(POD, "default", pod())
    store.bind("default", "worker", "n1")
    running = {"status": {"phase": "Running"}}
    store.patch(POD, "default", "worker", running, MERGE, subresource="status")
    said = [each for each in evicted_conditions(store) if each["type"] == "DisruptionTarget"]
    assert [(each["status"], each["reason"]) for each in said] == [
        ("True", "EvictionByEvictionAPI")
    ]


def evicted_conditions(store: Store) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = store.evict("default", "worker").object["status"]["conditions"]
    return found


def test_a_configmap_may_hold_one_mebibyte(store: Store) -> None:
    assert store.create(CONFIG_MAP, "default", config_map(data={"a": "x" * MEBIBYTE}))
    too_much = config_map("big", data={"a": "x" * MEBIBYTE, "b": "x"})
    error = refusal(lambda: store.create(CONFIG_MAP, "default", too_much))
    assert error.code == 422
    assert causes(error) == [("[]", "FieldValueTooLong")]


def test_binary_data_counts_decoded(store: Store) -> None:
    encoded = base64.b64encode(b"x" * MEBIBYTE).decode()
    assert store.create(CONFIG_MAP, "default", config_map(binaryData={"a": encoded}))


def test_keys_of_a_configmap_are_file_names(store: Store) -> None:
    error = refusal(lambda: store.create(CONFIG_MAP, "default", config_map(data={"a/b": ""})))
    assert causes(error) == [("data[a/b]", "FieldValueInvalid")]


def test_an_immutable_configmap_keeps_its_data_but_not_its_labels(store: Store) -> None:
    store.create(CONFIG_MAP, "default", config_map(data={"a": "1"}, immutable=True))

    def patched(body: dict[str, Any]) -> Any:
        return store.patch(CONFIG_MAP, "default", "settings", body, MERGE)

    assert patched({"metadata": {"labels": {"generation": "2"}}})
    for body in ({"data": {"a": "2"}}, {"immutable": None}, {"binaryData": {"b": "eA=="}}):
        error = refusal(partial(patched, body))
        assert error.code == 422
        assert {reason for _, reason in causes(error)} == {"FieldValueForbidden"}


def test_services_get_an_address_of_their_own_unless_headless(store: Store) -> None:
    def service(name: str, **spec: Any) -> Any:
        body = {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}
        return store.create(SERVICE, "default", body)["spec"]

    one, two, headless = service("one"), service("two"), service("three", clusterIP="None")
    assert one["clusterIP"].startswith("10.96.")
    assert one["clusterIP"] != two["clusterIP"]
    assert headless["clusterIPs"] == ["None"]
    assert one["type"] == "ClusterIP"
    assert one["ports"] == [{"protocol": "TCP", "targetPort": 80, "port": 80}]


def test_the_address_of_a_service_never_changes(store: Store) -> None:
    body = {"metadata": {"name": "one"}, "spec": {"ports": [{"port": 80}]}}
    made = store.create(SERVICE, "default", body)
    same = store.replace(SERVICE, "default", "one", body)
    assert same["spec"]["clusterIP"] == made["spec"]["clusterIP"]
    other = {"spec": {"clusterIP": "10.96.9.9"}}
    error = refusal(lambda: store.patch(SERVICE, "default", "one", other, MERGE))
    assert causes(error) == [("spec.clusterIPs[0]", "FieldValueInvalid")]


def test_a_service_that_becomes_a_name_of_somewhere_else_loses_its_address(store: Store) -> None:
    """It may then become headless, or get another address: the same on kube-apiserver 1.36."""
    spec = {"clusterIP": "None", "selector": {"a": "b"}, "ports": [{"port": 80}]}
    store.create(SERVICE, "default", {"metadata": {"name": "one"}, "spec": spec})

    def patched(**change: Any) -> Any:
        return store.patch(SERVICE, "default", "one", {"spec": change}, MERGE)["spec"]

    error = refusal(lambda: patched(type="ExternalName"))
    assert causes(error) == [("spec.externalName", "FieldValueRequired")]
    outside = patched(type="ExternalName", externalName="example.com")
    of_addresses = {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}
    assert not outside.keys() & (of_addresses | {"internalTrafficPolicy"})
    headless = patched(type="ClusterIP", clusterIP="None", externalName=None)
    assert headless["clusterIPs"] == ["None"]
    assert headless["ipFamilies"] == ["IPv4"]
    patched(type="ExternalName", externalName="example.com")
    assert patched(type="ClusterIP", externalName=None)["clusterIP"].startswith("10.96.")


def test_the_port_that_is_aimed_at_is_as_wrong_as_the_one_it_is_taken_from(store: Store) -> None:
    body = {"metadata": {"name": "one"}, "spec": {"ports": [{"port": 0}]}}
    error = refusal(lambda: store.create(SERVICE, "default", body))
    invalid = "FieldValueInvalid"
    assert causes(error) == [
        ("spec.ports[0].port", invalid),
        ("spec.ports[0].targetPort", invalid),
    ]


def test_a_service_with_an_address_needs_ports(store: Store) -> None:
    body = {"metadata": {"name": "one"}, "spec": {}}
    error = refusal(lambda: store.create(SERVICE, "default", body))
    assert causes(error) == [("spec.ports", "FieldValueRequired")]
    assert store.create(SERVICE, "default", {**body, "spec": {"clusterIP": "None"}})


def test_a_namespace_is_active_and_labelled_with_its_name(store: Store) -> None:
    made = store.create(NAMESPACE, None, {"metadata": {"name": "team"}})
    assert made["status"] == {"phase": "Active"}
    assert made["spec"] == {"finalizers": ["kubernetes"]}
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team"}


def test_an_event_lives_in_the_namespace_of_its_object(store: Store) -> None:
    body = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "other", "name": "x"}}
    error = refusal(lambda: store.create(EVENT, "default", body))
    assert causes(error) == [("involvedObject.namespace", "FieldValueInvalid")]


def test_text_of_a_secret_is_stored_encoded(store: Store) -> None:
    made = store.create(SECRET, "default", config_map("s", stringData={"a": "b"}))
    assert made["data"] == {"a": "Yg=="}
    assert "stringData" not in made
    assert made["type"] == "Opaque"


@pytest.mark.parametrize("is_made_there", [True, False])
def test_a_pod_with_a_node_has_its_zone_and_region(store: Store, is_made_there: bool) -> None:
    """Whether it is bound or made there, and whatever it said itself; other labels are its own."""
    theirs = {ZONE: "east", REGION: "north", "disk": "ssd"}
    store.create(NODE, None, {"metadata": {"name": "n1", "labels": theirs}})
    labels = {ZONE: "west", "disk": "none"}
    spec = {"nodeName": "n1"} if is_made_there else {}
    made = store.create(POD, "default", pod(metadata={"labels": labels}, **spec))
    if not is_made_there:
        assert made["metadata"]["labels"] == labels
        made = store.bind("default", "worker", "n1")
    assert made["metadata"]["labels"] == {ZONE: "east", REGION: "north", "disk": "none"}
