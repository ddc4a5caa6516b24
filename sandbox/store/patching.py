"""Patches: from the current object and the bytes of a PATCH to the object that is meant.

Merge patch (RFC 7386) is ours, JSON patch (RFC 6902) is the library's, strategic merge patch is
in strategic.py. Whether the result may be stored is decided by updating.py.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import jsonpatch
import jsonpointer
import orjson

from sandbox.store.errors import (
    bad_request,
    json_type,
    patch_rejected,
    too_large,
    unsupported_media_type,
)
from sandbox.store.folding import (
    LEVELS_MAX,
    Folded,
    folded,
    folded_whole,
    is_deep,
    unfolded,
    written,
)
from sandbox.store.resources import ResourceType
from sandbox.store.strategic import strategic_merge

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
JSON_PATCH_OPERATIONS_MAX = 10_000
_LEVELS_OF_PATCHES = 2  # around the value of an operation
_SORTED = orjson.OPT_SORT_KEYS


def patched(rt: ResourceType, current: dict[str, Any], patch: Any, content_type: str) -> Any:
    """The object after `patch`; parts that stay the same are shared with `current`.

    Raises 415 for a kind of patch that is not served, 400 for one that cannot be read, 422 for a
    JSON patch that does not fit.
    """
    kind = content_type.split(";")[0].strip()
    if patch is None:
        if kind == MERGE_PATCH:
            raise bad_request("a patch is an object, and not null")
        return current
    if kind == JSON_PATCH:
        return _json_patched(current, patch)
    if kind == MERGE_PATCH or (kind == STRATEGIC_MERGE_PATCH and not rt.custom):
        if not isinstance(patch, dict):
            raise bad_request(f"a patch is an object, and not of type {json_type(patch)}")
        return merged(current, patch) if kind == MERGE_PATCH else strategic_merge(current, patch)
    raise unsupported_media_type(patch_types(rt))


def merged(target: Any, patch: Any) -> Any:
    """JSON merge patch: null removes, objects are merged, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        there = result.get(key)
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Folded) or (isinstance(value, dict) and isinstance(there, Folded)):
            result[key] = _merged_far_down(there, value)
        elif isinstance(value, dict):
            result[key] = merged(there, value)
        else:
            result[key] = value
    return result


def _merged_far_down(target: Any, patch: Any) -> Any:
    """As `merged`, without recursion."""
    root = [unfolded(target)]
    waiting: list[tuple[Any, Any, Any]] = [(root, 0, unfolded(patch))]
    for holder, key, value in waiting:
        if not isinstance(value, dict):
            holder[key] = value
            continue
        there = holder[key]
        if not isinstance(there, dict):
            there = holder[key] = {}
        for name, item in value.items():
            if item is None:
                there.pop(name, None)
            else:
                there.setdefault(name, None)
                waiting.append((there, name, item))
    return folded_whole(root[0])


def _json_patched(current: dict[str, Any], operations: Any) -> Any:
    if not isinstance(operations, list):
        raise bad_request(f"a JSON patch is an array, and not of type {json_type(operations)}")
    if len(operations) > JSON_PATCH_OPERATIONS_MAX:
        raise too_large(f"a JSON patch has at most {JSON_PATCH_OPERATIONS_MAX} operations")
    for operation in operations:
        if not isinstance(operation, dict):
            raise bad_request(f"an operation cannot be of type {json_type(operation)}")
    if any(_goes_far_down(operation) for operation in operations):
        changed, operations = unfolded(dict(current)), unfolded(operations)
    else:
        changed = copy.deepcopy(dict(current))
    try:
        for operation in operations:
            changed = _after(changed, operation)
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError) as problem:
        raise patch_rejected() from problem
    return folded(changed) if is_deep(changed) else changed


def _goes_far_down(operation: Mapping[str, Any]) -> bool:
    """Whether a path may lead into what is folded."""
    paths = (operation.get("path"), operation.get("from"))
    return any(str(path).count("/") >= LEVELS_MAX - _LEVELS_OF_PATCHES for path in paths)


def _after(target: Any, operation: dict[str, Any]) -> Any:
    """The object, changed in place by one operation.

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
            if written(there, option=_SORTED) != written(operation["value"], option=_SORTED):
                raise patch_rejected()
            return target
    if kind == "copy" and isinstance(source := operation.get("from"), str):
        value = folded(jsonpointer.JsonPointer(source).resolve(target))
        operation = {"op": "add", "path": path, "value": value}
    return jsonpatch.JsonPatch([operation]).apply(target, in_place=True)


def patch_types(rt: ResourceType) -> tuple[str, ...]:
    """What kube-apiserver would take; server-side apply is named, and not served here."""
    if rt.custom:
        return JSON_PATCH, MERGE_PATCH, APPLY_PATCH
    return JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH
