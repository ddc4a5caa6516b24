"""Numbers in custom resources: integers, refusals of others, and what is stored."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from sandbox.store.errors import shown
from sandbox.store.store import Store
from tests.unit.sandbox.store.building import (
    JSON_PATCH,
    MERGE,
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
DEFAULT = "(default format)"
INT32 = "with format int32"


def created(store: Store, written: str) -> Any:
    """The one field of `written`, as it is stored."""
    rt = serve(store, definition(SPEC, status=STATUS))
    (value,) = store.create(rt, "default", widget(orjson.loads(written)))["spec"].values()
    return value


def said(store: Store, written: str) -> list[str]:
    """The causes against `written`."""
    error = refusal(lambda: created(store, written))
    assert error.code == 422
    return [f"{cause['field']}: {cause['message']}" for cause in (error.details or {})["causes"]]


def mistyped(field: str, found: str = "number", wanted: str = "integer") -> str:
    return f'spec.{field}: Invalid value: "{found}": spec.{field} in body must be of type ' + (
        f'{wanted}: "{found}"'
    )


def misfit(field: str, how: str = DEFAULT, kind: str = "integer") -> str:
    return f'<nil>: Invalid value: "": Checked value must be of type {kind} {how} in spec.{field}'


def limit(field: str, value: str, text: str) -> str:
    return f"spec.{field}: Invalid value: {value}: spec.{field} in body should be {text}"


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
    ("written", "causes"),
    [
        ('{"any": 1.5}', [mistyped("any"), misfit("any")]),
        ('{"any": 9223372036854775808}', [mistyped("any"), misfit("any")]),
        ('{"any": 1000000000000000000000}', [mistyped("any"), misfit("any")]),
        ('{"any": 1e16}', [mistyped("any")]),
        ('{"any": 1.0000000001}', [misfit("any")]),
        ('{"any": "1"}', [mistyped("any", "string")]),
        ('{"any": true}', [mistyped("any", "boolean")]),
        ('{"int32": 2147483648}', [misfit("int32", INT32)]),
        ('{"int32": 1.5}', [mistyped("int32", "float64", "int32"), misfit("int32", INT32)]),
        ('{"int32": true}', [mistyped("int32", "", "int32")]),
        ('{"int32": "1"}', [mistyped("int32", "string")]),
        ('{"small": -0.0}', [limit("small", "-0", "greater than or equal to 1")]),
        ('{"small": 1e6}', [limit("small", "1e+06", "less than or equal to 100")]),
        (
            '{"small": 4294967296}',
            [misfit("small", INT32), limit("small", "4294967296", "less than or equal to 100")],
        ),
        (
            '{"small": -1.5}',
            [
                mistyped("small", "float64", "int32"),
                misfit("small", INT32),
                limit("small", "-1.5", "greater than or equal to 1"),
            ],
        ),
        ('{"either": 1.5}', [mistyped("either", wanted="integer,string")]),
        ('{"chosen": 1.5}', [mistyped("chosen"), misfit("chosen")]),
        ('{"chosen": 3.0}', ['spec.chosen: Unsupported value: 3: supported values: "1", "2"']),
        ('{"bounded": 11}', [limit("bounded", "11", "less than or equal to 10")]),
        ('{"bounded": 11.0}', [limit("bounded", "11", "less than or equal to 10.5")]),
        ('{"float": 1e300}', [misfit("float", "with format float", "number")]),
        ('{"bag": [2.0, 2.0]}', ["spec.bag[1]: Duplicate value: 2"]),
        ('{"text": 9223372036854775808}', [mistyped("text", "number", "string")]),
        (
            '{"list": [1, "a", 1.5]}',
            [mistyped("list[1]", "string"), mistyped("list[2]"), misfit("list[2]")],
        ),
    ],
)
def test_a_number_that_is_invalid_of_its_type_is_refused_in_the_words_of_the_api_server(
    store: Store, written: str, causes: list[str]
) -> None:
    assert said(store, written) == causes


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
    assert [(item["field"], item["message"]) for item in (error.details or {})["causes"]] == [
        (
            "status.count",
            'Invalid value: "number": count in body must be of type integer: "number"',
        ),
        (
            "status",
            'Invalid value: "": Checked value must be of type integer (default format) in count',
        ),
    ]


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


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-0.0, "-0"),
        (123456.5, "123456.5"),
        (1234567.5, "1.2345675e+06"),
        (100000.0, "100000"),
        (0.0001, "0.0001"),
        (0.00001234, "1.234e-05"),
        (1e300, "1e+300"),
        (2**63, "9.223372036854776e+18"),
        (2**63 - 1, "9223372036854775807"),
        ({"n": 1.0, "m": [2.5]}, '{"n":1,"m":[2.5]}'),
    ],
)
def test_a_number_is_printed_as_go_prints_it(value: Any, text: str) -> None:
    assert shown(value) == text
