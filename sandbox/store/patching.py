"""Patches: from the current object and the bytes of a PATCH to the object that is meant.

Merge patch (RFC 7386) is ours, JSON patch (RFC 6902) is the library's, strategic merge patch is
in strategic.py. Whether the result may be stored is decided by updating.py.
"""

from __future__ import annotations

from typing import Any

import jsonpatch
import jsonpointer

from sandbox.store.errors import (
    ApiError,
    bad_request,
    patch_rejected,
    too_large,
    unsupported_media_type,
)
from sandbox.store.resources import ResourceType
from sandbox.store.strategic import strategic_merge

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
JSON_PATCH_OPERATIONS_MAX = 10_000


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
            raise bad_request("the patch has to be a JSON object")
        return merged(current, patch) if kind == MERGE_PATCH else strategic_merge(current, patch)
    raise _unsupported(rt, kind)


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
        raise bad_request("a JSON patch has to be a list of operations")
    if len(operations) > JSON_PATCH_OPERATIONS_MAX:
        raise too_large(
            "The allowed maximum operations in a JSON patch is "
            f"{JSON_PATCH_OPERATIONS_MAX}, got {len(operations)}"
        )
    try:
        return jsonpatch.JsonPatch(operations).apply(dict(current))
    except (jsonpatch.InvalidJsonPatch, TypeError) as problem:
        raise bad_request(f"the JSON patch cannot be read: {problem}") from problem
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException) as problem:
        raise patch_rejected(str(problem)) from problem


def _unsupported(rt: ResourceType, kind: str) -> ApiError:
    supported = [JSON_PATCH, MERGE_PATCH]
    if not rt.custom:
        supported.append(STRATEGIC_MERGE_PATCH)
    if kind.startswith("application/apply-patch"):
        kind += "; server-side apply is not served here"
    return unsupported_media_type(kind, supported)
