"""The variables of a container, as its spec and the objects that it names have them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pytest

from sandbox.containers.environment import (
    ConfigError,
    Objects,
    base_environment,
    environment_of,
    expanded,
)
from sandbox.containers.fields import Surroundings

AROUND = Surroundings("127.64.0.1", "10.0.0.1", {"cpu": "4", "memory": "1Gi"})
CONFIG_MAPS = {"conf": {"data": {"a": "1", "b": "2"}}}
SECRETS = {"key": {"data": {"password": base64.b64encode(b"x=y").decode()}}}
OBJECTS = Objects(CONFIG_MAPS.get, SECRETS.get)
POD: Mapping[str, Any] = {
    "metadata": {"name": "p", "namespace": "n", "uid": "u", "labels": {"a/b": "c"}},
    "spec": {
        "nodeName": "node-0",
        "containers": [{"name": "pe", "resources": {"limits": {"cpu": "1500m"}}}],
    },
}


def variables(**container: Any) -> dict[str, str]:
    whole = {**POD["spec"]["containers"][0], **container}
    return environment_of(whole, POD, OBJECTS, AROUND)


def from_(**source: Any) -> dict[str, str]:
    return variables(env=[{"name": "V", "valueFrom": source}])


def test_later_variables_see_earlier_ones_and_those_of_whole_objects() -> None:
    found = variables(
        envFrom=[
            {"configMapRef": {"name": "conf"}, "prefix": "C_"},
            {"secretRef": {"name": "key"}},
        ],
        env=[{"name": "X", "value": "$(C_a)/$(Y)/$$(C_b)"}, {"name": "Y", "value": "$(X)"}],
    )
    expected = {"C_a": "1", "C_b": "2", "password": "x=y", "X": "1/$(Y)/$(C_b)"}
    assert found == {**expected, "Y": "1/$(Y)/$(C_b)"}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "p"),
        ("metadata.namespace", "n"),
        ("metadata.uid", "u"),
        ("metadata.labels['a/b']", "c"),
        ("metadata.annotations['none']", ""),
        ("spec.nodeName", "node-0"),
        ("status.podIP", "127.64.0.1"),
        ("status.hostIP", "10.0.0.1"),
    ],
)
def test_a_field_of_the_pod_is_a_value(path: str, value: str) -> None:
    assert from_(fieldRef={"fieldPath": path}) == {"V": value}


@pytest.mark.parametrize(
    ("ref", "value"),
    [
        ({"resource": "limits.cpu"}, "2"),
        ({"resource": "limits.cpu", "divisor": "1m"}, "1500"),
        ({"resource": "limits.memory", "divisor": "1Mi"}, "1024"),
        ({"resource": "requests.memory"}, "0"),
    ],
)
def test_resources_are_rounded_up_and_a_missing_limit_is_what_the_node_has(
    ref: dict[str, str], value: str
) -> None:
    assert from_(resourceFieldRef=ref) == {"V": value}


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ({"configMapKeyRef": {"name": "no", "key": "a"}}, 'configmap "no" not found'),
        ({"secretKeyRef": {"name": "key", "key": "no"}}, "couldn't find key no in Secret n/key"),
        ({"configMapKeyRef": {"name": "conf", "key": "no"}}, "couldn't find key no in ConfigMap"),
        ({"fieldRef": {"fieldPath": "spec.no"}}, "unsupported fieldPath: spec.no"),
    ],
)
def test_what_is_missing_keeps_a_container_from_being_created(source: Any, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        from_(**source)


def test_what_is_optional_may_be_missing() -> None:
    assert from_(configMapKeyRef={"name": "no", "key": "a", "optional": True}) == {}
    assert from_(secretKeyRef={"name": "key", "key": "no", "optional": True}) == {}
    assert variables(envFrom=[{"secretRef": {"name": "no", "optional": True}}]) == {}
    with pytest.raises(ConfigError, match='secret "no" not found'):
        variables(envFrom=[{"secretRef": {"name": "no"}}])


def test_an_unknown_name_stays_and_two_dollars_are_one() -> None:
    assert expanded("$(A) $(B) $$(A) $A $", {"A": "x"}) == "x $(B) $(A) $A $"


def test_a_process_gets_nothing_of_the_sandbox_but_its_path_and_language() -> None:
    found = base_environment({"PATH": "/bin", "AWS_SECRET": "s", "LANG": "de"}, {"G": "1"})
    assert set(found) == {"PATH", "LANG", "PYTHONUNBUFFERED", "G"}
    assert found["PATH"].endswith(":/bin")
