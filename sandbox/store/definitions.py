"""CustomResourceDefinitions: their defaults, their validation, and the types that they add.

One served version each: conversion between versions is not served here, and asking for it is
refused. Names are accepted and types are served within the write that creates the definition.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from sandbox.store.custom_resources import CustomStrategy
from sandbox.store.definition_causes import definition_causes
from sandbox.store.deleting import OF_DEFINITIONS
from sandbox.store.errors import Cause, invalid_value
from sandbox.store.resources import Column, ResourceType
from sandbox.store.scaling import ScalePaths
from sandbox.store.strategies import Body
from sandbox.store.timestamps import rfc3339

ALIKE_MAX = 64
"""Texts of definitions whose meaning is kept: it is worked out at every write otherwise, and many
clusters of one process have the same ones."""


@dataclass(frozen=True)
class Served:
    """What a definition adds to the API."""

    rt: ResourceType
    strategy: CustomStrategy
    scale: ScalePaths | None


def without_cleanup(definition: Mapping[str, Any]) -> Body:
    """The definition once none of its objects is left."""
    meta = dict(definition["metadata"])
    meta["finalizers"] = [item for item in meta["finalizers"] if item != OF_DEFINITIONS]
    return {**definition, "metadata": meta}


class DefinitionStrategy:
    """The strategy of CustomResourceDefinitions themselves. `now` gives unix seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now

    def unknown_fields(self, obj: Body) -> list[str]:
        return []

    def admit_new(self, obj: Body) -> Body:
        return _not_accepted_yet(_with_defaults(obj))

    def causes_against_new(self, obj: Body) -> list[Cause]:
        return _causes(obj)

    def admit_change(self, obj: Body, old: Mapping[str, Any], *, subresource: str) -> Body:
        if subresource == "status":
            return {**old, "metadata": dict(old["metadata"]), "status": obj.get("status")}
        return _with_status(_with_defaults(obj), old.get("status") or {}, rfc3339(self._now()))

    def causes_against_change(
        self, obj: Body, old: Mapping[str, Any], *, subresource: str
    ) -> list[Cause]:
        if subresource:
            return []
        found = [
            invalid_value(f"spec.{path}", _at(obj, path), "field is immutable")
            for path in ("group", "scope", "names.plural", "names.kind")
            if _at(obj, path) != _at(old, path)
        ]
        return found or _causes(obj)

    def as_stored(self, obj: Body) -> Body:
        return obj


def established(definition: Mapping[str, Any], now: str) -> Body:
    """A new definition once its names are accepted and its types are served."""
    return _with_status(dict(definition), definition["status"], now)


def _causes(obj: Body) -> list[Cause]:
    """Everything that is wrong with a definition."""
    name = {"name": obj["metadata"]["name"]}
    return list(_causes_of(orjson.dumps({**obj, "metadata": name})))


@functools.lru_cache(ALIKE_MAX)
def _causes_of(text: bytes) -> tuple[Cause, ...]:
    return tuple(definition_causes(orjson.loads(text)))


def served(definition: Mapping[str, Any]) -> Served:
    """The type, strategy and scale paths of a definition that was admitted."""
    return _served(orjson.dumps(definition["spec"]))


@functools.lru_cache(ALIKE_MAX)
def _served(text: bytes) -> Served:
    spec = orjson.loads(text)
    version = next(item for item in spec["versions"] if item.get("served"))
    names = spec["names"]
    subresources = version.get("subresources") or {}
    rt = ResourceType(
        group=spec["group"],
        version=version["name"],
        plural=names["plural"],
        singular=names["singular"],
        kind=names["kind"],
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=frozenset(key for key in ("status", "scale") if key in subresources),
        columns=tuple(_column(item) for item in version.get("additionalPrinterColumns") or ()),
        list_kind=names["listKind"],
        custom=True,
        selectable_fields=tuple(
            item["jsonPath"].removeprefix(".") for item in version.get("selectableFields") or ()
        ),
    )
    openapi = version["schema"]["openAPIV3Schema"]
    scale = _scale_paths(subresources.get("scale"))
    strategy = CustomStrategy(openapi, with_status="status" in subresources, scale=scale)
    return Served(rt, strategy, scale)


def _scale_paths(scale: Mapping[str, Any] | None) -> ScalePaths | None:
    if scale is None:
        return None
    return ScalePaths(
        spec_replicas=scale["specReplicasPath"],
        status_replicas=scale["statusReplicasPath"],
        label_selector=scale.get("labelSelectorPath", ""),
    )


def _column(item: Mapping[str, Any]) -> Column:
    return Column(
        name=item["name"],
        json_path=item["jsonPath"],
        type=item.get("type", "string"),
        description=item.get("description", ""),
        format=item.get("format", ""),
        priority=item.get("priority", 0),
    )


def _with_defaults(obj: Body) -> Body:
    spec = dict(obj.get("spec") or {})
    names = dict(spec.get("names") or {})
    kind = str(names.get("kind", ""))
    names.setdefault("singular", kind.lower())
    names.setdefault("listKind", f"{kind}List")
    spec["names"] = names
    spec.setdefault("conversion", {"strategy": "None"})
    return {**obj, "spec": spec}


def _not_accepted_yet(obj: Body) -> Body:
    """The answer to the creation of a definition."""
    stored = [item.get("name") for item in obj["spec"].get("versions") or () if item.get("storage")]
    names = {"plural": "", "kind": ""}
    status = {"conditions": None, "acceptedNames": names, "storedVersions": stored or None}
    return {**obj, "status": status}


def _with_status(obj: Body, before: Mapping[str, Any], now: str) -> Body:
    """Names accepted, established: what two controllers say in a real cluster."""
    spec = obj["spec"]
    known = {item["type"]: item for item in before.get("conditions") or ()}
    conditions = [
        known.get(kind)
        or {
            "type": kind,
            "status": "True",
            "lastTransitionTime": now,
            "reason": reason,
            "message": message,
        }
        for kind, reason, message in (
            ("NamesAccepted", "NoConflicts", "no conflicts found"),
            ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        )
    ]
    versions = spec.get("versions") or []
    stored = [
        item.get("name") for item in versions if isinstance(item, dict) and item.get("storage")
    ]
    kept = dict.fromkeys([*(before.get("storedVersions") or ()), *stored])
    status = {
        "conditions": conditions,
        "acceptedNames": spec["names"],
        "storedVersions": list(kept),
    }
    return {**obj, "status": status}


def _at(obj: Mapping[str, Any], path: str) -> Any:
    at: Any = obj.get("spec") or {}
    for step in path.split("."):
        at = at.get(step) if isinstance(at, Mapping) else None
    return at
