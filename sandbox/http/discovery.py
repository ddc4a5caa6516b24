"""Which API the server offers: versions, groups, resources, health, OpenAPI.

Lives here: every path that addresses no object. Documents are computed from what is served and
kept until that changes. Requests for objects go through api.py.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import orjson

from sandbox.http import openapi
from sandbox.http.answers import Answer
from sandbox.http.negotiation import media_types
from sandbox.http.served import Served
from sandbox.store.errors import ApiError
from sandbox.store.resources import ResourceType

VERSION = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.3",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "none",
    "platform": "linux/amd64",
}
_AGGREGATED = "APIGroupDiscoveryList"
_AGGREGATED_VERSIONS = frozenset({"v2", "v2beta1"})
_HEALTH = frozenset({"/healthz", "/readyz", "/livez", "/healthz/ping", "/livez/ping"})
_STORAGE_HASH_BYTES = 8
_CUSTOM_VERBS = (
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
)
_SUBRESOURCE_VERBS: dict[str, tuple[str, ...]] = {
    "binding": ("create",),
    "eviction": ("create",),
    "log": ("get",),
    "token": ("create",),
    "finalize": ("update",),
}
_SUBRESOURCE_KINDS: dict[str, tuple[str, str, str]] = {
    "scale": ("autoscaling", "v1", "Scale"),
    "binding": ("", "v1", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
    "token": ("authentication.k8s.io", "v1", "TokenRequest"),
}


class Discovery:
    """Answers for the paths that describe the API."""

    def __init__(self, served: Served, schema_of: openapi.SchemaOf) -> None:
        self._served = served
        self._schema_of = schema_of
        self._kept: dict[tuple[str, str], Answer] = {}
        self._kept_revision = served.revision

    def answer(self, path: str, accept: str) -> Answer | None:
        """The document at a path, or None if no document is there."""
        path = path.rstrip("/") or "/"
        if path in _HEALTH:
            return Answer(200, b"ok", {"content-type": "text/plain; charset=utf-8"})
        revision = self._served.revision
        if self._kept_revision != revision:
            self._kept.clear()
            self._kept_revision = revision
        kept = self._kept.get((path, accept))
        if kept is None:
            kept = self._document(path, accept)
            if kept is not None:
                self._kept[path, accept] = kept
        return kept

    def _document(self, path: str, accept: str) -> Answer | None:
        if path == "/openapi/v2":
            return _openapi_v2(accept)
        if path in {"/api", "/apis"} and (version := _aggregated_version(accept)):
            return _aggregated(version, self._aggregated(core=path == "/api"))
        make: dict[str, Callable[[], Any]] = {
            "/": lambda: {"paths": ["/api", "/apis", "/healthz", "/metrics", "/openapi/v3"]},
            "/api": _core_versions,
            "/apis": self._group_list,
            "/openapi/v3": lambda: openapi.index(self._served.all(), self._served.revision),
        }
        if path == "/version":
            return _json(VERSION, indented=True)
        body = make[path]() if path in make else self._below(path)
        return None if body is None else _json(body)

    def _below(self, path: str) -> Any:
        """The documents of one group or one group version."""
        parts = path.strip("/").split("/")
        if parts[:2] == ["openapi", "v3"]:
            types = self._types_of(parts[2:])
            return openapi.document(types, self._schema_of) if types else None
        if parts[0] == "apis" and len(parts) == 2:
            groups = [group for group in self._groups() if group["name"] == parts[1]]
            return {"kind": "APIGroup", "apiVersion": "v1", **groups[0]} if groups else None
        types = self._types_of(parts)
        return _resource_list(types) if types else None

    def _types_of(self, parts: list[str]) -> list[ResourceType]:
        path = "/".join(parts)
        return [rt for rt in self._served.all() if openapi.path_of(rt) == path]

    def _group_list(self) -> dict[str, Any]:
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": self._groups()}

    def _groups(self) -> list[dict[str, Any]]:
        versions: dict[str, dict[str, None]] = {}
        for rt in self._served.all():
            if rt.group:
                versions.setdefault(rt.group, {})[rt.version] = None
        return [
            {
                "name": group,
                "versions": [_group_version(group, version) for version in served],
                "preferredVersion": _group_version(group, next(iter(served))),
            }
            for group, served in versions.items()
        ]

    def _aggregated(self, *, core: bool) -> list[dict[str, Any]]:
        groups: dict[str, dict[str, list[ResourceType]]] = {}
        for rt in self._served.all():
            if core != bool(rt.group):
                groups.setdefault(rt.group, {}).setdefault(rt.version, []).append(rt)
        return [
            {
                "metadata": {"name": group, "creationTimestamp": None} if group else {},
                "versions": [
                    {
                        "version": version,
                        "resources": [_aggregated_resource(rt) for rt in types],
                        "freshness": "Current",
                    }
                    for version, types in versions.items()
                ],
            }
            for group, versions in groups.items()
        ]


def _core_versions() -> dict[str, Any]:
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def _group_version(group: str, version: str) -> dict[str, str]:
    return {"groupVersion": f"{group}/{version}", "version": version}


def _resource_list(types: list[ResourceType]) -> dict[str, Any]:
    resources: list[dict[str, Any]] = []
    for rt in types:
        resources.append(_resource(rt))
        resources.extend(_subresource(rt, name) for name in _subresources(rt))
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": types[0].api_version,
        "resources": resources,
    }


def _resource(rt: ResourceType) -> dict[str, Any]:
    listed: dict[str, Any] = {
        "name": rt.plural,
        "singularName": rt.singular,
        "namespaced": rt.namespaced,
        "kind": rt.kind,
        "verbs": _verbs(rt),
    }
    if rt.short_names:
        listed["shortNames"] = list(rt.short_names)
    if rt.categories:
        listed["categories"] = list(rt.categories)
    if "list" in rt.verbs:
        listed["storageVersionHash"] = _storage_hash(rt)
    return listed


def _verbs(rt: ResourceType) -> list[str]:
    """In kube-apiserver's order, which is another one for custom resources."""
    return sorted(rt.verbs, key=_CUSTOM_VERBS.index) if rt.custom else list(rt.verbs)


