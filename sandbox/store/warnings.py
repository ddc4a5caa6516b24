"""What an API server would rather not be sent, and says so beside its answer.

One function a kind, each yielding sentences; the texts are those of kube-apiserver. Pods are only
looked at when they are created, as there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from sandbox.store.naming import STANDARD_FINALIZERS, name_problems, qualified_name_problems
from sandbox.store.pod_warnings import pod_warnings
from sandbox.store.resources import ResourceType

Obj = Mapping[str, Any]
ALIKE_MAX = 64
"""Versions of definitions whose formats are kept: many clusters of one process have the same."""
_REPEATED_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner "
    "references in 1.20+, and may reject such requests as early as 1.24; please fix your "
    "requests; duplicate UID(s) observed: {uids}"
)
_AFTER_ADMISSION = " after mutating admission happens"
_HOSTNAME = (
    "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; "
    "a DNS label is recommended: [{problems}]"
)
_TEXT_FORMATS = frozenset(
    "bsonobjectid uri email hostname ipv4 ipv6 cidr mac uuid uuid3 uuid4 uuid5 isbn isbn10 isbn13 "
    "creditcard ssn hexcolor rgbcolor byte password date duration datetime k8s-short-name "
    "k8s-long-name".replace("-", "").split()
)
_FORMATS: Mapping[str, frozenset[str]] = {
    "": _TEXT_FORMATS,
    "string": _TEXT_FORMATS,
    "integer": frozenset({"int32", "int64"}),
    "number": frozenset({"float", "double"}),
}


def warnings_of(rt: ResourceType, obj: Obj, old: Obj | None) -> list[str]:
    """The warnings on an object that is written without a subresource."""
    if rt.custom:
        return list(_finalizer_warnings(obj, old))
    return list(_BY_RESOURCE.get(rt.key, _silent)(obj, old))


def without_repeated_owners(
    owners: Sequence[Obj], *, patched: bool
) -> tuple[list[Obj], str | None]:
    """Owner references once each, and what to say if there were more."""
    kept: list[Obj] = []
    for owner in owners:
        if owner not in kept:
            kept.append(owner)
    if len(kept) == len(owners):
        return kept, None
    uids = [str(owner.get("uid", "")) for at, owner in enumerate(owners) if owner in owners[:at]]
    when = _AFTER_ADMISSION if patched else ""
    return kept, _REPEATED_OWNERS.format(when=when, uids=", ".join(uids))


def _silent(obj: Obj, old: Obj | None) -> Iterator[str]:
    yield from ()


def _finalizer_warnings(obj: Obj, old: Obj | None) -> Iterator[str]:
    """Custom resources may have finalizers without a domain; other kinds are refused."""
    known = (old or {}).get("metadata", {}).get("finalizers") or ()
    field = "metadata.finalizers"
    for name in sorted(set(obj["metadata"].get("finalizers") or ()) - set(known)):
        for problem in qualified_name_problems(name):
            yield f'{field}: "{name}": {problem}'
        if "/" not in name and name not in STANDARD_FINALIZERS:
            path = " including a path (/)" if "." in name else ""
            yield (
                f'{field}: "{name}": prefer a domain-qualified finalizer name{path} to avoid '
                "accidental conflicts with other finalizer writers"
            )


def _of_pod(obj: Obj, old: Obj | None) -> Iterator[str]:
    if old is not None:
        return
    if problems := name_problems("services", obj["metadata"]["name"]):
        yield _HOSTNAME.format(problems=" ".join(problems))
    yield from pod_warnings(obj)


def _of_service(obj: Obj, old: Obj | None) -> Iterator[str]:
    spec = obj["spec"]
    headless = spec.get("type") == "ClusterIP" and spec.get("clusterIP") == "None"
    external = spec.get("type") == "ExternalName"
    if headless:
        if spec.get("loadBalancerIP"):
            yield "spec.loadBalancerIP is ignored for headless services"
        if spec.get("externalIPs"):
            yield "spec.externalIPs is ignored for headless services"
        if spec.get("sessionAffinity") != "None":
            yield "spec.SessionAffinity is ignored for headless services"
    elif spec.get("externalIPs") and not external:
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if external and spec.get("externalIPs"):
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if not external and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def _of_node(obj: Obj, old: Obj | None) -> Iterator[str]:
    spec = obj.get("spec") or {}
    if spec.get("configSource") is not None:
        yield "spec.configSource: the feature is removed"
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"


def _of_definition(obj: Obj, old: Obj | None) -> Iterator[str]:
    """Formats that nothing checks; those that a definition had before are not named again."""
    known = set(_unknown_formats(old)) if old else set()
    for name in _unknown_formats(obj):
        if name not in known:
            yield f'unrecognized format "{name}"'


def _unknown_formats(definition: Obj) -> tuple[str, ...]:
    return _unknown_formats_of(orjson.dumps(definition["spec"].get("versions") or ()))


@functools.lru_cache(ALIKE_MAX)
def _unknown_formats_of(versions: bytes) -> tuple[str, ...]:
    return tuple(
        name
        for version in orjson.loads(versions)
        for name in _formats_in((version.get("schema") or {}).get("openAPIV3Schema"))
    )


def _formats_in(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for below in schema:
            yield from _formats_in(below)
    if not isinstance(schema, dict):
        return
    format_ = schema.get("format")
    if format_ and format_.replace("-", "") not in _FORMATS.get(
        schema.get("type", ""), frozenset()
    ):
        yield format_
    for name in ("properties", "patternProperties", "definitions"):
        for below in (schema.get(name) or {}).values():
            yield from _formats_in(below)
    for name in ("items", "additionalProperties", "not", "allOf", "anyOf", "oneOf"):
        yield from _formats_in(schema.get(name))


_BY_RESOURCE: Mapping[str, Callable[[Obj, Obj | None], Iterator[str]]] = {
    "customresourcedefinitions.apiextensions.k8s.io": _of_definition,
    "nodes": _of_node,
    "pods": _of_pod,
    "services": _of_service,
}
