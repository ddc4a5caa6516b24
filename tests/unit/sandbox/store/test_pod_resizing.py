"""The subresource `resize` of pods, as kube-apiserver serves it."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.store.errors import ApiError
from sandbox.store.resources import POD
from sandbox.store.store import Store

STRATEGIC = "application/strategic-merge-patch+json"


@pytest.fixture
def store() -> Store:
    made = Store(now=lambda: 1_700_000_000.0, new_uid=lambda: "u")
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2"}}
    container = {"name": "pe", "image": "i", "resources": resources}
    body = {"metadata": {"name": "p"}, "spec": {"containers": [container]}}
    made.create(POD, "default", body)
    return made


def resized(store: Store, **resources: Any) -> dict[str, Any]:
    patch = {"spec": {"containers": [{"name": "pe", "resources": resources}]}}
    return dict(store.patch(POD, "default", "p", patch, STRATEGIC, subresource="resize"))


def refused(store: Store, **resources: Any) -> str:
    with pytest.raises(ApiError) as problem:
        resized(store, **resources)
    assert problem.value.code == 422
    return problem.value.message


def test_cpu_and_memory_change_and_the_generation_rises(store: Store) -> None:
    pod = resized(store, requests={"cpu": "500m"}, limits={"cpu": "1"})
    (container,) = pod["spec"]["containers"]
    assert container["resources"] == {
        "requests": {"cpu": "500m", "memory": "1Gi"},
        "limits": {"cpu": "1"},
    }
    assert (container["image"], pod["metadata"]["generation"]) == ("i", 2)
    again = resized(store, requests={"cpu": "500m"}, limits={"cpu": "1"})
    assert again["metadata"]["resourceVersion"] == pod["metadata"]["resourceVersion"]


def test_the_qos_class_may_not_change(store: Store) -> None:
    text = refused(store, requests={"cpu": "2", "memory": "1Gi"}, limits={"memory": "1Gi"})
    assert "Pod QOS Class may not change as a result of resizing" in text


def test_other_resources_and_removals_are_refused(store: Store) -> None:
    text = refused(store, requests={"ephemeral-storage": "1Gi"})
    assert "only cpu and memory resources are mutable" in text
    assert "resource limits cannot be removed" in refused(store, limits=None)


def test_what_is_no_resource_is_dropped(store: Store) -> None:
    patch = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "pe", "image": "other"}], "nodeName": "n"},
    }
    pod = store.patch(POD, "default", "p", patch, STRATEGIC, subresource="resize")
    assert pod["spec"]["containers"][0]["image"] == "i"
    assert "nodeName" not in pod["spec"]
    assert "labels" not in pod["metadata"]


def test_containers_are_neither_added_nor_renamed(store: Store) -> None:
    patch = {"spec": {"containers": [{"name": "more", "image": "i"}]}}
    with pytest.raises(ApiError) as problem:
        store.patch(POD, "default", "p", patch, STRATEGIC, subresource="resize")
    assert "containers may not be added or removed on resize" in problem.value.message


def test_the_spec_itself_does_not_change_without_the_subresource(store: Store) -> None:
    patch = {"spec": {"containers": [{"name": "pe", "resources": {"requests": {"cpu": "2"}}}]}}
    with pytest.raises(ApiError) as problem:
        store.patch(POD, "default", "p", patch, STRATEGIC)
    assert "pod updates may not change fields other than" in problem.value.message