def _storage_hash(rt: ResourceType) -> str:
    """Tells clients when objects begin to be stored in another version."""
    stored = "/".join((rt.group, rt.version, rt.kind)).encode()
    return b64encode(sha256(stored).digest()[:_STORAGE_HASH_BYTES]).decode()


def _subresources(rt: ResourceType) -> list[str]:
    extra = {"log"} if rt.key == "pods" else set()
    return sorted(rt.subresources | extra)


def _subresource(rt: ResourceType, name: str) -> dict[str, Any]:
    listed: dict[str, Any] = {
        "name": f"{rt.plural}/{name}",
        "singularName": "",
        "namespaced": rt.namespaced,
        "kind": rt.kind,
        "verbs": list(_SUBRESOURCE_VERBS.get(name, ("get", "patch", "update"))),
    }
    if name in _SUBRESOURCE_KINDS:
        listed["group"], listed["version"], listed["kind"] = _SUBRESOURCE_KINDS[name]
    return listed


def _aggregated_resource(rt: ResourceType) -> dict[str, Any]:
    listed: dict[str, Any] = {
        "resource": rt.plural,
        "responseKind": {"group": rt.group, "version": rt.version, "kind": rt.kind},
        "scope": "Namespaced" if rt.namespaced else "Cluster",
        "singularResource": rt.singular,
        "verbs": _verbs(rt),
    }
    if rt.short_names:
        listed["shortNames"] = list(rt.short_names)
    if rt.categories:
        listed["categories"] = list(rt.categories)
    if names := _subresources(rt):
        listed["subresources"] = [_aggregated_subresource(rt, name) for name in names]
    return listed


def _aggregated_subresource(rt: ResourceType, name: str) -> dict[str, Any]:
    group, version, kind = _SUBRESOURCE_KINDS.get(name, (rt.group, rt.version, rt.kind))
    return {
        "subresource": name,
        "responseKind": {"group": group, "version": version, "kind": kind},
        "verbs": list(_SUBRESOURCE_VERBS.get(name, ("get", "patch", "update"))),
    }


def _aggregated_version(accept: str) -> str:
    """The version of aggregated discovery that a client prefers; empty if it wants the old one."""
    for media in media_types(accept):
        if media.shape == _AGGREGATED and media.version in _AGGREGATED_VERSIONS:
            return media.version
        if media.type in {"application/json", "*/*"} and not media.shape:
            return ""
    return ""


def _aggregated(version: str, groups: list[dict[str, Any]]) -> Answer:
    body = {
        "kind": _AGGREGATED,
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": groups,
    }
    content_type = f"application/json;g=apidiscovery.k8s.io;v={version};as={_AGGREGATED}"
    return Answer(200, orjson.dumps(body), {"content-type": content_type})


def _openapi_v2(accept: str) -> Answer:
    wanted = [media.type for media in media_types(accept)]
    if any("proto-openapi.spec.v2" in name for name in wanted):
        return Answer(200, openapi.EMPTY_V2, {"content-type": openapi.PROTOBUF_V2})
    if any(name in {"application/json", "*/*", ""} for name in wanted):
        return _json(openapi.EMPTY_V2_JSON)
    raise ApiError(406, "NotAcceptable", "only JSON and protobuf are served here")


def _json(body: Any, *, indented: bool = False) -> Answer:
    return Answer(200, orjson.dumps(body, option=orjson.OPT_INDENT_2 if indented else None))
