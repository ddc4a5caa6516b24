"""Warning headers, and fields that nobody knows or that are reported twice."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from sandbox.http.answers import Answer
from tests.unit.sandbox.http.asking import CONFIG_MAPS, MERGE, WIDGETS, Asker

JSON_PATCH = "application/json-patch+json"
PODS = "/api/v1/namespaces/default/pods"
SERVICES = "/api/v1/namespaces/default/services"
TWICE = b'{"metadata":{"name":"a","x":1},"data":{"k":"1","k":"2"},"extra":1,"extra":{"y":1,"y":2}}'
HOSTNAME = (
    "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; "
    "a DNS label is recommended: [must not contain dots]"
)


def said(answer: Answer) -> list[str]:
    """The texts of the warnings, without their quotes."""
    texts = [text.removeprefix('299 - "').removesuffix('"') for text in answer.warnings]
    return [text.replace('\\"', '"') for text in texts]


def pod(name: str = "a", container: dict[str, Any] | None = None, **spec: Any) -> bytes:
    containers = [{"name": "main", "image": "i:1", **(container or {})}]
    return orjson.dumps({"metadata": {"name": name}, "spec": {"containers": containers, **spec}})


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
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
        'unknown field "metadata.x", duplicate field "data.k", unknown field "extra"'
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
        "metadata": {"name": "a", "finalizers": ["x", "y.z", "example.com/fine"]},
        "spec": {"width": 1, "wrong": 1},
    }
    prefer = "prefer a domain-qualified finalizer name"
    others = "to avoid accidental conflicts with other finalizer writers"
    assert said(with_widgets.ask("POST", WIDGETS, orjson.dumps(body))) == [
        'unknown field "spec.wrong"',
        f'metadata.finalizers: "x": {prefer} {others}',
        f'metadata.finalizers: "y.z": {prefer} including a path (/) {others}',
    ]


def test_an_owner_is_named_once(asker: Asker) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}
    body = {"metadata": {"name": "a", "ownerReferences": [owner, owner]}}
    answer = asker.ask("POST", CONFIG_MAPS, orjson.dumps(body))
    assert orjson.loads(answer.body)["metadata"]["ownerReferences"] == [owner]
    assert said(answer)[0].startswith(".metadata.ownerReferences contains duplicate entries; API")
    patched = asker.ask("PATCH", f"{CONFIG_MAPS}/a", orjson.dumps(body), content_type=MERGE)
    assert "entries after mutating admission happens;" in said(patched)[0]


def test_a_refusal_carries_warnings_too(asker: Asker) -> None:
    answer = asker.ask("POST", CONFIG_MAPS, b'{"metadata":{"name":"A_B"},"extra":1}')
    assert (answer.status, said(answer)) == (422, ['unknown field "extra"'])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (pod(), []),
        (pod("a.b"), [HOSTNAME]),
        (
            pod(nodeSelector={"beta.kubernetes.io/os": "linux"}),
            [
                "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "
                '"kubernetes.io/os" instead'
            ],
        ),
        (
            pod(container={"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}),
            [
                'spec.containers[0].env[1]: hides previous definition of "A", which may be '
                "dropped when using apply"
            ],
        ),
        (
            pod(container={"resources": {"limits": {"memory": "100m"}}}),
            [
                f'spec.containers[0].resources.{field}[memory]: fractional byte value "100m" is '
                "invalid, must be an integer"
                for field in ("limits", "requests")
            ],
        ),
        (
            pod(container={"ports": [{"containerPort": 1}, {"containerPort": 1}]}),
            [
                "spec.containers[0].ports[1]: duplicate port definition with "
                "spec.containers[0].ports[0]"
            ],
        ),
        (
            pod(imagePullSecrets=[{"name": "s"}, {"name": "s"}]),
            ['spec.imagePullSecrets[1].name: duplicate name "s"'],
        ),
        (
            pod(terminationGracePeriodSeconds=-1),
            [
                "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid "
                "and will be treated as 1"
            ],
        ),
        (
            pod(volumes=[{"name": "v", "gitRepo": {"repository": "r"}}]),
            ["spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"],
        ),
    ],
)
def test_a_new_pod_is_taken_with_advice(asker: Asker, body: bytes, expected: list[str]) -> None:
    answer = asker.ask("POST", PODS, body)
    assert (answer.status, said(answer)) == (201, expected)


def test_a_headless_service_ignores_the_affinity_of_sessions(asker: Asker) -> None:
    spec = {"clusterIP": "None", "selector": {"a": "b"}, "sessionAffinity": "ClientIP"}
    body = orjson.dumps({"metadata": {"name": "a"}, "spec": spec})
    answer = asker.ask("POST", SERVICES, body)
    assert said(answer) == ["spec.SessionAffinity is ignored for headless services"]


def test_texts_are_escaped_and_each_has_a_header_of_its_own(asker: Asker) -> None:
    answer = asker.ask("POST", CONFIG_MAPS, TWICE)
    assert answer.warnings[0] == '299 - "unknown field \\"metadata.x\\""'
    assert answer.all_headers()["warning"].count('299 - "') == len(answer.warnings) == 3
