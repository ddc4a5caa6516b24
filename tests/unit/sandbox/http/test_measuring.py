"""`metrics.k8s.io` is served while something plays its CPU, as the metrics server serves it."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.http.api import Api
from sandbox.store.resources import NODE, POD
from sandbox.store.steering import BEHAVIOR, CPU
from sandbox.store.store import Store
from tests.unit.sandbox.http.asking import MERGE, Asker

GROUP = "/apis/metrics.k8s.io"
NODES, PODS = f"{GROUP}/v1beta1/nodes", f"{GROUP}/v1beta1/namespaces/default/pods"
NANO = 1_000_000


def node(store: Store, name: str, **annotations: str) -> None:
    store.create(NODE, None, {"metadata": {"name": name, "annotations": annotations}})


def pod(store: Store, name: str, phase: str = "Running", **annotations: str) -> None:
    containers = [{"name": each, "image": "i"} for each in ("first", "second")]
    meta = {"name": name, "annotations": annotations, "labels": {"app": name[0]}}
    spec = {"containers": containers, "nodeName": "node-0"}
    store.create(POD, "default", {"metadata": meta, "spec": spec})
    status = {"status": {"phase": phase}}
    store.patch(POD, "default", name, status, MERGE, subresource="status")


def used(item: Any) -> int:
    text: str = item["usage"]["cpu"]
    assert text.endswith("n")
    return int(text[:-1]) // NANO


def test_a_cluster_in_which_nothing_plays_its_cpu_has_no_metrics_server(
    asker: Asker, store: Store
) -> None:
    node(store, "node-0")
    assert asker.ask("GET", NODES).status == 404
    assert asker.ask("GET", f"{GROUP}/v1beta1").status == 404
    assert "metrics.k8s.io" not in {each["name"] for each in asker.json("GET", "/apis")["groups"]}


def test_the_group_comes_with_the_first_annotation_and_goes_with_the_last(
    asker: Asker, store: Store
) -> None:
    """Discovery is cached, and has to follow."""
    asker.json("GET", "/apis")
    node(store, "node-0", **{CPU: "2"})
    assert "metrics.k8s.io" in {each["name"] for each in asker.json("GET", "/apis")["groups"]}
    listed = asker.json("GET", f"{GROUP}/v1beta1")["resources"]
    assert {each["name"]: each["kind"] for each in listed} == {
        "nodes": "NodeMetrics",
        "pods": "PodMetrics",
    }
    assert all(each["verbs"] == ["get", "list"] for each in listed)
    store.patch(NODE, None, "node-0", {"metadata": {"annotations": {CPU: None}}}, MERGE)
    assert asker.ask("GET", NODES).status == 404
    assert asker.ask("GET", f"{GROUP}/v1beta1").status == 404


def test_a_cluster_made_with_metrics_serves_them_at_once(store: Store) -> None:
    node(store, "node-0")
    asker = Asker(Api(store, now=lambda: 1_790_000_000.0, has_metrics=True))
    (item,) = asker.json("GET", NODES)["items"]
    assert (item["metadata"]["name"], used(item)) == ("node-0", 0)


def test_a_node_uses_what_its_running_pods_use_and_what_it_plays_beside_them(
    asker: Asker, store: Store
) -> None:
    node(store, "node-0", **{CPU: "1500m"})
    node(store, "node-1")
    node(store, "node-2", **{BEHAVIOR: "silent"})
    pod(store, "a", **{CPU: "250m"})
    pod(store, "b", **{CPU: "1"})
    pod(store, "c", "Succeeded", **{CPU: "9"})
    pod(store, "d")
    listing = asker.json("GET", NODES)
    assert {each["metadata"]["name"]: used(each) for each in listing["items"]} == {
        "node-0": 2750,
        "node-1": 0,
    }
    assert (listing["kind"], listing["metadata"]) == ("NodeMetricsList", {})
    assert used(asker.json("GET", f"{NODES}/node-0")) == 2750
    assert asker.ask("GET", f"{NODES}/node-2").status == 404


def test_pods_that_run_and_are_played_are_measured_by_container_and_label(
    asker: Asker, store: Store
) -> None:
    pod(store, "a", **{CPU: "250m"})
    pod(store, "b", **{CPU: "1"})
    pod(store, "c", "Pending", **{CPU: "9"})
    pod(store, "d")
    listing = asker.json("GET", PODS)
    assert [each["metadata"]["name"] for each in listing["items"]] == ["a", "b"]
    assert [used(each) for each in listing["items"][0]["containers"]] == [250, 0]
    (selected,) = asker.json("GET", f"{PODS}?labelSelector=app%3Db")["items"]
    assert (selected["metadata"]["name"], selected["window"]) == ("b", "15s")
    assert asker.json("GET", f"{GROUP}/v1beta1/pods")["kind"] == "PodMetricsList"
    assert asker.json("GET", f"{PODS}/a")["kind"] == "PodMetrics"
    assert asker.ask("GET", f"{PODS}/d").status == 404


@pytest.mark.parametrize(
    ("method", "path"), [("DELETE", f"{NODES}/x"), ("POST", PODS), ("GET", f"{NODES}?watch=1")]
)
def test_metrics_are_only_read(asker: Asker, store: Store, method: str, path: str) -> None:
    node(store, "node-0", **{CPU: "1"})
    assert asker.ask(method, path, {}).status == 405
