"""Objects of a tiny world: patches, and what they say."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from contracts import labels

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


def aadls_of(objects: Mapping[tuple[str, str], Any]) -> dict[str, str]:
    """The AADL of each PE, from the pack and key that it names."""
    found = {}
    for (kind, name), pe in objects.items():
        if kind == "ProcessingElement":
            pack = pe["spec"]["pack"]
            found[name] = objects["ConfigMap", pack["name"]]["data"][pack["key"]]
    return found


def packs_of(objects: Mapping[tuple[str, str], Any], job: str) -> set[str]:
    """The names of a job's packs."""
    return {
        name for kind, name in objects if kind == "ConfigMap" and labels.is_pack_name(name, job)
    }
