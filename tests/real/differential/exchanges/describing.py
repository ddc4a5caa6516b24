"""Discovery, and definitions: what is served, and which definitions are refused."""

from __future__ import annotations

from typing import Any

from tests.real.differential.objects import WIDGETS, definition, schema
from tests.real.differential.steps import Step, exchange, merge, post

COVERS = (
    "sandbox/store/definition*",
    "sandbox/store/structural.py",
    "sandbox/http/discovery.py",
    "sandbox/http/openapi.py",
)

_AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
)


def _spec(**properties: Any) -> dict[str, Any]:
    return {"schema": schema(**properties)}


_VERSIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("a good one", _spec(a={"type": "string"})),
    ("no schema", {}),
    ("no type", _spec(a={})),
    ("an unknown type", _spec(a={"type": "text"})),
    ("an array without items", _spec(a={"type": "array"})),
    ("a default of another type", _spec(a={"type": "string", "default": 1})),
    ("a pattern that is none", _spec(a={"type": "string", "pattern": "["})),
    (
        "properties and additionalProperties",
        _spec(a={"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}),
    ),
    ("a reference", _spec(a={"$ref": "#/x"})),
    ("uniqueItems", _spec(a={"type": "array", "uniqueItems": True, "items": {"type": "string"}})),
    (
        "a rule that cannot be read",
        _spec(a={"type": "string", "x-kubernetes-validations": [{"rule": "self >"}]}),
    ),
    (
        "a rule of another type",
        _spec(a={"type": "string", "x-kubernetes-validations": [{"rule": "self + 'a'"}]}),
    ),
    (
        "a rule on a field that is not there",
        _spec(
            a={
                "type": "object",
                "properties": {},
                "x-kubernetes-validations": [{"rule": "self.b == 1"}],
            }
        ),
    ),
    ("an empty rule", _spec(a={"type": "string", "x-kubernetes-validations": [{"rule": ""}]})),
    (
        "a map list without keys",
        _spec(
            a={
                "type": "array",
                "x-kubernetes-list-type": "map",
                "items": {"type": "object", "properties": {}},
            }
        ),
    ),
    (
        "a column without a path",
        {
            **_spec(a={"type": "string"}),
            "additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ""}],
        },
    ),
    (
        "a column of an unknown type",
        {
            **_spec(a={"type": "string"}),
            "additionalPrinterColumns": [{"name": "A", "type": "text", "jsonPath": ".spec.a"}],
        },
    ),
    ("a scale without paths", {**_spec(a={"type": "string"}), "subresources": {"scale": {}}}),
)


def _paths(*paths: str) -> tuple[Step, ...]:
    return tuple(Step("GET", each) for each in paths)


EXCHANGES = (
    *(
        exchange(
            f"a definition with {title}",
            post("customresourcedefinitions", definition("things", "Thing", v), dryRun="All"),
        )
        for title, v in _VERSIONS
    ),
    exchange(
        "a definition with another name",
        post("customresourcedefinitions", {**WIDGETS, "metadata": {"name": "other"}}, dryRun="All"),
    ),
    exchange("a definition that is there", post("customresourcedefinitions", WIDGETS)),
    exchange(
        "a definition without versions",
        post(
            "customresourcedefinitions",
            {
                **WIDGETS,
                "metadata": {"name": "widgets.diff.example.com"},
                "spec": {**WIDGETS["spec"], "versions": []},
            },
            dryRun="All",
        ),
    ),
    exchange(
        "a definition of a group without a dot",
        post(
            "customresourcedefinitions",
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": "xs.x"},
                "spec": {**WIDGETS["spec"], "group": "x", "names": {"plural": "xs", "kind": "X"}},
            },
            dryRun="All",
        ),
    ),
    exchange(
        "a definition whose scope changes",
        merge(
            "customresourcedefinitions",
            "widgets.diff.example.com",
            {"spec": {"scope": "Cluster"}},
            dryRun="All",
        ),
    ),
    exchange(
        "resources of our group", *_paths("/apis/streams.ibm.com/v1", "/apis/streams.ibm.com")
    ),
    exchange(
        "resources of the group of tests",
        *_paths("/apis/diff.example.com/v1", "/apis/diff.example.com"),
    ),
    exchange(
        "resources of a group that is not there",
        *_paths(
            "/apis/absent.example.com", "/apis/absent.example.com/v1", "/apis/diff.example.com/v9"
        ),
    ),
    exchange("the core versions", Step("GET", "/api"), masked=("serverAddressByClientCIDRs",)),
    exchange("resources of Leases", *_paths("/apis/coordination.k8s.io/v1")),
    exchange("health", *_paths("/healthz", "/readyz", "/livez")),
    exchange(
        "a path that is not there",
        *_paths(
            "/nowhere", "/api/v1/absents", "/api/v2/pods", "/api/v1/namespaces/$ns/pods/one/absent"
        ),
    ),
    exchange("the namespace", *_paths("/api/v1/namespaces/$ns", "/api/v1/namespaces/absent")),
    exchange("a namespace with a bad name", post("namespaces", {"metadata": {"name": "A.b"}})),
    exchange("the default namespace is not deleted", Step("DELETE", "/api/v1/namespaces/default")),
    exchange(
        "the version",
        Step("GET", "/version"),
        masked=(
            "buildDate",
            "compiler",
            "gitCommit",
            "gitTreeState",
            "gitVersion",
            "goVersion",
            "platform",
            "emulationMajor",
            "emulationMinor",
            "minCompatibilityMajor",
            "minCompatibilityMinor",
        ),
    ),
)
