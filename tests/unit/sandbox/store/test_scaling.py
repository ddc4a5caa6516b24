"""The scale subresource of custom resources."""

from __future__ import annotations

import pytest

from sandbox.store.resources import ResourceType
from sandbox.store.store import Store
from tests.unit.sandbox.store.building import MERGE, causes, definition, refusal, serve, widget

SPEC = {"type": "object", "properties": {"width": {"type": "integer", "minimum": 1}}}
STATUS = {
    "type": "object",
    "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}},
}
SCALE = {
    "specReplicasPath": ".spec.width",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


@pytest.fixture
def widgets(store: Store) -> ResourceType:
    crd = definition(SPEC, status=STATUS, subresources={"status": {}, "scale": SCALE})
    rt = serve(store, crd)
    store.create(rt, "default", widget({"width": 3}))
    return rt


def test_a_scale_shows_replicas_and_selector(store: Store, widgets: ResourceType) -> None:
    body = {"status": {"replicas": 2, "selector": "app=one"}}
    stored = store.patch(widgets, "default", "one", body, MERGE, subresource="status")
    scale = store.get(widgets, "default", "one", subresource="scale")
    assert (scale["apiVersion"], scale["kind"]) == ("autoscaling/v1", "Scale")
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"] == {"replicas": 2, "selector": "app=one"}
    assert scale["metadata"]["resourceVersion"] == stored["metadata"]["resourceVersion"]


def test_a_patched_scale_changes_the_spec(store: Store, widgets: ResourceType) -> None:
    body = {"spec": {"replicas": 5}}
    scale = store.patch(widgets, "default", "one", body, MERGE, subresource="scale")
    assert scale["spec"] == {"replicas": 5}
    stored = store.get(widgets, "default", "one")
    assert stored["spec"] == {"width": 5}
    assert stored["metadata"]["generation"] == 2


def test_a_put_scale_is_fenced_by_its_version(store: Store, widgets: ResourceType) -> None:
    scale = store.get(widgets, "default", "one", subresource="scale")
    wider = {**scale, "spec": {"replicas": 4}}
    store.replace(widgets, "default", "one", wider, subresource="scale")
    error = refusal(lambda: store.replace(widgets, "default", "one", wider, subresource="scale"))
    assert error.code == 409


def test_the_schema_holds_for_scales_too(store: Store, widgets: ResourceType) -> None:
    def scaled(replicas: object) -> object:
        body = {"spec": {"replicas": replicas}}
        return store.patch(widgets, "default", "one", body, MERGE, subresource="scale")

    assert causes(refusal(lambda: scaled(0))) == [("spec.width", "FieldValueInvalid")]
    assert causes(refusal(lambda: scaled(-1))) == [("spec.replicas", "FieldValueInvalid")]
    assert refusal(lambda: scaled("many")).code == 400


def test_a_scale_of_an_object_without_replicas_is_the_servers_error(
    store: Store, widgets: ResourceType
) -> None:
    store.create(widgets, "default", widget(name="bare"))
    error = refusal(lambda: store.get(widgets, "default", "bare", subresource="scale"))
    assert error.code == 500
