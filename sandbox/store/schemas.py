"""Structural schemas: what an object of a custom resource keeps, gets by default, and may say.

1. Nulls that are not allowed are dropped. 2. Unknown fields are pruned. 3. Defaults are filled in.
4. The result is validated by the compiled schema. Rules in CEL come after that (rules.py), and
what a schema itself may look like before (structural.py). Nothing is changed in place: parts that
stay as they are are shared with the input.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import jsonschema_rs
import orjson

from sandbox.store.errors import Cause, duplicate
from sandbox.store.folding import emptied, written
from sandbox.store.number_checks import as_checked, as_read_back, number_bounds
from sandbox.store.schema_causes import causes_of

_ABSENT = object()
_ROOT_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
_FORMATS = frozenset({"date", "date-time", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"})
TIME_FORMATS = frozenset({"date", "date-time"})
_VALIDATED = (
    "enum",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "multipleOf",
    "required",
)


class Node:
    """One level of a schema, prepared for walking objects."""

    __slots__ = (
        "additional",
        "default",
        "embedded",
        "format",
        "has_cel_types",
        "has_defaults",
        "has_numbers",
        "has_sets",
        "int_or_string",
        "items",
        "keeps_unknown",
        "kind",
        "list_keys",
        "list_type",
        "nullable",
        "properties",
    )

    def __init__(self, schema: Mapping[str, Any], *, root: bool = False) -> None:
        self.kind = schema.get("type", "")
        self.format = schema.get("format", "")
        self.nullable = bool(schema.get("nullable"))
        self.default = schema.get("default", _ABSENT)
        self.embedded = root or bool(schema.get("x-kubernetes-embedded-resource"))
        self.list_type = schema.get("x-kubernetes-list-type", "atomic")
        self.list_keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
        self.properties = {
            name: Node(below) for name, below in (schema.get("properties") or {}).items()
        }
        self.items = Node(schema["items"]) if isinstance(schema.get("items"), dict) else None
        additional = schema.get("additionalProperties")
        self.additional = Node(additional) if isinstance(additional, dict) else None
        self.keeps_unknown = additional is True or bool(
            schema.get("x-kubernetes-preserve-unknown-fields")
        )
        self.int_or_string = bool(schema.get("x-kubernetes-int-or-string"))
        below = [*self.properties.values(), self.items, self.additional]
        self.has_numbers: bool = (
            self.kind in {"", "integer", "number"}
            or self.keeps_unknown
            or any(node.has_numbers for node in below if node)
        )
        self.has_defaults: bool = any(
            node.default is not _ABSENT or node.has_defaults for node in below if node
        )
        self.has_cel_types: bool = (
            self.kind == "number"
            or self.format in TIME_FORMATS
            or any(node.has_cel_types for node in below if node)
        )
        self.has_sets: bool = self.list_type in {"set", "map"} or any(
            node.has_sets for node in below if node
        )

    def at(self, name: str) -> Node | None:
        """The schema of a property, declared or additional."""
        return self.properties.get(name) or self.additional


class Schema:
    """The schema of one version of a custom resource."""

    def __init__(self, openapi: Mapping[str, Any]) -> None:
        self.openapi = openapi
        self.root = Node(openapi, root=True)
        self._exact: Any = None
        self._validator = jsonschema_rs.Draft4Validator(
            as_json_schema(openapi, root=True, bounded=True), validate_formats=True
        )

    def pruned(self, obj: Mapping[str, Any], unknown: list[str] | None = None) -> dict[str, Any]:
        """Without unknown fields and forbidden nulls; the paths of the former go to `unknown`."""
        result: dict[str, Any] = _pruned(self.root, obj, "", [] if unknown is None else unknown)
        return dict(result) if result is obj else result

    def defaulted(self, obj: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = _defaulted(self.root, obj)
        return result

    def causes(self, obj: Mapping[str, Any]) -> list[Cause]:
        """What the schema says against `obj`, apart from rules in CEL."""
        found = [] if self._validator.is_valid(obj) else self._violations(obj)
        if self.root.has_sets:
            _find_duplicates(self.root, obj, "", found)
        return found

    def read_back(self, obj: dict[str, Any]) -> dict[str, Any]:
        """With numbers as they are read from etcd."""
        result: dict[str, Any] = as_read_back(self.root, obj)
        return result

    def _violations(self, obj: Mapping[str, Any]) -> list[Cause]:
        """What kube-apiserver refuses of what the library, within narrower bounds, does."""
        seen = emptied(obj)
        if self._exact is None:
            self._exact = jsonschema_rs.Draft4Validator(
                as_json_schema(self.openapi, root=True), validate_formats=True
            )
        return causes_of(self._exact.iter_errors(as_checked(self.root, seen)), self.root, obj)


def as_json_schema(
    openapi: Mapping[str, Any], *, root: bool = False, bounded: bool = False
) -> dict[str, Any]:
    """OpenAPI v3.0 with Kubernetes' extensions as JSON schema draft 4.

    What is valid if `bounded` is valid to kube-apiserver as well: no number is out of its format.
    """
    schema: dict[str, Any] = {key: openapi[key] for key in _VALIDATED if key in openapi}
    kinds = [openapi["type"]] if openapi.get("type") else []
    if openapi.get("x-kubernetes-int-or-string"):
        kinds = ["integer", "string"]
    if kinds:
        if bounded:
            _bound(schema, kinds[0], openapi.get("format", ""))
        schema["type"] = [*kinds, "null"] if openapi.get("nullable") else kinds
        if len(schema["type"]) == 1:
            schema["type"] = kinds[0]
    if openapi.get("format") in _FORMATS:
        schema["format"] = openapi["format"]
    if openapi.get("properties"):
        schema["properties"] = {
            name: as_json_schema(below, bounded=bounded)
            for name, below in openapi["properties"].items()
            if not (root and name in _ROOT_FIELDS - {"metadata"})
        }
    for keyword in ("items", "not", "additionalProperties"):
        if isinstance(openapi.get(keyword), dict):
            schema[keyword] = as_json_schema(openapi[keyword], bounded=bounded and keyword != "not")
    for junctor in ("allOf", "anyOf", "oneOf"):
        if openapi.get(junctor):
            schema[junctor] = [as_json_schema(branch) for branch in openapi[junctor]]
    if openapi.get("x-kubernetes-embedded-resource"):
        schema["required"] = sorted({*schema.get("required", ()), "apiVersion", "kind"})
    return schema


def _bound(schema: dict[str, Any], kind: str, form: str) -> None:
    """Let the limits of the schema lie within those of its type and format."""
    least, most = number_bounds(kind, form)
    if least is not None and schema.get("minimum", -math.inf) < least:
        schema["minimum"] = least
        schema.pop("exclusiveMinimum", None)
    if most is not None and schema.get("maximum", math.inf) > most:
        schema["maximum"] = most
        schema.pop("exclusiveMaximum", None)


def _pruned(node: Node, value: Any, path: str, unknown: list[str]) -> Any:
    if isinstance(value, dict):
        return _pruned_object(node, value, path, unknown)
    if isinstance(value, list) and node.items is not None:
        items = node.items
        kept = [_pruned(items, item, f"{path}[{i}]", unknown) for i, item in enumerate(value)]
        return value if _identical(kept, value) else kept
    return value


def _pruned_object(
    node: Node, value: dict[str, Any], path: str, unknown: list[str]
) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for name, item in value.items():
        if node.embedded and name in _ROOT_FIELDS:
            continue
        below = node.at(name)
        where = f"{path}.{name}" if path else name
        if below is None:
            if not node.keeps_unknown:
                unknown.append(where)
                changes[name] = _ABSENT
        elif item is None:
            if not below.nullable and below.default is _ABSENT:
                changes[name] = _ABSENT
        else:
            kept = _pruned(below, item, where, unknown)
            if kept is not item:
                changes[name] = kept
    if not changes:
        return value
    merged = {**value, **changes}
    return {name: item for name, item in merged.items() if item is not _ABSENT}


def _defaulted(node: Node, value: Any) -> Any:
    if not node.has_defaults:
        return value
    if isinstance(value, list) and node.items is not None:
        items = node.items
        filled = [_defaulted(items, item) for item in value]
        return value if _identical(filled, value) else filled
    if not isinstance(value, dict):
        return value
    changes: dict[str, Any] = {}
    for name, below in node.properties.items():
        present = value.get(name, _ABSENT)
        missing = present is _ABSENT or (present is None and not below.nullable)
        if missing and below.default is not _ABSENT:
            changes[name] = _defaulted(below, below.default)
        elif not missing and below.has_defaults:
            changes[name] = _defaulted(below, present)
    if node.additional is not None:
        for name, item in value.items():
            if name not in node.properties:
                changes[name] = _defaulted(node.additional, item)
    if all(value.get(name, _ABSENT) is item for name, item in changes.items()):
        return value
    return {**value, **changes}


def _identical(new: list[Any], old: list[Any]) -> bool:
    return all(one is other for one, other in zip(new, old, strict=True))


def _find_duplicates(node: Node, value: Any, path: str, found: list[Cause]) -> None:
    if not node.has_sets:
        return
    if isinstance(value, dict):
        for name, item in value.items():
            below = node.at(name)
            if below is not None:
                _find_duplicates(below, item, f"{path}.{name}" if path else name, found)
    elif isinstance(value, list) and node.items is not None:
        if node.list_type in {"set", "map"}:
            _find_repeated_items(node, value, path, found)
        for index, item in enumerate(value):
            _find_duplicates(node.items, item, f"{path}[{index}]", found)


def _find_repeated_items(node: Node, items: list[Any], path: str, found: list[Cause]) -> None:
    seen: set[bytes] = set()
    for index, item in enumerate(items):
        identity = item
        if node.list_type == "map" and isinstance(item, dict):
            identity = {key: item.get(key) for key in node.list_keys}
        text = written(identity, option=orjson.OPT_SORT_KEYS)  # 1, 1.0 and true differ
        if text in seen:
            found.append(duplicate(f"{path}[{index}]", identity))
        seen.add(text)
