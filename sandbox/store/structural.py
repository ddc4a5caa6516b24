"""Whether the schema of a CRD is structural, and if not, where.

Rules: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
#specifying-a-structural-schema. What a structural schema means for objects is in schemas.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.store.errors import Cause, forbidden_field, not_supported, required, type_invalid

SCHEMA_DEPTH_MAX = 64
TYPES = ("array", "boolean", "integer", "number", "object", "string")
JUNCTORS = ("allOf", "anyOf", "oneOf")
_KEYWORD_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "additionalProperties": (dict, bool),
    "allOf": list,
    "anyOf": list,
    "enum": list,
    "items": dict,
    "not": dict,
    "oneOf": list,
    "properties": dict,
    "required": list,
    "type": str,
    "x-kubernetes-list-map-keys": list,
    "x-kubernetes-validations": list,
}
UNSUPPORTED = (
    "$ref",
    "$defs",
    "definitions",
    "dependencies",
    "deprecated",
    "discriminator",
    "id",
    "patternProperties",
    "readOnly",
    "writeOnly",
    "xml",
    "const",
    "if",
    "then",
    "else",
)
_NOT_IN_JUNCTORS = ("type", "description", "default", "additionalProperties", "nullable", "title")
_INT_OR_STRING = "x-kubernetes-int-or-string"
_PRESERVE = "x-kubernetes-preserve-unknown-fields"


def structural_causes(schema: Any, path: str) -> Iterator[Cause]:
    """Every violation in the schema found at `path`, the root schema of a version."""
    if not isinstance(schema, dict):
        yield required(path, "schemas are required")
        return
    if schema.get("type") != "object":
        yield required(f"{path}.type", "must be object at the root")
    yield from _node(schema, path, depth=0)


def _node(schema: Any, path: str, *, depth: int) -> Iterator[Cause]:
    if not isinstance(schema, dict):
        yield forbidden_field(path, "a schema has to be an object")
        return
    if depth > SCHEMA_DEPTH_MAX:
        yield forbidden_field(path, f"nesting deeper than {SCHEMA_DEPTH_MAX}")
        return
    misplaced = list(_misplaced(schema, path))
    if misplaced:
        yield from misplaced
        return
    yield from _type(schema, path)
    yield from _keywords(schema, path)
    if depth > 0 and path.endswith(".properties[metadata]") and depth == 1:
        yield from _metadata(schema, path)
    for junctor in JUNCTORS:
        for index, branch in enumerate(schema.get(junctor) or ()):
            yield from _branch(branch, schema, f"{path}.{junctor}[{index}]")
    if "not" in schema:
        yield from _branch(schema["not"], schema, f"{path}.not")
    for below, where in _children(schema, path):
        yield from _node(below, where, depth=depth + 1)


def _misplaced(schema: Mapping[str, Any], path: str) -> Iterator[Cause]:
    """Keywords with a value of the wrong type, which the rest would stumble over."""
    for keyword, kind in _KEYWORD_TYPES.items():
        value = schema.get(keyword)
        if value is not None and not isinstance(value, kind):
            yield type_invalid(f"{path}.{keyword}", value, "has the wrong type")


def _children(schema: Mapping[str, Any], path: str) -> Iterator[tuple[Any, str]]:
    for name, below in (schema.get("properties") or {}).items():
        yield below, f"{path}.properties[{name}]"
    if isinstance(schema.get("additionalProperties"), dict):
        yield schema["additionalProperties"], f"{path}.additionalProperties"
    if "items" in schema:
        yield schema["items"], f"{path}.items"


def _type(schema: Mapping[str, Any], path: str) -> Iterator[Cause]:
    kind = schema.get("type")
    if schema.get(_INT_OR_STRING):
        if kind:
            yield forbidden_field(f"{path}.type", f"must be empty if {_INT_OR_STRING} is true")
        return
    if not kind:
        if not schema.get(_PRESERVE):
            yield required(f"{path}.type", "must not be empty for specified object fields")
        return
    if kind not in TYPES:
        yield not_supported(f"{path}.type", kind, TYPES)
    if kind == "array" and "items" not in schema:
        yield required(f"{path}.items", "must be specified")
    if schema.get("x-kubernetes-embedded-resource") and kind != "object":
        yield forbidden_field(f"{path}.type", "must be object if an embedded resource")


def _keywords(schema: Mapping[str, Any], path: str) -> Iterator[Cause]:
    for keyword in UNSUPPORTED:
        if keyword in schema:
            yield forbidden_field(f"{path}.{keyword}", f"{keyword} is not supported")
    if schema.get("uniqueItems"):
        yield forbidden_field(f"{path}.uniqueItems", "cannot be true")
    if "properties" in schema and "additionalProperties" in schema:
        yield forbidden_field(f"{path}.additionalProperties", "cannot stand beside properties")
    if schema.get("additionalProperties") is False:
        yield forbidden_field(f"{path}.additionalProperties", "cannot be false")
    for keyword in ("exclusiveMinimum", "exclusiveMaximum"):
        if keyword in schema and not isinstance(schema[keyword], bool):
            yield type_invalid(f"{path}.{keyword}", schema[keyword], "is a boolean in OpenAPI v3.0")
    if "default" in schema and schema["default"] is None and not schema.get("nullable"):
        yield forbidden_field(f"{path}.default", "null is no default where nullable is false")


def _metadata(schema: Mapping[str, Any], path: str) -> Iterator[Cause]:
    others = set(schema) - {"type", "properties", "description"}
    others |= set(schema.get("properties") or {}) - {"name", "generateName"}
    if others:
        yield forbidden_field(path, "must not specify anything other than name and generateName")


def _branch(branch: Any, beside: Mapping[str, Any], path: str) -> Iterator[Cause]:
    """A schema below a junctor restricts values; what exists is specified outside of it."""
    if not isinstance(branch, dict):
        yield forbidden_field(path, "a schema has to be an object")
        return
    for keyword in _NOT_IN_JUNCTORS:
        if keyword in branch and not (keyword == "type" and beside.get(_INT_OR_STRING)):
            yield forbidden_field(f"{path}.{keyword}", "must be empty to be structural")
    known = beside.get("properties") or {}
    for name, below in (branch.get("properties") or {}).items():
        where = f"{path}.properties[{name}]"
        if name in known:
            yield from _branch(below, known[name], where)
        elif not isinstance(beside.get("additionalProperties"), dict):
            outside = where.split(".allOf")[0].split(".anyOf")[0].split(".oneOf")[0]
            outside = outside.split(".not")[0]
            yield required(f"{outside}.properties[{name}]", f"because it is defined in {where}")
    if "items" in branch and isinstance(branch["items"], dict):
        yield from _branch(branch["items"], beside.get("items") or {}, f"{path}.items")
    for junctor in JUNCTORS:
        for index, below in enumerate(branch.get(junctor) or ()):
            yield from _branch(below, beside, f"{path}.{junctor}[{index}]")
    if "not" in branch:
        yield from _branch(branch["not"], beside, f"{path}.not")
