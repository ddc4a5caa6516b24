"""Custom resources: pruning, defaults, validation, strictness, scale."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.store.store import Store
from sandbox.store.validation import FieldValidation
from tests.unit.sandbox.store.building import (
    JSON_PATCH,
    MERGE,
    causes,
    definition,
    refusal,
    serve,
    widget,
)

INTEGER = {"type": "integer"}
TEXT = {"type": "string"}
SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {**TEXT, "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$"},
        "width": {**INTEGER, "minimum": 1, "maximum": 9, "default": 3},
        "ratio": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
        "mode": {**TEXT, "enum": ["fast", "safe"]},
        "tags": {"type": "array", "maxItems": 2, "items": TEXT, "x-kubernetes-list-type": "set"},
        "labels": {"type": "object", "additionalProperties": TEXT},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "port": {"x-kubernetes-int-or-string": True},
        "note": {**TEXT, "nullable": True},
        "when": {**TEXT, "format": "date-time"},
        "fusion": {
            "type": "object",
            "default": {"automatic": True},
            "properties": {"automatic": {"type": "boolean"}, "depth": {**INTEGER, "default": 1}},
        },
        "one": {
            "type": "object",
            "properties": {"a": TEXT, "b": TEXT},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        "items": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["id"],
            "items": {
                "type": "object",
                "required": ["id"],
                "properties": {"id": TEXT, "n": {**INTEGER, "default": 7}},
            },
        },
    },
}


def created(store: Store, spec: dict[str, Any], **options: Any) -> dict[str, Any]:
    rt = serve(store, definition(SPEC))
    made = store.create(rt, "default", widget({"name": "abc", **spec}), **options)
    result: dict[str, Any] = made["spec"]
    return result


def test_defaults_are_filled_in_down_to_the_defaults_of_defaults(store: Store) -> None:
    spec = created(store, {"items": [{"id": "x"}]})
    assert spec["width"] == 3
    assert spec["fusion"] == {"automatic": True, "depth": 1}
    assert spec["items"] == [{"id": "x", "n": 7}]


def test_a_default_is_never_shared_between_objects_and_schema(store: Store) -> None:
    rt = serve(store, definition(SPEC))
    store.create(rt, "default", widget({"name": "abc"}))
    store.patch(rt, "default", "one", {"spec": {"fusion": {"automatic": False}}}, MERGE)
    second = store.create(rt, "default", widget({"name": "abc"}, name="two"))
    assert second["spec"]["fusion"]["automatic"] is True


def test_null_means_the_default_or_absence_unless_it_is_allowed(store: Store) -> None:
    spec = created(store, {"width": None, "mode": None, "note": None})
    assert spec["width"] == 3
    assert "mode" not in spec
    assert spec["note"] is None


def test_unknown_fields_are_pruned_where_they_are_not_preserved(store: Store) -> None:
    sent = {
        "foo": 1,
        "fusion": {"foo": 1},
        "items": [{"id": "x", "foo": 1}],
        "free": {"foo": {"bar": None}},
        "labels": {"any": "key"},
    }
    spec = created(store, sent)
    assert "foo" not in spec
    assert spec["fusion"] == {"depth": 1}
    assert spec["items"] == [{"id": "x", "n": 7}]
    assert spec["free"] == {"foo": {"bar": None}}
    assert spec["labels"] == {"any": "key"}
    assert sent["foo"] == 1


def test_strict_validation_refuses_unknown_fields_by_name(store: Store) -> None:
    rt = serve(store, definition(SPEC))
    body = widget({"name": "abc", "foo": 1, "items": [{"bar": 1}]}, metadata={"what": 1})
    error = refusal(lambda: store.create(rt, "default", body, validation=FieldValidation("Strict")))
    assert error.code == 400
    assert 'unknown field "metadata.what"' in error.message
    assert 'unknown field "spec.foo"' in error.message
    assert 'unknown field "spec.items[0].bar"' in error.message
    store.create(rt, "default", widget({"name": "abc"}))
    patch = {"spec": {"foo": 1}}
    error = refusal(
        lambda: store.patch(
            rt, "default", "one", patch, MERGE, validation=FieldValidation("Strict")
        )
    )
    assert error.code == 422
    assert 'unknown field "spec.foo"' in error.message


@pytest.mark.parametrize(
    ("spec", "field", "reason"),
    [
        ({"name": None}, "spec.name", "FieldValueRequired"),
        ({"width": 0}, "spec.width", "FieldValueInvalid"),
        ({"width": 10}, "spec.width", "FieldValueInvalid"),
        ({"ratio": 0}, "spec.ratio", "FieldValueInvalid"),
        ({"width": "3"}, "spec.width", "FieldValueTypeInvalid"),
        ({"mode": "slow"}, "spec.mode", "FieldValueNotSupported"),
        ({"name": "a"}, "spec.name", "FieldValueInvalid"),
        ({"name": "abcdef"}, "spec.name", "FieldValueTooLong"),
        ({"name": "ABC"}, "spec.name", "FieldValueInvalid"),
        ({"tags": ["a", "b", "c"]}, "spec.tags", "FieldValueTooMany"),
        ({"tags": ["a", "a"]}, "spec.tags[1]", "FieldValueDuplicate"),
        ({"items": [{"id": "a"}, {"id": "a"}]}, "spec.items[1]", "FieldValueDuplicate"),
        ({"labels": {"a": 1}}, "spec.labels.a", "FieldValueTypeInvalid"),
        ({"one": {}}, "spec.one", "FieldValueInvalid"),
        ({"port": []}, "spec.port", "FieldValueTypeInvalid"),
        ({"items": [1]}, "spec.items[0]", "FieldValueTypeInvalid"),
    ],
)
def test_a_value_that_breaks_the_schema_is_refused_with_its_cause(
    store: Store, spec: dict[str, Any], field: str, reason: str
) -> None:
    error = refusal(lambda: created(store, spec))
    assert error.code == 422
    assert error.message.startswith(f'Widget.example.com "one" is invalid: {field}: ')
    assert (error.details or {})["kind"] == "Widget"
    assert causes(error) == [(field, reason)]


def test_every_cause_is_listed(store: Store) -> None:
    error = refusal(lambda: created(store, {"width": 0, "mode": "slow"}))
    assert {field for field, _ in causes(error)} == {"spec.width", "spec.mode"}
    assert error.message.startswith('Widget.example.com "one" is invalid: [')


@pytest.mark.parametrize("port", [80, "http"])
def test_int_or_string_takes_both(store: Store, port: int | str) -> None:
    assert created(store, {"port": port})["port"] == port


def test_a_date_is_checked_by_its_format(store: Store) -> None:
    assert refusal(lambda: created(store, {"when": "tomorrow"})).code == 422


def test_changes_are_validated_through_every_door(store: Store) -> None:
    rt = serve(store, definition(SPEC))
    old = store.create(rt, "default", widget({"name": "abc"}))
    zero = {"spec": {"width": 0}}
    put = {**old, "spec": {"name": "abc", "width": 0}}
    operation = [{"op": "replace", "path": "/spec/width", "value": 0}]
    for request in (
        lambda: store.patch(rt, "default", "one", zero, MERGE),
        lambda: store.patch(rt, "default", "one", operation, JSON_PATCH),
        lambda: store.replace(rt, "default", "one", put),
    ):
        assert causes(refusal(request)) == [("spec.width", "FieldValueInvalid")]


def test_what_was_valid_once_may_stay_when_the_schema_becomes_stricter(store: Store) -> None:
    """Kubernetes calls this ratcheting: only what changes has to meet new rules."""
    from sandbox.store.resources import CUSTOM_RESOURCE_DEFINITION as DEFINITION

    loose = {"type": "object", "properties": {"width": INTEGER, "mode": TEXT}}
    rt = serve(store, definition(loose))
    store.create(rt, "default", widget({"width": 0}))
    schema = definition(SPEC)["spec"]["versions"]
    name = "widgets.example.com"
    store.patch(DEFINITION, None, name, {"spec": {"versions": schema}}, MERGE)
    labels = {"metadata": {"labels": {"a": "b"}}, "spec": {"name": "abc"}}
    assert store.patch(rt, "default", "one", labels, MERGE)["spec"]["width"] == 0
    worse = {"spec": {"width": -1}}
    assert refusal(lambda: store.patch(rt, "default", "one", worse, MERGE)).code == 422


def test_the_kind_has_to_be_said(store: Store) -> None:
    rt = serve(store, definition(SPEC))
    body = {"metadata": {"name": "one"}, "spec": {"name": "abc"}}
    assert refusal(lambda: store.create(rt, "default", body)).code == 400


def test_an_object_that_etcd_would_not_take_is_refused_and_nothing_is_changed(
    store: Store,
) -> None:
    widgets = serve(store)
    store.create(widgets, "default", widget())
    before = store.version
    names = [f"{number:0100}" for number in range(16_000)]
    refused = refusal(
        lambda: store.patch(
            widgets, "default", "one", {"status": {"names": names}}, MERGE, subresource="status"
        )
    )
    assert (refused.code, refused.message) == (500, "etcdserver: request is too large")
    assert store.version == before
    assert "status" not in store.get(widgets, "default", "one")
