"""From the path of a request to what it addresses.

Lives here: the grammar of API paths and of query parameters. Whether the resource exists is
looked up in the registry in api.py; paths that address no resource belong to discovery.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from urllib.parse import parse_qsl, unquote

from sandbox.store.errors import ApiError, bad_request

OF_NAMESPACE_ITSELF = frozenset({"status", "finalize"})
_NUMBER = re.compile("[+-]?[0-9]+")
_INT64 = range(-(2**63), 2**63)
FALSE_WORDS = frozenset({"0", "false"})
NO_QUERY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Target:
    """What a path addresses; `namespace` None is all namespaces, `name` empty a collection.

    `watched` is the old way to ask for a watch: `/api/v1/watch/…`.
    """

    group: str
    version: str
    namespace: str | None
    plural: str
    name: str
    subresource: str
    watched: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """The query parameters; the first value of a repeated parameter wins."""

    values: Mapping[str, str]

    def text(self, name: str) -> str:
        return self.values.get(name, "")

    def flag(self, name: str) -> bool:
        """A boolean parameter. As in Kubernetes only absence, `false` and `0` are false."""
        return self.choice(name) is True

    def choice(self, name: str) -> bool | None:
        """A boolean parameter, or None where it is absent."""
        value = self.values.get(name)
        return None if value is None else value.lower() not in FALSE_WORDS

    def number(self, name: str) -> int | None:
        """A whole number, or None where it is absent; 400 for any other text."""
        value = self.values.get(name)
        if value is None:
            return None
        if not _NUMBER.fullmatch(value) or int(value) not in _INT64:
            raise bad_request(f"{name}={value} is no whole number of 64 bits")
        return int(value)


def split_path(path: str) -> tuple[str, Query]:
    """Take path and query string apart and undo the percent encoding."""
    bare, _, text = path.partition("?")
    if "%" in bare:
        bare = unquote(bare)
    return bare, query_of(text) if text else Query(NO_QUERY)


@lru_cache(maxsize=1024)
def query_of(text: str) -> Query:
    """Cached, because watches and writes of a client repeat the same few query strings."""
    pairs = reversed(parse_qsl(text, keep_blank_values=True))
    return Query(MappingProxyType(dict(pairs)))


def target_of(path: str) -> Target | None:
    """What a path addresses, or None when it is not the path of a resource."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        return _resource_target("", parts[1], parts[2:])
    if parts[0] == "apis" and len(parts) > 3:
        return _resource_target(parts[1], parts[2], parts[3:])
    return None


def _resource_target(group: str, version: str, parts: list[str]) -> Target | None:
    if watched := parts[0] == "watch":
        parts = parts[1:]
    namespace: str | None = None
    in_namespace = len(parts) > 2 and parts[0] == "namespaces"
    if in_namespace and (group or parts[2] not in OF_NAMESPACE_ITSELF):
        namespace, parts = parts[1], parts[2:]
    if not parts or len(parts) > (2 if watched else 3) or not all(parts):
        return None
    name = parts[1] if len(parts) > 1 else ""
    subresource = parts[2] if len(parts) > 2 else ""
    return Target(group, version, namespace, parts[0], name, subresource, watched)


def no_such_method() -> ApiError:
    """405 of kube-apiserver where a path exists, but not for this verb."""
    text = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", text, {})


def no_such_path() -> ApiError:
    """404 of kube-apiserver for what it does not serve at all."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})
