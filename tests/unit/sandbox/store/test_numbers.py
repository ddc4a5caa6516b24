"""Numbers in custom resources: integers, refusals of others, and what is stored."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from sandbox.store.store import Store
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
SPEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "any": INTEGER,
        "small": {**INTEGER, "format": "int32", "minimum": 1, "maximum": 100},
        "int32": {**INTEGER, "format": "int32"},
        "chosen": {**INTEGER, "enum": [1, 2]},
        "either": {"x-kubernetes-int-or-string": True},
        "bounded": {"type": "number", "minimum": 0.5, "maximum": 10.5},
        "float": {"type": "number", "format": "float"},
        "list": {"type": "array", "items": INTEGER},
        "bag": {"type": "array", "items": INTEGER, "x-kubernetes-list-type": "set"},
        "text": {"type": "string"},
        "free": {"x-kubernetes-preserve-unknown-fields": True},
    },
}
STATUS = {"type": "object", "properties": {"count": INTEGER}}


def created(store: Store, written: str) -> Any:
    """The one field of `written`, as it is stored."""
    rt = serve(store, definition(SPEC, status=STATUS))
    (value,) = store.create(rt, "default", widget(orjson.loads(written)))["spec"].values()
    return value


TYPE, INVALID = "FieldValueTypeInvalid", "FieldValueInvalid"
MISFIT = ("<nil>", INVALID)


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ('{"any": 1.0}', "1"),
        ('{"any": 1e3}', "1000"),
        ('{"any": -0.0}', "0"),
        ('{"any": 9007199254740991.0}', "9007199254740991"),
        ('{"any": 9007199254740993}', "9007199254740993"),
        ('{"any": 9223372036854775807}', "9223372036854775807"),
        ('{"any": -9223372036854775808}', "-9223372036854775808"),
        ('{"small": 2.0}', "2"),
        ('{"chosen": 2.0}', "2"),
        ('{"either": 1.0}', "1"),
        ('{"list": [1, 1.0, 2e0]}', "[1,1,2]"),
        ('{"bag": [1, 1.0]}', "[1,1]"),
        ('{"bounded": 1.0}', "1"),
        ('{"bounded": 1.5}', "1.5"),
        ('{"free": {"a": [1.0, 1.5, true, null]}}', '{"a":[1,1.5,true,null]}'),
        ('{"free": 9223372036854775808}', "9223372036854776000"),
    ],
)
def test_a_whole_number_is_an_integer_however_it_is_written(
    store: Store, written: str, stored: str
) -> None:
    assert orjson.dumps(created(store, written)).decode() == stored


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('{"any": 1.5}', [("spec.any", TYPE), MISFIT]),
        ('{"any": 9223372036854775808}', [("spec.any", TYPE), MISFIT]),
        ('{"any": 1e16}', [("spec.any", TYPE)]),
        ('{"any": 1.0000000001}', [MISFIT]),
        ('{"any": "1"}', [("spec.any", TYPE)]),
        ('{"any": true}', [("spec.any", TYPE)]),
        ('{"int32": 2147483648}', [MISFIT]),
        ('{"int32": 1.5}', [("spec.int32", TYPE), MISFIT]),
        ('{"small": -0.0}', [("spec.small", INVALID)]),
        ('{"small": 4294967296}', [("spec.small", INVALID), MISFIT]),
        ('{"either": 1.5}', [("spec.either", TYPE)]),
        ('{"chosen": 3.0}', [("spec.chosen", "FieldValueNotSupported")]),
        ('{"bounded": 11}', [("spec.bounded", INVALID)]),
        ('{"float": 1e300}', [MISFIT]),
        ('{"bag": [2.0, 2.0]}', [("spec.bag[1]", "FieldValueDuplicate")]),
        ('{"text": 9223372036854775808}', [("spec.text", TYPE)]),
        ('{"list": [1, "a", 1.5]}', [("spec.list[1]", TYPE), ("spec.list[2]", TYPE), MISFIT]),
    ],
)
def test_a_number_that_is_invalid_of_its_type_is_refused(
    store: Store, written: str, expected: list[tuple[str, str]]
) -> None:
    error = refusal(lambda: created(store, written))
    assert (error.code, causes(error)) == (422, expected)


def test_a_patch_that_writes_a_number_in_another_way_is_a_change_but_of_a_status(
    store: Store,
) -> None:
    """kube-apiserver compares what was sent with what is stored, and stores what it prints."""
    rt = serve(store, definition(SPEC, status=STATUS))
    store.create(rt, "default", widget({"any": 1}))
    changed = store.patch(rt, "default", "one", {"spec": {"any": 1.0}}, MERGE)
    assert changed["metadata"]["generation"] == 2
    assert orjson.dumps(changed["spec"]) == b'{"any":1}'
    count = {"status": {"count": 2.0}}
    first, second = (
        store.patch(rt, "default", "one", count, MERGE, subresource="status") for _ in range(2)
    )
    assert orjson.dumps(first["status"]) == b'{"count":2}'
    assert second["metadata"] == first["metadata"]


def test_a_number_in_a_status_that_does_not_fit_is_reported_of_the_status(store: Store) -> None:
    rt = serve(store, definition(SPEC, status=STATUS))
    store.create(rt, "default", widget({"any": 1}))
    patch = {"status": {"count": 1.5}}
    error = refusal(lambda: store.patch(rt, "default", "one", patch, MERGE, subresource="status"))
    assert causes(error) == [("status.count", TYPE), ("status", INVALID)]


@pytest.mark.parametrize("other", [1.0, 2, "1", True])
def test_a_test_of_a_json_patch_tells_numbers_apart_by_how_they_are_written(
    store: Store, other: Any
) -> None:
    rt = serve(store, definition(SPEC))
    store.create(rt, "default", widget({"any": 1}))

    def tested(value: Any) -> Any:
        operation = {"op": "test", "path": "/spec/any", "value": value}
        return store.patch(rt, "default", "one", [operation], JSON_PATCH)

    assert tested(1)["spec"] == {"any": 1}
    assert refusal(lambda: tested(other)).code == 422
