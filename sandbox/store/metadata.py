"""The part of an object that the API server owns: identity, versions and times.

Lives here: what a new object gets, and what of the old object's metadata survives a change.
Spec and status are the business of the strategies (builtin.py, custom_resources.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from http import HTTPStatus
from typing import Any

import orjson

from sandbox.store.core_fields import knows, read_kind
from sandbox.store.core_values import Misread
from sandbox.store.errors import (
    ApiError,
    Cause,
    bad_request,
    conflict,
    forbidden_field,
    invalid,
    invalid_value,
    json_type,
    patch_leads_astray,
    shown,
)
from sandbox.store.folding import written
from sandbox.store.managed_fields import ENTRY_FIELDS
from sandbox.store.naming import generated_name, metadata_causes
from sandbox.store.resources import CUSTOM_RESOURCE_DEFINITION, ResourceType
from sandbox.store.shapes import check_shape
from sandbox.store.timestamps import rfc3339

Body = dict[str, Any]
_KEPT = (
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_KNOWN = frozenset(
    {
        *_KEPT,
        "annotations",
        "finalizers",
        "generateName",
        "labels",
        "managedFields",
        "name",
        "namespace",
        "ownerReferences",
        "resourceVersion",
    }
)
_NOT_OURS = frozenset({"selfLink"})  # known to Kubernetes, not kept here
_EMPTY_IS_ABSENT = frozenset({"labels", "annotations", "finalizers", "ownerReferences"})
# Replacing these without a resourceVersion means "whatever is there now".
_UNCONDITIONAL = frozenset(
    {
        "configmaps",
        "events",
        "horizontalpodautoscalers.autoscaling",
        "namespaces",
        "nodes",
        "persistentvolumeclaims",
        "pods",
        "secrets",
        "serviceaccounts",
        "services",
    }
)
WITH_GENERATION = frozenset({"pods", "customresourcedefinitions.apiextensions.k8s.io"})


ALIKE_MAX = 64
"""Texts of definitions that are read once: many clusters of one process have the same ones."""


def typed(
    rt: ResourceType, body: Any, unknown: list[str] | None = None, *, patched: bool = False
) -> Body:
    """A copy of what was sent whose kind and metadata can be relied on; 400 otherwise.

    Paths of fields that the kind does not have go to `unknown`; of custom resources, only those of
    their metadata.
    """
    unknown = [] if unknown is None else unknown
    if body is None and not rt.custom:
        body = {}
    require_object(rt, body)
    sent_version, sent_kind = body.get("apiVersion", rt.api_version), body.get("kind", rt.kind)
    if rt.custom and (sent_version, sent_kind) != (rt.api_version, rt.kind):
        if sent_version != rt.api_version and not patched:
            raise bad_request(f"apiVersion has to be {rt.api_version}, and not {sent_version}")
        raise _another_kind(rt, body, sent_version, sent_kind)
    if (sent_version, sent_kind) != (rt.api_version, rt.kind):
        sent, wanted = f"{sent_kind} of {sent_version}", f"{rt.kind} of {rt.api_version}"
        raise bad_request(f"the body has to be a {wanted}, and not a {sent}")
    if rt.custom or not knows(rt.kind):
        check_shape(rt, body)
        unknown.extend(_unknown_in_metadata(body))
    else:
        body = _read(rt, body, unknown)
    obj = {**body, "apiVersion": rt.api_version, "kind": rt.kind}
    obj["metadata"] = _readable(body.get("metadata") or {})
    return obj


def require_object(rt: ResourceType, body: Any) -> None:
    """400 for what is no object, or one of a custom resource that does not say its kind."""
    if body is None and not rt.custom:
        return  # null is an empty struct
    if not isinstance(body, dict):
        raise bad_request(f"the body has to be a {rt.kind}, and not of type {json_type(body)}")
    if rt.custom and not body.get("kind"):
        raise bad_request(f"the body has no kind; it has to be {rt.kind}")


def _read(rt: ResourceType, body: Body, unknown: list[str]) -> Body:
    """An object of a core kind with the fields that the kind has; 400 if one cannot be read."""
    try:
        if rt.key == CUSTOM_RESOURCE_DEFINITION.key:
            return _read_definition(body, unknown)
        return read_kind(rt.kind, body, unknown)
    except Misread as problem:
        raise bad_request(f"{rt.kind}: {problem}") from problem


def _read_definition(body: Body, unknown: list[str]) -> Body:
    """Nobody changes what was read: definitions of one text share it."""
    try:
        text = orjson.dumps(body)
    except TypeError:  # too deep, or a number that is too large
        return read_kind(CUSTOM_RESOURCE_DEFINITION.kind, body, unknown)
    read, paths = _definition_of(text)
    unknown.extend(paths)
    return dict(read)


@lru_cache(ALIKE_MAX)
def _definition_of(text: bytes) -> tuple[Body, tuple[str, ...]]:
    unknown: list[str] = []
    return read_kind(CUSTOM_RESOURCE_DEFINITION.kind, orjson.loads(text), unknown), tuple(unknown)


def typed_by_patch(rt: ResourceType, body: Any, unknown: list[str] | None = None) -> Body:
    """As `typed`, for what a patch led to: 422."""
    try:
        return typed(rt, body, unknown, patched=True)
    except ApiError as problem:
        if problem.code != HTTPStatus.BAD_REQUEST:
            raise
        raise patch_leads_astray(problem.message) from problem


def _another_kind(rt: ResourceType, body: Body, version: str, kind: str) -> ApiError:
    """422 that names what was sent; 400 where its group is not even that of the resource."""
    causes = []
    if version != rt.api_version:
        causes.append(invalid_value("apiVersion", version, f"must be {rt.api_version}"))
    if kind != rt.kind:
        causes.append(invalid_value("kind", kind, f"must be {rt.kind}"))
    meta = body.get("metadata")
    name = meta.get("name") if isinstance(meta, dict) else ""
    return invalid(replace(rt, kind=kind), str(name or ""), causes)


def _readable(meta: Body) -> Body:
    """What of the sent metadata is kept: known fields that say something, each owner once."""
    kept = {
        field: value
        for field, value in meta.items()
        if field in _KNOWN and value is not None and not (field in _EMPTY_IS_ABSENT and not value)
    }
    if owners := kept.get("ownerReferences"):
        kept["ownerReferences"] = [
            owner for index, owner in enumerate(owners) if owner not in owners[:index]
        ]
    return kept


def _unknown_in_metadata(body: Body) -> list[str]:
    """Paths in the metadata of what was sent that no object has."""
    names = body.get("metadata") or {}
    unknown = [f"metadata.{name}" for name in names if name not in _KNOWN | _NOT_OURS]
    for index, entry in enumerate(names.get("managedFields") or ()):
        where = f"metadata.managedFields[{index}]"
        unknown += [f"{where}.{name}" for name in entry or () if name not in ENTRY_FIELDS]
    return unknown


def require_name(body: Any) -> None:
    """400 for a patch that takes away the name."""
    meta = body.get("metadata") if isinstance(body, dict) else None
    if not isinstance(meta, dict) or not meta.get("name"):
        raise bad_request("metadata.name is missing")


def place(rt: ResourceType, namespace: str | None, obj: Body) -> None:
    """Put the namespace of the URL into the metadata; 400 if another one is there."""
    meta = obj["metadata"]
    sent = meta.get("namespace") or ""
    if not rt.namespaced:
        if sent:
            raise bad_request("namespace may not be set on an object of the cluster")
        meta.pop("namespace", None)
        return
    if sent and sent != namespace:
        raise bad_request(f"metadata.namespace is {sent}, and the namespace of the URL {namespace}")
    meta["namespace"] = namespace


def begin(rt: ResourceType, obj: Body, *, uid: str, now: float) -> None:
    """Give a new object its identity; one without a name has an empty one, and is refused later."""
    meta = obj["metadata"]
    if not meta.get("name"):
        base = meta.get("generateName")
        meta["name"] = generated_name(base, uid) if base else ""
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        meta.pop(field, None)
    meta["uid"] = uid
    meta["creationTimestamp"] = rfc3339(now)
    if rt.custom or rt.key in WITH_GENERATION:
        meta["generation"] = 1


def refuse_version_on_create(obj: Body) -> None:
    """500, as kube-apiserver answers: its storage refuses, after validation."""
    if obj["metadata"].get("resourceVersion"):
        raise ApiError(500, "", "resourceVersion should not be set on objects to be created")


def check_same_object(obj: Body, old: Mapping[str, Any]) -> None:
    """A change may name another object only by mistake: 400."""
    meta, old_meta = obj["metadata"], old["metadata"]
    name = meta.get("name") or old_meta["name"]
    if name != old_meta["name"]:
        raise bad_request(f"metadata.name is {name}, and the name of the URL {old_meta['name']}")
    meta["name"] = name


def check_version(rt: ResourceType, obj: Body, old: Mapping[str, Any]) -> None:
    """409 if the change is based on another version than the stored one."""
    meta, name, stored = (
        obj["metadata"],
        old["metadata"]["name"],
        old["metadata"]["resourceVersion"],
    )
    sent = meta.get("resourceVersion") or ""
    if sent in {"", "0"}:
        if rt.key not in _UNCONDITIONAL:
            cause = invalid_value("metadata.resourceVersion", sent, "a change needs one")
            raise invalid(rt, name, [cause], by_resource=True)
    elif not sent.isdecimal():
        raise ApiError(500, "", f"metadata.resourceVersion {shown(sent)} is no number")
    elif sent != stored:
        raise conflict(rt, name)
    meta["resourceVersion"] = stored


def check_uid(rt: ResourceType, obj: Body, old: Mapping[str, Any]) -> None:
    """409 if a PUT names another incarnation of the object."""
    sent, stored = obj["metadata"].get("uid"), old["metadata"]["uid"]
    if sent and sent != stored:
        raise conflict(rt, old["metadata"]["name"], f"metadata.uid is {sent}, its uid {stored}")


def keep_identity(obj: Body, old: Mapping[str, Any]) -> None:
    """What no change can take away: creation time, deletion time, generation."""
    meta, old_meta = obj["metadata"], old["metadata"]
    for field in _KEPT:
        if field in old_meta:
            if field != "uid" or not meta.get("uid"):
                meta[field] = old_meta[field]
        elif field != "deletionTimestamp":
            meta.pop(field, None)


def change_causes(rt: ResourceType, obj: Body, old: Mapping[str, Any]) -> list[Cause]:
    """What is wrong with the metadata of a changed object."""
    meta, old_meta = obj["metadata"], old["metadata"]
    causes = metadata_causes(rt, meta) if meta != old_meta else []
    if rt.group or rt.key == "events":  # any word may be a finalizer in a change of these
        causes = [each for each in causes if not each.field.startswith("metadata.finalizers[")]
    return causes + _fixed_causes(meta, old_meta)


def _fixed_causes(meta: Mapping[str, Any], old_meta: Mapping[str, Any]) -> list[Cause]:
    fixed = []
    if old_meta.get("deletionTimestamp"):
        known = old_meta.get("finalizers") or ()
        if added := [item for item in meta.get("finalizers") or () if item not in known]:
            detail = f"{shown(added)} cannot be added, because the object is being deleted"
            fixed.append(forbidden_field("metadata.finalizers", detail))
    return fixed + [
        invalid_value(f"metadata.{field}", meta.get(field), "field is immutable")
        for field in ("uid", "deletionTimestamp")
        if meta.get(field) != old_meta.get(field)
    ]


def count_generation(rt: ResourceType, obj: Body, old: Mapping[str, Any]) -> None:
    """Let the generation rise if more than metadata and status changed."""
    if "generation" not in obj["metadata"]:
        return
    ignored = (
        {"metadata", "status"} if rt.key == "pods" or "status" in rt.subresources else {"metadata"}
    )
    mine = {key: value for key, value in obj.items() if key not in ignored}
    theirs = {key: value for key, value in old.items() if key not in ignored}
    if not same(mine, theirs):
        obj["metadata"]["generation"] = old["metadata"]["generation"] + 1


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Equal as JSON: unlike in Python, 1 is not true."""
    if one != other:
        return False
    flags = orjson.OPT_SORT_KEYS
    return written(one, option=flags) == written(other, option=flags)
