"""The part of an object that the API server owns: identity, versions and times.

Lives here: what a new object gets, and what of the old object's metadata survives a change.
Spec and status are the business of the strategies (builtin.py, custom_resources.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from sandbox.store.errors import (
    Cause,
    bad_request,
    conflict,
    forbidden_field,
    internal_error,
    invalid,
    invalid_value,
    required,
)
from sandbox.store.naming import generated_name, metadata_causes
from sandbox.store.resources import ResourceType
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
        "name",
        "namespace",
        "ownerReferences",
        "resourceVersion",
    }
)
_NOT_OURS = frozenset({"selfLink", "managedFields"})  # known to Kubernetes, not kept here
_EMPTY_IS_ABSENT = frozenset({"labels", "annotations", "finalizers", "ownerReferences"})
# Replacing these without a resourceVersion means "whatever is there now".
_UNCONDITIONAL = frozenset(
    {
        "configmaps",
        "events",
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


def typed(rt: ResourceType, body: Any) -> Body:
    """A copy of what was sent whose kind and metadata can be relied on; 400 otherwise."""
    if not isinstance(body, dict):
        raise bad_request("the object provided is unrecognized (must be a JSON object)")
    if rt.custom and not body.get("kind"):
        raise bad_request(f"Object 'Kind' is missing in '{orjson.dumps(body).decode()[:200]}'")
    sent_version, sent_kind = body.get("apiVersion", rt.api_version), body.get("kind", rt.kind)
    if sent_version != rt.api_version:
        raise bad_request(
            f"the API version in the data ({sent_version}) does not match the expected API "
            f"version ({rt.api_version})"
        )
    if sent_kind != rt.kind:
        raise bad_request(f"the kind in the data ({sent_kind}) does not match {rt.kind}")
    check_shape(rt, body)
    obj = {**body, "apiVersion": rt.api_version, "kind": rt.kind}
    obj["metadata"] = _readable(body.get("metadata") or {})
    return obj


def _readable(meta: Body) -> Body:
    """What of the sent metadata is kept: known fields that say something."""
    return {
        field: value
        for field, value in meta.items()
        if field in _KNOWN and value is not None and not (field in _EMPTY_IS_ABSENT and not value)
    }


def unknown_fields(body: Any) -> list[str]:
    """Paths in the metadata of what was sent that no object has."""
    meta = body.get("metadata") if isinstance(body, dict) else None
    names = meta if isinstance(meta, dict) else {}
    return [f"metadata.{name}" for name in names if name not in _KNOWN | _NOT_OURS]


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
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    meta["namespace"] = namespace


def begin(rt: ResourceType, obj: Body, *, uid: str, now: float) -> None:
    """Give a new object its identity. Raises 422 if it has no name."""
    meta = obj["metadata"]
    if not meta.get("name"):
        base = meta.get("generateName")
        if not base:
            cause = required("metadata.name", "name or generateName is required")
            raise invalid(rt, "", [cause])
        meta["name"] = generated_name(base, uid)
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "generation"):
        meta.pop(field, None)
    meta["uid"] = uid
    meta["creationTimestamp"] = rfc3339(now)
    if rt.custom or rt.key in WITH_GENERATION:
        meta["generation"] = 1


def refuse_version_on_create(obj: Body) -> None:
    """500, as kube-apiserver answers: its storage refuses, after validation."""
    if obj["metadata"].get("resourceVersion"):
        raise internal_error("resourceVersion should not be set on objects to be created")


def check_same_object(obj: Body, old: Mapping[str, Any]) -> None:
    """A change may name another object only by mistake: 400."""
    meta, old_meta = obj["metadata"], old["metadata"]
    name = meta.get("name") or old_meta["name"]
    if name != old_meta["name"]:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL "
            f"({old_meta['name']})"
        )
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
            cause = Cause(
                "metadata.resourceVersion",
                "Invalid value: 0x0: must be specified for an update",
            )
            raise invalid(rt, name, [cause], by_resource=True)
    elif not sent.isdecimal():
        raise bad_request(f"invalid resource version {sent!r}: it has to be a number")
    elif sent != stored:
        raise conflict(rt, name)
    meta["resourceVersion"] = stored


def check_uid(rt: ResourceType, obj: Body, old: Mapping[str, Any]) -> None:
    """409 if a PUT names another incarnation of the object."""
    sent, stored = obj["metadata"].get("uid"), old["metadata"]["uid"]
    if sent and sent != stored:
        why = f"Precondition failed: UID in precondition: {sent}, UID in object meta: {stored}"
        raise conflict(rt, old["metadata"]["name"], why)


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
    immutable = "field is immutable"
    if meta.get("uid") != old_meta.get("uid"):
        causes.append(invalid_value("metadata.uid", meta.get("uid"), immutable))
    if meta.get("deletionTimestamp") != old_meta.get("deletionTimestamp"):
        sent = meta.get("deletionTimestamp")
        causes.append(invalid_value("metadata.deletionTimestamp", sent, immutable))
    if old_meta.get("deletionTimestamp"):
        known = old_meta.get("finalizers") or ()
        if added := [item for item in meta.get("finalizers") or () if item not in known]:
            listed = ", ".join(f'"{item}"' for item in added)
            detail = (
                "no new finalizers can be added if the object is being deleted, found new "
                f"finalizers []string{{{listed}}}"
            )
            causes.append(forbidden_field("metadata.finalizers", detail))
    return causes


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
    return orjson.dumps(one, option=flags) == orjson.dumps(other, option=flags)
