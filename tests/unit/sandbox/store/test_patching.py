"""The kinds of patches, on plain values and through the store."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.store.patching import JSON_PATCH_OPERATIONS_MAX, merged
from sandbox.store.resources import CONFIG_MAP, NODE
from sandbox.store.store import Store
from sandbox.store.strategic import strategic_merge
from tests.unit.sandbox.store.building import (
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    config_map,
    refusal,
    serve,
    widget,
)


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        # the examples of RFC 7386, appendix A
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch_follows_the_rfc(target: Any, patch: Any, result: Any) -> None:
    assert merged(target, patch) == result


def test_merge_patch_leaves_its_target_alone() -> None:
    target = {"a": {"b": 1}, "c": {"d": 1}}
    result = merged(target, {"a": {"b": 2}})
    assert target == {"a": {"b": 1}, "c": {"d": 1}}
    assert result["c"] is target["c"]


def test_json_patch_adds_replaces_and_removes(store: Store) -> None:
    store.create(CONFIG_MAP, "default", config_map(data={"a": "1", "b": "2"}))
    operations = [
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "replace", "path": "/data/a", "value": "3"},
        {"op": "add", "path": "/metadata/labels", "value": {"x": "y"}},
        {"op": "remove", "path": "/data/b"},
    ]
    changed = store.patch(CONFIG_MAP, "default", "settings", operations, JSON_PATCH)
    assert changed["data"] == {"a": "3"}
    assert changed["metadata"]["labels"] == {"x": "y"}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/data/a", "value": "2"},
        {"op": "remove", "path": "/data/none"},
        {"op": "replace", "path": "/none/at/all", "value": 1},
    ],
)
def test_a_json_patch_that_does_not_fit_is_unprocessable(
    store: Store, operation: dict[str, Any]
) -> None:
    stored = store.create(CONFIG_MAP, "default", config_map(data={"a": "1"}))
    error = refusal(lambda: store.patch(CONFIG_MAP, "default", "settings", [operation], JSON_PATCH))
    assert (error.code, error.reason) == (422, "Invalid")
    assert store.get(CONFIG_MAP, "default", "settings") is stored


@pytest.mark.parametrize(
    ("patch", "code"),
    [({}, 400), (["x"], 400), ([{"op": "what", "path": "/a"}], 422), ([{"path": "/a"}], 422)],
)
def test_a_json_patch_that_cannot_be_read_is_refused(store: Store, patch: Any, code: int) -> None:
    """What is no list of objects is 400; an operation that is none is 422."""
    store.create(CONFIG_MAP, "default", config_map())
    error = refusal(lambda: store.patch(CONFIG_MAP, "default", "settings", patch, JSON_PATCH))
    assert error.code == code


def test_a_json_patch_may_replace_what_is_absent_and_test_it_for_null(store: Store) -> None:
    store.create(CONFIG_MAP, "default", config_map(data={"a": "1"}))
    operations = [
        {"op": "test", "path": "/data/b", "value": None},
        {"op": "replace", "path": "/data/b", "value": "2"},
    ]
    changed = store.patch(CONFIG_MAP, "default", "settings", operations, JSON_PATCH)
    assert changed["data"] == {"a": "1", "b": "2"}


def test_a_json_patch_has_a_limit(store: Store) -> None:
    store.create(CONFIG_MAP, "default", config_map(data={"a": "1"}))
    operations = [{"op": "test", "path": "/data/a", "value": "1"}]
    operations *= JSON_PATCH_OPERATIONS_MAX + 1
    error = refusal(lambda: store.patch(CONFIG_MAP, "default", "settings", operations, JSON_PATCH))
    assert error.code == 413


@pytest.mark.parametrize("kind", ["application/apply-patch+yaml", "application/json", ""])
def test_other_kinds_of_patches_are_not_served(store: Store, kind: str) -> None:
    store.create(CONFIG_MAP, "default", config_map())
    error = refusal(lambda: store.patch(CONFIG_MAP, "default", "settings", {}, kind))
    assert (error.code, error.reason) == (415, "UnsupportedMediaType")
    assert kind in error.message


def test_strategic_merge_is_for_core_kinds_only(store: Store) -> None:
    rt = serve(store)
    store.create(rt, "default", widget())
    assert refusal(lambda: store.patch(rt, "default", "one", {}, STRATEGIC)).code == 415


def test_a_merge_patch_has_to_be_an_object(store: Store) -> None:
    store.create(CONFIG_MAP, "default", config_map())
    assert refusal(lambda: store.patch(CONFIG_MAP, "default", "settings", [], MERGE)).code == 400


def test_kubectl_label_works_on_nodes(store: Store) -> None:
    store.create(NODE, None, {"metadata": {"name": "n1", "labels": {"a": "1", "b": "2"}}})
    body = {"metadata": {"labels": {"a": None, "c": "3"}}}
    changed = store.patch(NODE, None, "n1", body, STRATEGIC)
    assert changed["metadata"]["labels"] == {"b": "2", "c": "3"}


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        (
            {"containers": [{"name": "a", "image": "1"}, {"name": "b"}]},
            {"containers": [{"name": "a", "image": "2"}, {"name": "c"}]},
            {"containers": [{"name": "a", "image": "2"}, {"name": "c"}, {"name": "b"}]},
        ),
        (
            {"containers": [{"name": "a"}, {"name": "b"}]},
            {"containers": [{"name": "a", "$patch": "delete"}]},
            {"containers": [{"name": "b"}]},
        ),
        (
            {"containers": [{"name": "a"}, {"name": "b"}]},
            {"containers": [{"$patch": "replace"}, {"name": "c"}]},
            {"containers": [{"name": "c"}]},
        ),
        (
            {"conditions": [{"type": "Ready", "status": "False"}]},
            {"conditions": [{"type": "Ready", "status": "True"}], "$setElementOrder/x": []},
            {"conditions": [{"type": "Ready", "status": "True"}]},
        ),
        ({"taints": [{"key": "a"}]}, {"taints": [{"key": "b"}]}, {"taints": [{"key": "b"}]}),
        ({"finalizers": ["a"]}, {"finalizers": ["b"]}, {"finalizers": ["b", "a"]}),
        (
            {"finalizers": ["a", "b"]},
            {"$deleteFromPrimitiveList/finalizers": ["a"]},
            {"finalizers": ["b"]},
        ),
        ({"a": {"b": 1, "c": 2}}, {"a": {"$patch": "replace", "d": 3}}, {"a": {"d": 3}}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"$retainKeys": ["c", "d"], "d": 3}},
         {"a": {"c": 2, "d": 3}}),
        (
            {"ports": [{"port": 80, "name": "a"}]},
            {"ports": [{"port": 80, "name": "b"}, {"port": 81}]},
            {"ports": [{"port": 80, "name": "b"}, {"port": 81}]},
        ),
        (
            {"ports": [{"port": 80}]},
            {"$setElementOrder/ports": [{"port": 80}, {"port": 90}], "ports": [{"port": 90}]},
            {"ports": [{"port": 80}, {"port": 90}]},
        ),
        (
            {"ports": [{"port": 80}, {"port": 90}]},
            {"$setElementOrder/ports": [{"port": 90}, {"port": 80}]},
            {"ports": [{"port": 90}, {"port": 80}]},
        ),
        (
            {"containers": [{"name": "server"}, {"name": "a"}, {"name": "last"}, {"name": "b"}]},
            {
                "$setElementOrder/containers": [{"name": "b"}, {"name": "new"}, {"name": "a"}],
                "containers": [{"name": "new"}],
            },
            {
                "containers": [
                    {"name": "server"}, {"name": "last"}, {"name": "b"}, {"name": "new"},
                    {"name": "a"},
                ]
            },
        ),
        (
            {"finalizers": ["a", "b"]},
            {"$setElementOrder/finalizers": ["b", "c", "a"], "finalizers": ["c"]},
            {"finalizers": ["b", "c", "a"]},
        ),
    ],
)  # fmt: skip
def test_strategic_merge_knows_the_keys_of_lists(target: Any, patch: Any, result: Any) -> None:
    before = repr(target)
    assert strategic_merge(target, patch) == result
    assert repr(target) == before
