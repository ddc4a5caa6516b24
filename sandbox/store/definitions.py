"""CustomResourceDefinitions: their defaults, their validation, and the types that they add.

One served version each: conversion between versions is not served here, and asking for it is
refused. Names are accepted and types are served within the write that creates the definition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.store import rules
from sandbox.store.custom_resources import CustomStrategy
from sandbox.store.deleting import OF_DEFINITIONS
from sandbox.store.errors import Cause, forbidden_field, invalid_value, not_supported, required
from sandbox.store.resources import Column, ResourceType
from sandbox.store.scaling import ScalePaths
from sandbox.store.schemas import Schema
from sandbox.store.strategies import Body
from sandbox.store.structural import structural_causes
from sandbox.store.timestamps import rfc3339

_SCOPES = ("Cluster", "Namespaced")


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
        return _with_status(_with_defaults(obj), {}, rfc3339(self._now()))

    def causes_against_new(self, obj: Body) -> list[Cause]:
        return list(_causes(obj))

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
        return found or list(_causes(obj))


def served(definition: Mapping[str, Any]) -> Served:
    """The type, strategy and scale paths of a definition that was admitted."""
    spec = definition["spec"]
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
    strategy = CustomStrategy(openapi, with_status="status" in subresources)
    return Served(rt, strategy, _scale_paths(subresources.get("scale")))


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


def _causes(obj: Body) -> Iterator[Cause]:
    """What is wrong with a definition; schemas are looked at only if the rest is right."""
    basic = [*_name_causes(obj), *_version_causes(obj["spec"].get("versions"))]
    yield from basic
    if basic:
        return
    for index, version in enumerate(obj["spec"]["versions"]):
        single = len(obj["spec"]["versions"]) == 1
        path = "spec.validation" if single else f"spec.versions[{index}].schema"
        yield from _schema_causes(version, f"{path}.openAPIV3Schema")


def _name_causes(obj: Body) -> Iterator[Cause]:
    spec, names = obj["spec"], obj["spec"]["names"]
    for field in ("group", "scope"):
        if not spec.get(field):
            yield required(f"spec.{field}")
    for field in ("plural", "kind"):
        if not names.get(field):
            yield required(f"spec.names.{field}")
    if spec.get("scope") and spec["scope"] not in _SCOPES:
        yield not_supported("spec.scope", spec["scope"], _SCOPES)
    wanted = f"{names.get('plural')}.{spec.get('group')}"
    name = obj["metadata"]["name"]
    if name != wanted:
        detail = 'must be spec.names.plural+"."+spec.group'
        yield invalid_value("metadata.name", name, detail)


def _version_causes(versions: Any) -> Iterator[Cause]:
    if not isinstance(versions, list) or not all(isinstance(item, dict) for item in versions):
        yield required("spec.versions")
        return
    if [bool(item.get("storage")) for item in versions].count(True) != 1:
        text = "must have exactly one version marked as storage version"
        yield invalid_value("spec.versions", [item.get("name") for item in versions], text)
    if [bool(item.get("served")) for item in versions].count(True) != 1:
        text = "exactly one served version is supported here (no conversion)"
        yield forbidden_field("spec.versions", text)
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}]"
        if not version.get("name"):
            yield required(f"{path}.name")
        if "openAPIV3Schema" not in (version.get("schema") or {}):
            yield required(f"{path}.schema.openAPIV3Schema", "schemas are required")
        scale = (version.get("subresources") or {}).get("scale")
        for field in ("specReplicasPath", "statusReplicasPath"):
            if scale is not None and not scale.get(field):
                yield required(f"{path}.subresources.scale.{field}")


def _schema_causes(version: Mapping[str, Any], path: str) -> Iterator[Cause]:
    schema = version["schema"]["openAPIV3Schema"]
    found = list(structural_causes(schema, path))
    yield from found
    if found:
        return
    try:
        Schema(schema)
    except ValueError as problem:  # a pattern that is no regular expression, a limit below zero
        yield invalid_value(path, "", str(problem))
        return
    yield from _rule_causes(schema, path)
    yield from _default_causes(schema, path)


def _rule_causes(schema: Mapping[str, Any], path: str) -> Iterator[Cause]:
    for index, entry in enumerate(schema.get("x-kubernetes-validations") or ()):
        try:
            rules.compile_rule(entry)
        except rules.RuleError as problem:
            where = f"{path}.x-kubernetes-validations[{index}].rule"
            yield invalid_value(where, entry.get("rule"), str(problem))
    for below, where in _below(schema, path):
        yield from _rule_causes(below, where)


def _default_causes(schema: Mapping[str, Any], path: str) -> Iterator[Cause]:
    """A default has to be valid where it stands."""
    if schema.get("default") is not None:
        holder = Schema({"type": "object", "properties": {"default": schema}})
        complete = holder.defaulted({"default": schema["default"]})
        for cause in holder.causes(complete):
            where = f"{path}.{cause.field}"
            yield Cause(where, cause.message, cause.reason)
    for below, where in _below(schema, path):
        yield from _default_causes(below, where)


def _below(schema: Mapping[str, Any], path: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    for name, below in (schema.get("properties") or {}).items():
        yield below, f"{path}.properties[{name}]"
    for keyword in ("additionalProperties", "items"):
        if isinstance(schema.get(keyword), dict):
            yield schema[keyword], f"{path}.{keyword}"


def _at(obj: Mapping[str, Any], path: str) -> Any:
    at: Any = obj.get("spec") or {}
    for step in path.split("."):
        at = at.get(step) if isinstance(at, Mapping) else None
    return at
