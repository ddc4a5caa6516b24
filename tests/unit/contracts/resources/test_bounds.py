"""Nothing that a custom resource says is unbounded, and a pod template has the types of a pod."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from contracts.resources.crds import custom_resource_definitions
from contracts.resources.pod_shapes import POD_SPEC, groups
from contracts.resources.pod_structure import CONTAINERS_MAX, ITEMS_MAX, pod_spec_schema
from sandbox.store.errors import ApiError
from tests.places import ROOT
from tests.unit.contracts.resources.test_admission import Cluster, job_spec

OF_EVERY_OBJECT = ("apiVersion", "kind", "metadata")
OF_KUBERNETES = ".podTemplate.spec."
ANNOTATIONS_BYTES_MAX = 256 * 1024
"""Of all annotations of an object; `kubectl apply` keeps the whole of it in one."""
FORMATS = ("int32", "int64")


def nodes(schema: dict[str, Any], place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield place, schema
    for name, child in schema.get("properties", {}).items():
        if place or name not in OF_EVERY_OBJECT:
            yield from nodes(child, f"{place}.{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from nodes(schema[key], f"{place}[]")


def everything() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (crd["spec"]["names"]["plural"], place, node)
        for crd in custom_resource_definitions()
        for place, node in nodes(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"], "")
    ]


def lacking(place: str, node: dict[str, Any]) -> str:
    """The bound that is missing; numbers of a pod are bounded by their format."""
    if node.get("x-kubernetes-int-or-string"):
        return "" if "maxLength" in node else "maxLength"
    match node["type"]:
        case "string" if "enum" not in node and "maxLength" not in node:
            return "maxLength"
        case "array" if "maxItems" not in node:
            return "maxItems"
        case "object" if "additionalProperties" in node and "maxProperties" not in node:
            return "maxProperties"
        case "object" if not {"additionalProperties", "properties"} & node.keys():
            return "properties"
        case "integer" if OF_KUBERNETES in place:
            return "" if node["format"] in FORMATS else "format"
        case "integer" if not {"minimum", "maximum"} <= node.keys():
            return "minimum and maximum"
    return ""


def test_every_text_list_map_and_number_is_bounded() -> None:
    """Also in statuses, into which words of people and of pods are copied."""
    unbounded = [
        f"{plural}{place}: {what}"
        for plural, place, node in everything()
        if (what := lacking(place, node))
    ]
    assert unbounded == []


def test_no_field_of_anything_is_kept_unknown() -> None:
    kept = [each for each in everything() if "x-kubernetes-preserve-unknown-fields" in each[2]]
    assert kept == []


def test_a_definition_is_small_enough_for_kubectl_apply() -> None:
    sizes = {crd["metadata"]["name"]: len(json.dumps(crd)) for crd in custom_resource_definitions()}
    assert {name: size for name, size in sizes.items() if size >= ANNOTATIONS_BYTES_MAX // 2} == {}


# --------------------------------------------------------------------------- pods


def declared() -> dict[str, dict[str, str]]:
    """The fields of Go's structs with their types; a field without one is a string."""
    text = (ROOT / "sandbox" / "store" / "core_fields.txt").read_text(encoding="utf-8")
    lines = [each for each in text.splitlines() if not each.startswith("#")]
    words = re.sub(r"\n  ", " ", "\n".join(lines)).splitlines()
    return {
        name: dict(_field(each) for each in fields)
        for name, *fields in (each.split() for each in words)
    }


def _field(word: str) -> tuple[str, str]:
    name, _, type_ = word.partition(":")
    return name.rstrip("!?"), type_


