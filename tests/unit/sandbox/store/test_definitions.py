"""CustomResourceDefinitions: what they add, what is refused, and how they go."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from sandbox.store.deleting import DeleteOptions
from sandbox.store.resources import CUSTOM_RESOURCE_DEFINITION as DEFINITION
from sandbox.store.store import Store
from tests.unit.sandbox.store.building import (
    MERGE,
    Body,
    causes,
    config_map,
    definition,
    refusal,
    serve,
    widget,
)

NAME = "widgets.example.com"
ROOT = "spec.validation.openAPIV3Schema"
SPEC = f"{ROOT}.properties[spec]"


def test_a_definition_is_served_at_once(store: Store) -> None:
    column = {"name": "Phase", "type": "string", "jsonPath": ".status.phase"}
    rt = serve(store, definition(additionalPrinterColumns=[column]))
    assert (rt.kind, rt.singular, rt.kind_of_list) == ("Widget", "widget", "WidgetList")
    assert (rt.api_version, rt.namespaced, rt.custom) == ("example.com/v1", True, True)
    assert rt.short_names == ("wg",)
    assert rt.subresources == {"status"}
    assert [(item.name, item.json_path) for item in rt.columns] == [("Phase", ".status.phase")]
    stored = store.get(DEFINITION, None, NAME)
    conditions = {item["type"]: item["status"] for item in stored["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    assert stored["status"]["storedVersions"] == ["v1"]
    assert stored["status"]["acceptedNames"]["plural"] == "widgets"


def test_a_changed_definition_takes_effect_on_the_next_write(store: Store) -> None:
    rt = serve(store)
    spec = {"type": "object", "properties": {"width": {"type": "integer", "minimum": 1}}}
    versions = definition(spec)["spec"]["versions"]
    store.patch(DEFINITION, None, NAME, {"spec": {"versions": versions}}, MERGE)
    error = refusal(lambda: store.create(rt, "default", widget({"width": 0})))
    assert error.code == 422
    assert store.get(DEFINITION, None, NAME)["metadata"]["generation"] == 2


def test_a_definition_takes_its_objects_along(store: Store) -> None:
    rt = serve(store)
    store.create(rt, "default", widget())
    watch = store.watch(rt, None, since=store.version)
    assert store.delete(DEFINITION, None, NAME) is None
    assert [event.type for event in watch.take()] == ["DELETED"]
    assert watch.closed
    assert store.registry.find("example.com", "v1", "widgets") is None
    assert refusal(lambda: store.create(rt, "default", widget())).code == 404
    assert store.list(serve(store), None).items == []


def test_a_definition_waits_for_objects_with_finalizers(store: Store) -> None:
    rt = serve(store)
    store.create(rt, "default", widget(metadata={"finalizers": ["example.com/a"]}))
    assert "finalizers" not in store.get(DEFINITION, None, NAME)["metadata"]
    held = store.delete(DEFINITION, None, NAME)
    assert held is not None
    assert held["metadata"]["deletionTimestamp"]
    store.patch(rt, "default", "one", {"metadata": {"finalizers": None}}, MERGE)
    assert refusal(lambda: store.get(DEFINITION, None, NAME)).code == 404


def test_objects_of_other_kinds_survive(store: Store) -> None:
    from sandbox.store.resources import CONFIG_MAP

    serve(store)
    store.create(CONFIG_MAP, "default", config_map())
    store.delete(DEFINITION, None, NAME, DeleteOptions())
    assert store.get(CONFIG_MAP, "default", "settings")


@pytest.mark.parametrize(
    ("spec", "field", "reason"),
    [
        ({"properties": {}}, f"{SPEC}.type", "FieldValueRequired"),
        ({"type": "thing"}, f"{SPEC}.type", "FieldValueNotSupported"),
        ({"type": "object", "properties": {"a": {"type": "array"}}},
         f"{SPEC}.properties[a].items", "FieldValueRequired"),
        ({"type": "object", "properties": {"a": {"$ref": "#/x", "type": "string"}}},
         f"{SPEC}.properties[a].$ref", "FieldValueForbidden"),
        ({"type": "object", "additionalProperties": False},
         f"{SPEC}.additionalProperties", "FieldValueForbidden"),
        ({"type": "object", "properties": {"a": {"type": "string"}},
          "additionalProperties": {"type": "string"}},
         f"{SPEC}.additionalProperties", "FieldValueForbidden"),
        ({"type": "array", "uniqueItems": True, "items": {"type": "string"}},
         f"{SPEC}.uniqueItems", "FieldValueForbidden"),
        ({"type": "string", "anyOf": [{"type": "string"}]},
         f"{SPEC}.anyOf[0].type", "FieldValueForbidden"),
        ({"type": "object", "oneOf": [{"properties": {"a": {"minimum": 1}}}]},
         f"{SPEC}.properties[a]", "FieldValueRequired"),
        ({"type": "integer", "minimum": 1, "default": 0},
         f"{SPEC}.default", "FieldValueInvalid"),
    ],
)  # fmt: skip
def test_a_schema_that_is_not_structural_is_refused_with_the_path(
    store: Store, spec: Body, field: str, reason: str
) -> None:
    error = refusal(lambda: serve(store, definition(spec)))
    assert error.code == 422
    assert causes(error) == [(field, reason)]


@pytest.mark.parametrize(
    "spec",
    [
        {"type": "integer", "exclusiveMinimum": 0},
        {"type": "object", "properties": ["a"]},
        {"type": "object", "properties": {"a": 1}},
        {"type": ["string"]},
    ],
)
def test_a_schema_with_keywords_of_other_types_cannot_be_read(store: Store, spec: Body) -> None:
    assert refusal(lambda: serve(store, definition(spec))).code == 400


def test_a_default_of_null_says_nothing(store: Store) -> None:
    serve(store, definition({"type": "string", "default": None}))
    schema = store.get(DEFINITION, None, NAME)["spec"]["versions"][0]["schema"]
    assert "default" not in schema["openAPIV3Schema"]["properties"]["spec"]


@pytest.mark.parametrize("pattern", ["[", "(", "a)", "*", "(?=a)", r"(a)\1"])
def test_a_pattern_that_is_no_expression_is_refused(store: Store, pattern: str) -> None:
    error = refusal(lambda: serve(store, definition({"type": "string", "pattern": pattern})))
    assert causes(error) == [(f"{SPEC}.pattern", "FieldValueInvalid")]


LIST = {"type": "array", "x-kubernetes-list-type": "map"}
ITEM = {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({**LIST, "items": ITEM}, "x-kubernetes-list-map-keys"),
        ({**LIST, "items": {"type": "string"}, "x-kubernetes-list-map-keys": ["id"]}, "items.type"),
        ({**LIST, "items": ITEM, "x-kubernetes-list-map-keys": ["id", "id"]},
         "x-kubernetes-list-map-keys"),
        ({**LIST, "items": ITEM, "x-kubernetes-list-map-keys": ["no"]},
         "x-kubernetes-list-map-keys"),
        ({**LIST, "items": {**ITEM, "required": []}, "x-kubernetes-list-map-keys": ["id"]},
         "items.properties[id].default"),
        ({**LIST, "items": ITEM, "x-kubernetes-list-type": "bag"}, "x-kubernetes-list-type"),
        ({"type": "string", "x-kubernetes-list-type": "set"}, "type"),
        ({"type": "array", "items": ITEM, "x-kubernetes-list-map-keys": ["id"]},
         "x-kubernetes-list-type"),
    ],
)  # fmt: skip
def test_a_list_with_keys_has_them_and_items_that_have_them(
    store: Store, spec: Body, field: str
) -> None:
    error = refusal(lambda: serve(store, definition(spec)))
    assert [path for path, _ in causes(error)] == [f"{SPEC}.{field}"]


@pytest.mark.parametrize(
    ("entry", "field", "reason"),
    [
        ({"rule": " "}, "rule", "FieldValueRequired"),
        ({"rule": "true", "message": " "}, "message", "FieldValueInvalid"),
        ({"rule": "true", "message": "a\nb"}, "message", "FieldValueInvalid"),
        ({"rule": "true ||\nfalse"}, "message", "FieldValueRequired"),
        ({"rule": "true", "reason": "Because"}, "reason", "FieldValueNotSupported"),
    ],
)
def test_a_rule_says_something_in_one_line(
    store: Store, entry: Body, field: str, reason: str
) -> None:
    spec = {"type": "string", "x-kubernetes-validations": [entry]}
    error = refusal(lambda: serve(store, definition(spec)))
    assert causes(error) == [(f"{SPEC}.x-kubernetes-validations[0].{field}", reason)]


def test_who_creates_a_definition_is_answered_before_its_names_are_accepted(store: Store) -> None:
    made = store.create(DEFINITION, None, definition())
    assert made["status"] == {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": ["v1"],
    }
    conditions = store.get(DEFINITION, None, NAME)["status"]["conditions"]
    assert [each["type"] for each in conditions] == ["NamesAccepted", "Established"]


def test_junctors_may_restrict_what_is_declared_outside(store: Store) -> None:
    spec = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "anyOf": [{"properties": {"a": {"minimum": 1}}}, {"required": ["a"]}],
    }
    assert serve(store, definition(spec))


def broken(**changes: Any) -> Body:
    body = definition()
    body["spec"].update(changes)
    return body


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({**definition(), "metadata": {"name": "other"}}, "metadata.name"),
        (broken(scope="Galaxy"), "spec.scope"),
        (broken(versions=[]), "spec.versions"),
        (broken(versions=[{"name": "v1", "served": True, "storage": True}]),
         "spec.versions[0].schema.openAPIV3Schema"),
        (definition(subresources={"scale": {"specReplicasPath": ".spec.a"}}),
         "spec.subresources.scale.statusReplicasPath"),
        (definition(subresources={"scale": {"specReplicasPath": "a", "statusReplicasPath": ".a"}}),
         "spec.subresources.scale.specReplicasPath"),
        (broken(group="x"), "spec.group"),
        (broken(group="X.y"), "spec.group"),
        (broken(names={"plural": "Widgets", "kind": "Widget"}), "spec.names.plural"),
        (broken(names={"plural": "widgets", "kind": "W", "listKind": "W"}), "spec.names.listKind"),
        (definition(additionalPrinterColumns=[{"name": "A", "type": "text", "jsonPath": ".a"}]),
         "spec.additionalPrinterColumns[0].type"),
        (definition(additionalPrinterColumns=[{"name": "A", "type": "string", "jsonPath": ""}]),
         "spec.additionalPrinterColumns[0].JSONPath"),
        (definition(additionalPrinterColumns=[{"name": "", "type": "date", "jsonPath": "a"}]),
         "spec.additionalPrinterColumns[0].name"),
    ],
)  # fmt: skip
def test_a_definition_that_is_incomplete_names_the_field(
    store: Store, body: Body, field: str
) -> None:
    error = refusal(lambda: store.create(DEFINITION, None, body))
    assert error.code == 422
    assert field in [found for found, _ in causes(error)]


def test_group_and_scope_never_change(store: Store) -> None:
    serve(store)
    body = {"spec": {"scope": "Cluster"}}
    error = refusal(lambda: store.patch(DEFINITION, None, NAME, body, MERGE))
    assert causes(error) == [("spec.scope", "FieldValueInvalid")]


def test_a_misshapen_definition_is_a_bad_request(store: Store) -> None:
    misshapen: tuple[Any, ...] = ("x", {"names": []}, {"versions": {}}, {"versions": ["v1"]})
    for spec in misshapen:
        body = {"metadata": {"name": NAME}, "spec": spec}
        assert refusal(partial(store.create, DEFINITION, None, body)).code == 400
