"""Objects of a tiny world: patches, and what they say."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

Obj = dict[str, Any]


def meaning_of(objects: Mapping[tuple[str, str], Obj]) -> dict[tuple[str, str], Any]:
    """What all of them say, but for identities, versions, times and statuses of others."""
    found: dict[tuple[str, str], Any] = {}
    for key, obj in objects.items():
        if key[0] in ("Job", "Node", "Pod"):
            continue
        seen = copy.deepcopy(obj)
        for field in ("uid", "resourceVersion", "ownerReferences", "generation"):
            seen["metadata"].pop(field, None)
        seen.pop("status", None)
        found[key] = seen
    return found


def merge(target: Obj, patch: Obj) -> None:
    """RFC 7386 in place."""
    for key, value in patch.items():
        if isinstance(value, dict):
            merge(target.setdefault(key, {}), value)
        elif value is None:
            target.pop(key, None)
        else:
            target[key] = copy.deepcopy(value)
