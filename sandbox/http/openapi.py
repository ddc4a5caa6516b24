"""OpenAPI documents: just enough of them for every kubectl to validate, apply and explain.

Version 2 is an empty document in protobuf: old kubectl insists on reading one before `apply`,
and skips what it cannot find in it. Version 3 names the operations of each resource (new kubectl
looks there for the parameter `fieldValidation`) and carries the schemas of custom resources. What
every object has is described in object_schemas.json, in the words of Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import orjson

from sandbox.store.resources import ResourceType

PROTOBUF_V2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

# openapi.v2.Document: field 1 swagger = "2.0", field 2 info = {1 title = "m", 2 version = "1"}.
EMPTY_V2 = b"\x0a\x032.0\x12\x06\x0a\x01m\x12\x011"

EMPTY_V2_JSON: dict[str, Any] = {
    "swagger": "2.0",
    "info": {"title": "m", "version": "1"},
    "paths": {},
    "definitions": {},
}

_OF_EVERY_OBJECT: dict[str, Any] = orjson.loads(
    Path(__file__).with_name("object_schemas.json").read_bytes()
)
SchemaOf = Callable[[ResourceType], dict[str, Any] | None]


def path_of(rt: ResourceType) -> str:
    """`api/v1` or `apis/group/version`."""
    return f"apis/{rt.api_version}" if rt.group else f"api/{rt.version}"


def index(types: Iterable[ResourceType], revision: int) -> dict[str, Any]:
    """`/openapi/v3`: one document per group version; the hash changes with what is served."""
    paths = sorted({path_of(rt) for rt in types})
    hashed = f"?hash={revision}"
    return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}{hashed}"} for path in paths}}


def document(types: Iterable[ResourceType], schema_of: SchemaOf) -> dict[str, Any]:
    """The version 3 document of one group version."""
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = dict(_OF_EVERY_OBJECT["schemas"])
    for rt in types:
        schemas[_schema_name(rt)] = _schema(rt, schema_of(rt))
        paths.update(_paths(rt))
    return {
        "openapi": "3.0.0",
        "info": {"title": "millrace sandbox", "version": "v1.36.3"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _schema_name(rt: ResourceType) -> str:
    reverse = ".".join(reversed((rt.group or "core.api.k8s.io").split(".")))
    return f"{reverse}.{rt.version}.{rt.kind}"


def _kind_of(rt: ResourceType) -> dict[str, str]:
    return {"group": rt.group, "version": rt.version, "kind": rt.kind}


def _schema(rt: ResourceType, known: dict[str, Any] | None) -> dict[str, Any]:
    schema = dict(known or {"type": "object", "description": f"{rt.kind} (no schema here)"})
    schema["properties"] = {**schema.get("properties", {}), **_OF_EVERY_OBJECT["properties"]}
    schema["x-kubernetes-group-version-kind"] = [_kind_of(rt)]
    return schema


def _paths(rt: ResourceType) -> dict[str, Any]:
    scope = "/namespaces/{namespace}" if rt.namespaced else ""
    collection = f"/{path_of(rt)}{scope}/{rt.plural}"
    return {
        collection: {
            "get": _operation(rt, "list", ()),
            "post": _operation(rt, "post", ("dryRun", "fieldManager", "fieldValidation")),
        },
        f"{collection}/{{name}}": {
            "get": _operation(rt, "get", ()),
            "put": _operation(rt, "put", ("dryRun", "fieldManager", "fieldValidation")),
            "patch": _operation(
                rt, "patch", ("dryRun", "fieldManager", "fieldValidation", "force")
            ),
            "delete": _operation(rt, "delete", ("dryRun", "propagationPolicy")),
        },
    }


def _operation(rt: ResourceType, action: str, parameters: tuple[str, ...]) -> dict[str, Any]:
    reference = {"$ref": f"#/components/schemas/{_schema_name(rt)}"}
    return {
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _kind_of(rt),
        "parameters": [
            {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
            for name in parameters
        ],
        "responses": {
            "200": {
                "description": "OK",
                "content": {"application/json": {"schema": reference}},
            }
        },
    }
