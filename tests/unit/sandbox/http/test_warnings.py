"""Fields that nobody knows, or that are given twice."""

from __future__ import annotations

import orjson

from sandbox.http.answers import Answer
from tests.unit.sandbox.http.asking import CONFIG_MAPS, MERGE, WIDGETS, Asker

JSON_PATCH = "application/json-patch+json"
TWICE = b'{"metadata":{"name":"a","x":1},"data":{"k":"1","k":"2"},"extra":1,"extra":{"y":1,"y":2}}'


def said(answer: Answer) -> list[str]:
    """The texts of the warnings, without their quotes."""
    texts = [text.removeprefix('299 - "').removesuffix('"') for text in answer.warnings]
    return [text.replace('\\"', '"') for text in texts]


def test_fields_that_nobody_knows_are_dropped_and_named(asker: Asker) -> None:
    answer = asker.ask("POST", CONFIG_MAPS, TWICE)
    assert answer.status == 201
    assert said(answer) == [
        'unknown field "metadata.x"',
        'duplicate field "data.k"',
        'unknown field "extra"',
    ]
    assert "extra" not in orjson.loads(answer.body)


def test_any_ignores_them_hears_nothing_and_loses_them_too(asker: Asker) -> None:
    answer = asker.ask("POST", f"{CONFIG_MAPS}?fieldValidation=Ignore", TWICE)
    assert (answer.status, answer.warnings) == (201, ())
    assert "extra" not in orjson.loads(answer.body)


def test_any_is_strict_is_refused_with_all_of_them(asker: Asker) -> None:
    answer = asker.ask("POST", f"{CONFIG_MAPS}?fieldValidation=Strict", TWICE)
    assert answer.status == 400
    assert orjson.loads(answer.body)["message"] == (
        'ConfigMap: unknown field "metadata.x", duplicate field "data.k", unknown field "extra"'
    )


def test_a_patch_is_looked_at_before_what_it_leads_to(asker: Asker) -> None:
    asker.ask("POST", CONFIG_MAPS, b'{"metadata":{"name":"a"}}')
    path = f"{CONFIG_MAPS}/a"
    merge = b'{"x":1,"data":{"k":"1","k":"2"},"metadata":{"y":1}}'
    expected = ['duplicate field "data.k"', 'unknown field "metadata.y"', 'unknown field "x"']
    assert said(asker.ask("PATCH", path, merge, content_type=MERGE)) == expected
    strict = asker.ask("PATCH", f"{path}?fieldValidation=Strict", merge, content_type=MERGE)
    assert strict.status == 422
    assert ", ".join(expected) in orjson.loads(strict.body)["message"]
    steps = b'[{"op":"add","path":"/z","value":1,"more":1}]'
    assert said(asker.ask("PATCH", path, steps, content_type=JSON_PATCH)) == [
        'json patch unknown field "[0].more"',
        'unknown field "z"',
    ]


def test_a_custom_resource_names_what_its_schema_does_not_have(with_widgets: Asker) -> None:
    body = {
        "apiVersion": "example.org/v1",
        "kind": "Widget",
        "metadata": {"name": "a"},
        "spec": {"width": 1, "wrong": 1},
    }
    answer = with_widgets.ask("POST", WIDGETS, orjson.dumps(body))
    assert said(answer) == ['unknown field "spec.wrong"']


def test_an_owner_is_named_once(asker: Asker) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}
    body = {"metadata": {"name": "a", "ownerReferences": [owner, owner]}}
    answer = asker.ask("POST", CONFIG_MAPS, orjson.dumps(body))
    assert orjson.loads(answer.body)["metadata"]["ownerReferences"] == [owner]
    patched = asker.ask("PATCH", f"{CONFIG_MAPS}/a", orjson.dumps(body), content_type=MERGE)
    assert orjson.loads(patched.body)["metadata"]["ownerReferences"] == [owner]


def test_a_refusal_carries_warnings_too(asker: Asker) -> None:
    answer = asker.ask("POST", CONFIG_MAPS, b'{"metadata":{"name":"A_B"},"extra":1}')
    assert (answer.status, said(answer)) == (422, ['unknown field "extra"'])


def test_texts_are_escaped_and_each_has_a_header_of_its_own(asker: Asker) -> None:
    answer = asker.ask("POST", CONFIG_MAPS, TWICE)
    assert answer.warnings[0] == '299 - "unknown field \\"metadata.x\\""'
    assert answer.all_headers()["warning"].count('299 - "') == len(answer.warnings) == 3
