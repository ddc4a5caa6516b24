"""Patches: from the current object and the bytes of a PATCH to the object that is meant.

Merge patch (RFC 7386) is ours, JSON patch (RFC 6902) is the library's, strategic merge patch is
in strategic.py. Whether the result may be stored is decided by updating.py.
"""

from __future__ import annotations

from typing import Any

import jsonpatch
import jsonpointer
import orjson

from sandbox.store.errors import (
    bad_request,
    patch_rejected,
    too_large,
    unsupported_media_type,
)
from sandbox.store.resources import ResourceType
from sandbox.store.schema_causes import go_type
from sandbox.store.strategic import strategic_merge

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
JSON_PATCH_OPERATIONS_MAX = 10_000
_SORTED = orjson.OPT_SORT_KEYS


def patched(rt: ResourceType, current: dict[str, Any], patch: Any, content_type: str) -> Any:
    """The object after `patch`; parts that stay the same are shared with `current`.

    Raises 415 for a kind of patch that is not served, 400 for one that cannot be read, 422 for a
    JSON patch that does not fit.
    """
    kind = content_type.split(";")[0].strip()
    if kind == JSON_PATCH:
        return _json_patched(current, patch)
    if kind == MERGE_PATCH or (kind == STRATEGIC_MERGE_PATCH and not rt.custom):
        if not isinstance(patch, dict):
            prefix = "error decoding patch: " if kind == MERGE_PATCH else ""
            raise bad_request(f"{prefix}{_not_a_map(patch)}")
        return merged(current, patch) if kind == MERGE_PATCH else strategic_merge(current, patch)
    raise unsupported_media_type(patch_types(rt))


def merged(target: Any, patch: Any) -> Any:
    """JSON merge patch: null removes, objects are merged, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = merged(result.get(key), value)
        else:
            result[key] = value
    return result


def _json_patched(current: dict[str, Any], operations: Any) -> Any:
    if not isinstance(operations, list):
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {go_type(operations)} into Go value "
            "of type []handlers.jsonPatchOp"
        )
    if len(operations) > JSON_PATCH_OPERATIONS_MAX:
        raise too_large(
            "The allowed maximum operations in a JSON patch is "
            f"{JSON_PATCH_OPERATIONS_MAX}, got {len(operations)}"
        )
    for operation in operations:
        if not isinstance(operation, dict):
            raise bad_request(
                f"error decoding patch: json: cannot unmarshal {go_type(operation)} into Go "
                "value of type handlers.jsonPatchOp"
            )
    changed: Any = dict(current)
    try:
        for operation in operations:
            changed = _after(changed, operation)
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError) as problem:
        raise patch_rejected() from problem
    return changed


def _after(target: Any, operation: dict[str, Any]) -> Any:
    """The object after one operation.

    As in Kubernetes, a member that is absent may be replaced, and is null to a test; a test tells
    1 from 1.0 and from true.
    """
    kind, path = operation.get("op"), operation.get("path")
    if kind in {"replace", "test"} and isinstance(path, str) and path:
        parent, last = jsonpointer.JsonPointer(path).to_last(target)
        if isinstance(parent, dict) and last not in parent:
            if kind == "replace":
                operation = {**operation, "op": "add"}
            elif operation.get("value") is None:
                return target
        elif kind == "test" and "value" in operation:
            there = jsonpointer.JsonPointer(path).resolve(target)
            if orjson.dumps(there, option=_SORTED) != orjson.dumps(
                operation["value"], option=_SORTED
            ):
                raise patch_rejected()
    return jsonpatch.JsonPatch([operation]).apply(target)


def patch_types(rt: ResourceType) -> tuple[str, ...]:
    """What kube-apiserver would take; server-side apply is named, and not served here."""
    if rt.custom:
        return JSON_PATCH, MERGE_PATCH, APPLY_PATCH
    return JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH


def _not_a_map(patch: Any) -> str:
    kind = go_type(patch)
    return f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
