"""Exchanges as data: requests in their order, with references to the answers before.

A string may hold `$ns` (the namespace of the exchange) and `${name.path.to.field}` (a field of the
answer that a step kept as `name`). A whole string that is one reference keeps the field's type.
How exchanges are played is in playing.py, what is compared in comparing.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

JSON = "application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
WATCH_S = 1  # how long a watch is read

_CORE = "/api/v1"
_GROUPS = {
    "leases": "/apis/coordination.k8s.io/v1",
    "horizontalpodautoscalers": "/apis/autoscaling/v2",
    "streamsjobs": "/apis/streams.ibm.com/v1",
    "streamspes": "/apis/streams.ibm.com/v1",
    "streamsprs": "/apis/streams.ibm.com/v1",
    "streamshostpools": "/apis/streams.ibm.com/v1",
    "streamsplacements": "/apis/streams.ibm.com/v1",
    "widgets": "/apis/diff.example.com/v1",
    "dials": "/apis/diff.example.com/v1",
    "gauges": "/apis/diff.example.com/v1",
    "blobs": "/apis/diff.example.com/v1",
    "sites": "/apis/diff.example.com/v1",
    "customresourcedefinitions": "/apis/apiextensions.k8s.io/v1",
}
_OF_THE_CLUSTER = frozenset({"namespaces", "nodes", "customresourcedefinitions", "sites"})


@dataclass(frozen=True)
class Step:
    """One request. `until` repeats it until a field (dotted) has a value, or until the status."""

    method: str
    path: str
    body: Any = None
    content_type: str = JSON
    accept: str = JSON
    keep: str = ""
    compared: bool = True
    until: tuple[str, Any] | None = None


@dataclass(frozen=True)
class Exchange:
    """A short script.

    `live` needs controllers, and `masked` are names of fields not to compare. Of `managedFields`,
    the entries of `managers` are compared.
    """

    name: str
    steps: tuple[Step, ...]
    live: bool = False
    masked: tuple[str, ...] = ()
    managers: tuple[str, ...] = ()


def exchange(
    name: str,
    *steps: Step,
    live: bool = False,
    masked: Sequence[str] = (),
    managers: Sequence[str] = (),
) -> Exchange:
    """An exchange."""
    return Exchange(name, steps, live, tuple(masked), tuple(managers))


def path(plural: str, name: str = "", sub: str = "", /, **query: Any) -> str:
    """The path of a collection, an object or a subresource; `__all` leaves the namespace out."""
    everywhere = query.pop("everywhere", False)
    parts = [_GROUPS.get(plural, _CORE)]
    if plural not in _OF_THE_CLUSTER and not everywhere:
        parts.append("namespaces/$ns")
    parts.extend(part for part in (plural, name, sub) if part)
    said = "&".join(f"{key}={_encoded(value)}" for key, value in query.items())
    return "/".join(parts) + (f"?{said}" if said else "")


def _encoded(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return quote(text, safe="${}.")


def post(plural: str, body: Any, /, **options: Any) -> Step:
    """POST to a collection; options of a Step, everything else is a query parameter."""
    return _step("POST", plural, "", "", body, options)


def get(plural: str, name: str = "", sub: str = "", /, **options: Any) -> Step:
    """GET of an object or, without a name, a list."""
    return _step("GET", plural, name, sub, None, options)


def put(plural: str, name: str, body: Any, sub: str = "", /, **options: Any) -> Step:
    """PUT."""
    return _step("PUT", plural, name, sub, body, options)


def merge(plural: str, name: str, body: Any, sub: str = "", /, **options: Any) -> Step:
    """PATCH with a merge patch."""
    return _step("PATCH", plural, name, sub, body, {"content_type": MERGE, **options})


def strategic(plural: str, name: str, body: Any, sub: str = "", /, **options: Any) -> Step:
    """PATCH with a strategic merge patch, as kubectl sends it."""
    return _step("PATCH", plural, name, sub, body, {"content_type": STRATEGIC, **options})


def json_patch(plural: str, name: str, body: Any, sub: str = "", /, **options: Any) -> Step:
    """PATCH with a JSON patch."""
    return _step("PATCH", plural, name, sub, body, {"content_type": JSON_PATCH, **options})


def delete(plural: str, name: str = "", body: Any = None, /, **options: Any) -> Step:
    """DELETE of an object or, without a name, of a collection."""
    return _step("DELETE", plural, name, "", body, options)


def watch(plural: str, since: str = "", /, **options: Any) -> Step:
    """A watch that is read until its time-out."""
    query: dict[str, Any] = {"watch": 1, "timeoutSeconds": WATCH_S}
    if since:
        query["resourceVersion"] = since
    return _step("GET", plural, "", "", None, {**query, **options})


_OPTIONS = ("content_type", "accept", "keep", "compared", "until")


def _step(
    method: str, plural: str, name: str, sub: str, body: Any, options: dict[str, Any]
) -> Step:
    of_step = {key: options.pop(key) for key in _OPTIONS if key in options}
    return Step(method, path(plural, name, sub, **options), body, **of_step)
