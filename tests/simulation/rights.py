"""Which right a request needs: the API server's authorizer as a plain function."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

from services.chassis.kube.permissions import Permission, Permissions

_WRITES = {"POST": "create", "PUT": "update", "PATCH": "patch"}


def needed_for(method: str, path: str) -> Permission:
    """The right that a request needs, for the object that it names."""
    url = urlsplit(path)
    segments = url.path.strip("/").split("/")
    group = segments[1] if segments[0] == "apis" else ""
    rest = segments[3:] if group else segments[2:]
    if rest[0] == "namespaces" and len(rest) > 2:
        rest = rest[2:]
    plural, name, subresource = (*rest, "", "")[:3]
    is_watch = "watch" in parse_qs(url.query)
    return Permission(group, plural, _verb(method, bool(name), is_watch), subresource, name)


def _verb(method: str, named: bool, is_watch: bool) -> str:
    if method == "GET":
        return "watch" if is_watch else "get" if named else "list"
    if method == "DELETE":
        return "delete" if named else "deletecollection"
    return _WRITES[method]


def is_discovery(method: str, path: str) -> bool:
    """Whether it asks what the API server serves, as every account may."""
    if path == "/.well-known/openid-configuration":
        return method == "GET"
    depth = len(urlsplit(path).path.strip("/").split("/"))
    return method == "GET" and depth == (2 if path.startswith("/api/") else 3)


def used_of(granted: Permissions, method: str, path: str) -> Permission | None:
    """The permission that allows a request; None where there is none."""
    needed = needed_for(method, path)
    for name in (needed.name, ""):
        for at_home in (False, True):
            wanted = replace(needed, name=name, at_home=at_home)
            if wanted in granted:
                return wanted
    return None
