"""The fields of core kinds that the sandbox knows are those that the API server documents."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import orjson
import pytest

from sandbox.store.core_fields import declared
from services.chassis.kube.http import HttpTransport, load_configuration

COVERS = ("sandbox/store/core_fields*", "sandbox/http/object_schemas.json")

SETTING = "MILLRACE_KUBECONFIG"
_DOCUMENTS = (
    "/openapi/v3/api/v1",
    "/openapi/v3/apis/coordination.k8s.io/v1",
    "/openapi/v3/apis/autoscaling/v2",
    "/openapi/v3/apis/apiextensions.k8s.io/v1",
)
_OF_OBJECTS = frozenset({"apiVersion", "kind"})
_JSON_TYPES = {
    "any": "",
    "bool": "boolean",
    "bytes": "string",
    "float64": "number",
    "int32": "integer",
    "int64": "integer",
    "intOrString": "",
    "microTime": "",
    "quantity": "",
    "string": "string",
    "time": "",
}


@pytest.mark.real
def test_the_fields_of_core_kinds_are_those_of_the_server() -> None:
    """What is new, gone or of another type in this Kubernetes: write core_fields.txt again."""
    if SETTING not in os.environ:
        pytest.skip(f"{SETTING} is not set: `make real-up` brings up a real API server")
    documented = asyncio.run(_documented(os.environ[SETTING]))
    for struct, fields in declared().items():
        properties = documented[struct].get("properties", {})
        assert set(fields) - _OF_OBJECTS == properties.keys() - _OF_OBJECTS, struct
        for name, kind in fields.items():
            assert _json_type(kind) in {properties[name].get("type", ""), ""}, (struct, name)


async def _documented(kubeconfig: str) -> dict[str, Any]:
    """Schemas by the last part of their name; what several groups have is the same in all."""
    found: dict[str, Any] = {}
    transport = HttpTransport(await load_configuration(kubeconfig))
    try:
        for path in _DOCUMENTS:
            headers = {"accept": "application/json"}
            answer = await transport.request("GET", path, body=None, headers=headers)
            schemas = orjson.loads(answer.body)["components"]["schemas"]
            found |= {name.rpartition(".")[2]: schema for name, schema in schemas.items()}
    finally:
        await transport.close()
    return found


def _json_type(kind: str) -> str:
    """What OpenAPI calls a type; empty where it refers to another schema."""
    if kind.startswith("[]"):
        return "array"
    return "object" if kind.startswith("{}") else _JSON_TYPES.get(kind, "")
