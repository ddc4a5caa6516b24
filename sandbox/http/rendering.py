"""From stored objects to the bytes of a response, in the shape that the client requested.

Lives here: single objects, lists and the lines of watches. The shapes themselves are in
negotiation.py and tables.py. The JSON of an object is made once, by the store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any

from sandbox.http import tables
from sandbox.http.answers import Answer
from sandbox.http.negotiation import (
    PARTIAL,
    PARTIAL_LIST,
    TABLE,
    as_partial,
    not_acceptable,
    version_of_shape,
)
from sandbox.http.paging import Page
from sandbox.http.requests import Call
from sandbox.store.errors import ApiError
from sandbox.store.folding import written
from sandbox.store.resources import ResourceType
from sandbox.store.watching import StoredObject, WatchEvent

Now = Callable[[], float]
Line = Callable[[WatchEvent], bytes]


def one(call: Call, status: int, obj: Mapping[str, Any], shape: str, now: Now) -> Answer:
    """An answer with one object."""
    if not shape:
        return Answer(status, json_of(obj))
    if shape == PARTIAL:
        return Answer(status, written(as_partial(obj, _version(call))))
    if shape == TABLE:
        include = call.query.text("includeObject")
        one = tables.table_of_one(call.rt, obj, now(), include)
        return Answer(status, written(tables.in_version(one, _version(call))))
    if call.rt.custom:
        raise ApiError(HTTPStatus.INTERNAL_SERVER_ERROR, "", "content is not a list")
    what = f"{_package(call.rt)}.{call.rt.kind}"
    raise not_acceptable(f"you requested {shape}, but the requested object is not a list (*{what})")


def listing(call: Call, page: Page, version: int, shape: str, now: Now) -> Answer:
    """An answer with a list, or with one page of it."""
    metadata = _metadata_of(call, page, version, shape)
    objects = page.items
    if not shape:
        return Answer(200, _list_of(call.rt, metadata, objects))
    if shape == PARTIAL_LIST:
        items = [as_partial(obj, _version(call)) for obj in objects]
        head = {"kind": PARTIAL_LIST, "apiVersion": _version(call), "metadata": metadata}
        return Answer(200, written({**head, "items": items}))
    if shape == TABLE:
        include = call.query.text("includeObject")
        body = tables.table(call.rt, objects, metadata, now(), include=include)
        return Answer(200, written(tables.in_version(body, _version(call))))
    kind = "UnstructuredList" if call.rt.custom else f"{call.rt.kind}List"
    what = f"{_package(call.rt)}.{kind}"
    raise not_acceptable(f"you requested {shape}, but the requested object is a list (*{what})")


def _version(call: Call) -> str:
    return version_of_shape(call.headers.get("accept", ""))


def _package(rt: ResourceType) -> str:
    """Where kube-apiserver has the type of a kind; it shows in some sentences."""
    return "unstructured" if rt.custom else rt.group.partition(".")[0] or "core"


def _metadata_of(call: Call, page: Page, version: int, shape: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    if page.token:
        metadata["continue"] = page.token
        selected = call.query.text("labelSelector") or call.query.text("fieldSelector")
        if not selected:
            metadata["remainingItemCount"] = page.remaining
    elif call.rt.custom and not shape:
        metadata["continue"] = ""
    return metadata


def line_of(call: Call, shape: str, now: Now) -> Line:
    """How the events of a watch become lines."""
    if not shape:
        return _whole_line
    if shape == TABLE:
        include = call.query.text("includeObject")
        return tables.table_lines(call.rt, now, include, _version(call))
    if shape == PARTIAL:
        return partial(_partial_line, _version(call))
    raise not_acceptable(f"you requested {shape}, but the events of a watch are not lists")


def json_of(obj: Mapping[str, Any]) -> bytes:
    return obj.json if isinstance(obj, StoredObject) else written(obj)


def _whole_line(event: WatchEvent) -> bytes:
    return event.frame


def _partial_line(api_version: str, event: WatchEvent) -> bytes:
    if event.type == "ERROR":
        return event.frame
    shown = as_partial(event.object, api_version)
    return written({"type": event.type, "object": shown}) + b"\n"


def _list_of(
    rt: ResourceType, metadata: Mapping[str, Any], objects: Sequence[StoredObject]
) -> bytes:
    """A list as one document; the items of built-in kinds do not say their kind."""
    head = {"kind": rt.kind_of_list, "apiVersion": rt.api_version, "metadata": metadata}
    items = [obj.json for obj in objects] if rt.custom else _without_kind(rt, objects)
    return written(head)[:-1] + b',"items":[' + b",".join(items) + b"]}"


def _without_kind(rt: ResourceType, objects: Sequence[StoredObject]) -> list[bytes]:
    """Cuts the kind off the made JSON where it comes first, as clients send it."""
    version, kind = rt.api_version.encode(), rt.kind.encode()
    prefixes = (
        b'{"apiVersion":"%s","kind":"%s",' % (version, kind),
        b'{"kind":"%s","apiVersion":"%s",' % (kind, version),
    )
    length = len(prefixes[0])
    return [
        b"{" + made[length:] if (made := obj.json).startswith(prefixes) else _rest_of(obj)
        for obj in objects
    ]


def _rest_of(obj: StoredObject) -> bytes:
    return written({k: v for k, v in obj.items() if k not in {"apiVersion", "kind"}})
