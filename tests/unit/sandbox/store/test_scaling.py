"""The scale subresource of custom resources."""

from __future__ import annotations

import pytest

from sandbox.store.resources import ResourceType
from sandbox.store.scaling import ScalePaths, scale_causes
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
    assert causes(refusal(lambda: scaled(-1))) == [
        ("spec.width", "FieldValueInvalid"),
        (".spec.width", "FieldValueInvalid"),
    ]
    assert refusal(lambda: scaled("many")).code == 400


@pytest.mark.parametrize(
    ("width", "message"),
    [
        ("many", 'spec.width cannot be "many"; it is an integer'),
        (True, "spec.width cannot be true; it is an integer"),
        (1.5, "spec.width cannot be 1.5; it is an integer"),
        ({"a": [1]}, 'spec.width cannot be {"a":[1]}; it is an integer'),
        (2**31, "should be less than or equal to 2147483647"),
        (-1, "should be a non-negative integer"),
    ],
)
def test_replicas_are_read_as_whole_numbers_beside_the_schema(width: object, message: str) -> None:
    paths = ScalePaths(".spec.width", ".status.width")
    (cause,) = scale_causes({"spec": {"width": width}}, paths)
    assert cause.field == ".spec.width"
    assert cause.message.endswith(message)
    assert not scale_causes({"spec": {"width": width}}, paths, status_only=True)


def test_what_is_not_there_is_no_mistake_of_a_scale() -> None:
    paths = ScalePaths(".spec.width", ".status.width", ".status.selector")
    assert scale_causes({"spec": None}, paths) == []
    (cause,) = scale_causes({"status": {"selector": {}}}, paths)
    assert cause.field == ".status.selector"


def test_a_scale_of_an_object_without_replicas_is_the_servers_error(
    store: Store, widgets: ResourceType
) -> None:
    store.create(widgets, "default", widget(name="bare"))
    error = refusal(lambda: store.get(widgets, "default", "bare", subresource="scale"))
    assert error.code == 500