def leaves(group: str, schema: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each field of a group and of those below it, with the schema of one value."""
    for name, child in schema["properties"].items():
        type_ = groups()[group][name].strip("[]")
        node = child.get("items", child)
        if type_ in groups():
            yield from leaves(type_, node)
        else:
            yield group, name, node


def test_a_number_of_a_pod_is_as_wide_as_in_kubernetes() -> None:
    go = declared()
    compared = 0
    for group, name, node in leaves(POD_SPEC, pod_spec_schema()):
        known = go.get(group, {}).get(name, "").removeprefix("[]")
        if node.get("type") == "integer" and known:
            compared += 1
            assert node["format"] == known, f"{group}.{name}"
    assert compared > 20


def test_a_quantity_or_port_of_a_pod_is_a_number_or_a_text() -> None:
    go = declared()
    found = {
        f"{group}.{name}"
        for group, name, node in leaves(POD_SPEC, pod_spec_schema())
        for value in (node.get("additionalProperties", node),)
        if value.get("x-kubernetes-int-or-string")
    }
    assert {"EmptyDirVolumeSource.sizeLimit", "HTTPGetAction.port", "PodSpec.overhead"} <= found
    assert {"ResourceRequirements.limits", "ResourceFieldSelector.divisor"} <= found
    for each in sorted(found):
        group, _, name = each.partition(".")
        known = go.get(group, {}).get(name, "quantity").removeprefix("{}")
        assert known in ("quantity", "intOrString"), each


# --------------------------------------------------------------------------- what a server does


def template(**spec: Any) -> dict[str, Any]:
    return job_spec(processingElement={"podTemplate": {"spec": spec}})


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def test_a_misspelt_field_of_a_pod_is_refused_to_kubectl() -> None:
    with pytest.raises(ApiError) as refused:
        Cluster().create("streamsjobs", template(nodeSelectr={"disk": "ssd"}), strict=True)
    assert 'unknown field "spec.processingElement.podTemplate.spec.nodeSelectr"' in str(
        refused.value.message
    )


@pytest.mark.parametrize("levels", [10, 60])
def test_what_is_nested_deep_in_a_template_is_dropped(levels: int) -> None:
    """No group of a pod has such fields: what is stored is never deeper than a pod."""
    job = Cluster().create("streamsjobs", template(affinity=nested(levels), priorityClassName="x"))
    kept = job["spec"]["processingElement"]["podTemplate"]["spec"]
    assert kept == {"affinity": {}, "priorityClassName": "x"}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"containers": [{"name": "c"}] * (CONTAINERS_MAX + 1)}, "containers"),
        ({"tolerations": [{"key": "k"}] * (ITEMS_MAX + 1)}, "tolerations"),
        ({"schedulerName": "x" * 4097}, "schedulerName"),
        ({"nodeSelector": {"a": "x" * 32_769}}, "nodeSelector.a"),
        ({"nodeSelector": {f"k{at}": "" for at in range(1025)}}, "nodeSelector"),
        ({"priority": 2**31}, "priority"),
        ({"hostNetwork": "yes"}, "hostNetwork"),
    ],
)
def test_what_exceeds_a_bound_or_has_another_type_is_refused_at_apply(
    spec: dict[str, Any], field: str
) -> None:
    with pytest.raises(ApiError) as refused:
        Cluster().create("streamsjobs", template(**spec))
    assert f"podTemplate.spec.{field}" in str(refused.value.message)


def test_a_generous_template_is_taken_whole() -> None:
    """Null, numbers as quantities, ports by name or number, many variables with long values."""
    container = {
        "name": "log",
        "image": "log:1",
        "args": ["x" * 32_768],
        "env": [{"name": f"V{at}", "value": "x"} for at in range(ITEMS_MAX)],
        "resources": {"limits": {"cpu": 1, "memory": "1Gi"}},
        "readinessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 5},
        "livenessProbe": {"tcpSocket": {"port": 80}},
    }
    spec = {
        "containers": [container],
        "volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": 1024}}],
        "terminationGracePeriodSeconds": 2**31,
    }
    job = Cluster().create("streamsjobs", template(nodeSelector=None, **spec), strict=True)
    assert job["spec"]["processingElement"]["podTemplate"]["spec"] == spec
