"""The Kubernetes port: raw JSON over one transport, and no way to write without a guard.

There is no patch without a resourceVersion, no update and no server-side apply; deletes carry the
uid. The transport is the only seam to the outside: `kube/http.py` talks HTTP with the configuration
of kubernetes_asyncio, simulation fills it with the sandbox in process.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeVar
from urllib.parse import quote, urlencode

import orjson

from services.chassis.kube.deleting import delete_options, still_exists
from services.chassis.kube.refusing import MESSAGE_CHARS_MAX, refusal_of, refusal_of_body
from services.chassis.kube.salvaging import decoded, read_event, read_list, read_object, read_served
from services.chassis.process.errors import ChassisError, Garbled, TooLarge

Json = dict[str, Any]

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
METADATA_ONE = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
DOCUMENTS = "application/json, application/jwk-set+json"
PAGE_SHRINKS_BY = 4

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind as the API server addresses it; `group` is empty for the core group."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """`v1` or `group/version`."""
        return f"{self.group}/{self.version}" if self.group else self.version


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP response: status code, body bytes, lower-case headers."""

    status: int
    body: bytes
    headers: Mapping[str, str]


class Transport(Protocol):
    """One seam to the API server; `path` includes the query string."""

    async def request(
        self, method: str, path: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        """One request; raises Transient when the outcome is unknown or the server is away."""
        ...

    def stream(
        self, path: str, *, headers: Mapping[str, str], silence_s: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """A watch: one JSON line at a time; ends when the server ends it.

        Raises Transient after `silence_s` seconds without a byte, Rejected on a status >= 400.
        """
        ...


class Kube(Protocol):
    """What services and watch-ingest can ask of the API server (implemented by `KubeClient`).

    Every method raises the tree of `errors.py`. What of an object cannot be read is an `Unreadable`
    in its place (`salvaging.py`).
    """

    async def get(self, resource: Resource, namespace: str, name: str) -> Json:
        """One object."""
        ...

    async def list_whole(
        self, resource: Resource, namespace: str, *, label_selector: str = ""
    ) -> list[Json]:
        """A list in one answer, of an API that computes its objects: they have no version."""
        ...

    async def document(self, path: str) -> Json:
        """A JSON document that is no Kubernetes object, such as the published keys."""
        ...

    async def create(self, resource: Resource, namespace: str, body: Mapping[str, Any]) -> Json:
        """POST; AlreadyExists where the name is taken."""
        ...

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        body: Mapping[str, Any],
        *,
        resource_version: int,
        subresource: str = "",
        merges_lists: bool = False,
    ) -> Json:
        """Merge patch (strategic if it `merges_lists`) of a version; Conflict where it is stale."""
        ...

    async def serves(self, resource: Resource, subresource: str) -> bool:
        """Whether the API server lists this subresource among what it serves."""

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str,
        resource_version: int | None = None,
        propagation: str = "Background",
        grace_s: int | None = None,
    ) -> Json | None:
        """DELETE under preconditions; the object if it is still there (terminating), else None."""
        ...

    async def delete_collection(
        self, resource: Resource, namespace: str, *, label_selector: str
    ) -> None:
        """DELETE of every object under a label selector, which may not be empty."""
        ...


class WatchType(StrEnum):
    """What a watch says of an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One event of a watch."""

    type: WatchType
    object: Json

    @property
    def resource_version(self) -> str:
        """The version from which a watch may go on after this event; empty if it has none."""
        return str((self.object.get("metadata") or {}).get("resourceVersion") or "")


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list; every page of a list has the same version."""

    items: list[Json]
    resource_version: str


class KubeClient:
    """`Kube` and the watching side over a transport; `user_agent` names the service."""

    def __init__(self, transport: Transport, user_agent: str) -> None:
        self._transport = transport
        self._headers = {"user-agent": user_agent, "accept": "application/json"}

    # ------------------------------------------------------------------ one object

    async def get(self, resource: Resource, namespace: str, name: str) -> Json:
        """One object."""
        return await self._ask("GET", path_of(resource, namespace, name))

    async def document(self, path: str) -> Json:
        """A JSON document that is no Kubernetes object, such as the published keys."""
        response = await self._answer("GET", path, accept=DOCUMENTS)
        return _read(decoded, response.body)

    async def create(self, resource: Resource, namespace: str, body: Mapping[str, Any]) -> Json:
        """POST; AlreadyExists where the name is taken."""
        return await self._ask("POST", path_of(resource, namespace), body)

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        body: Mapping[str, Any],
        *,
        resource_version: int,
        subresource: str = "",
        merges_lists: bool = False,
    ) -> Json:
        """Merge patch under a resourceVersion; Conflict where it is stale.

        A uid in a patch fences nothing (kube-apiserver ignores it on `/status`), so none is sent.
        """
        meta = {key: value for key, value in (body.get("metadata") or {}).items() if key != "uid"}
        guarded = {**body, "metadata": {**meta, "resourceVersion": str(resource_version)}}
        path = path_of(resource, namespace, name, subresource)
        kind = STRATEGIC_PATCH if merges_lists else MERGE_PATCH
        return await self._ask("PATCH", path, guarded, content_type=kind)

    async def serves(self, resource: Resource, subresource: str) -> bool:
        """Whether the API server lists this subresource among what it serves."""
        root = f"/apis/{resource.group}" if resource.group else "/api"
        response = await self._answer("GET", f"{root}/{resource.version}")
        return f"{resource.plural}/{subresource}" in _read(read_served, response.body)

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str,
        resource_version: int | None = None,
        propagation: str = "Background",
        grace_s: int | None = None,
    ) -> Json | None:
        """DELETE under preconditions; the object if it is still there (terminating), else None."""
        guard: Json = {"uid": uid}
        if resource_version is not None:
            guard["resourceVersion"] = str(resource_version)
        options = delete_options(propagation)
        options["preconditions"] = guard
        if grace_s is not None:
            options["gracePeriodSeconds"] = grace_s
        answer = await self._ask("DELETE", path_of(resource, namespace, name), options)
        return answer if still_exists(answer) else None

    async def delete_collection(
        self, resource: Resource, namespace: str, *, label_selector: str
    ) -> None:
        """DELETE of every object under a label selector, which may not be empty."""
        if not label_selector:
            raise ValueError("a collection is deleted under a label selector only")
        query = urlencode({"labelSelector": label_selector})
        path = f"{path_of(resource, namespace)}?{query}"
        await self._ask("DELETE", path, delete_options("Background"))

    # ------------------------------------------------------------------ many objects

    async def list_whole(
        self, resource: Resource, namespace: str, *, label_selector: str = ""
    ) -> list[Json]:
        """A list in one answer, of an API that computes its objects: they have no version."""
        path = path_of(resource, namespace)
        if label_selector:
            path += f"?{urlencode({'labelSelector': label_selector})}"
        response = await self._answer("GET", path)
        items, _ = _read(read_list, response.body)
        return items

    async def list_pages(
        self,
        resource: Resource,
        namespace: str | None,
        *,
        label_selector: str = "",
        limit: int = 500,
        metadata_only: bool = False,
    ) -> AsyncIterator[ListPage]:
        """A list in pages; Expired when the version went away between two pages.

        Where objects are so large that a page of them is not taken, pages of fewer follow.
        """
        query: dict[str, str] = {"limit": str(limit)}
        if label_selector:
            query["labelSelector"] = label_selector
        accept = METADATA_LIST if metadata_only else ""
        while True:
            path = f"{path_of(resource, namespace or '')}?{urlencode(query)}"
            try:
                answer = self._answer("GET", path, accept=accept)
                items, metadata = _read(read_list, (await answer).body)  # no body beside its page
            except TooLarge:
                if query["limit"] == "1":
                    raise
                query["limit"] = str(int(query["limit"]) // PAGE_SHRINKS_BY or 1)
                continue
            version = str(metadata.get("resourceVersion"))
            if not version.isdecimal():
                raise Garbled(f"a list of version {version[:MESSAGE_CHARS_MAX]!r}")
            yield ListPage(items, version)
            if not (token := metadata.get("continue")):
                return
            query["continue"] = token

    async def watch(
        self,
        resource: Resource,
        namespace: str | None,
        *,
        resource_version: str,
        label_selector: str = "",
        bookmarks: bool = True,
        metadata_only: bool = False,
        timeout_s: int = 300,
        silence_s: float = 90.0,
    ) -> AsyncGenerator[WatchEvent, None]:
        """Events since a version until the server ends the watch; Expired on 410."""
        query = {
            "watch": "1",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(timeout_s),
            "allowWatchBookmarks": "true" if bookmarks else "false",
        }
        if label_selector:
            query["labelSelector"] = label_selector
        headers = dict(self._headers)
        if metadata_only:
            headers["accept"] = METADATA_ONE
        path = f"{path_of(resource, namespace or '')}?{urlencode(query)}"
        async with self._transport.stream(path, headers=headers, silence_s=silence_s) as lines:
            async for line in lines:
                yield _event(line)

    # ------------------------------------------------------------------ one request

    async def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        content_type: str = "application/json",
    ) -> Json:
        response = await self._answer(method, path, body, content_type=content_type)
        return _read(read_object, response.body)

    async def _answer(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        content_type: str = "application/json",
        accept: str = "",
    ) -> Response:
        headers = dict(self._headers)
        if accept:
            headers["accept"] = accept
        raw = None
        if body is not None:
            headers["content-type"] = content_type
            raw = orjson.dumps(body)
        response = await self._transport.request(method, path, body=raw, headers=headers)
        if response.status >= 400:
            raise refusal(response)
        return response


def refusal(response: Response) -> ChassisError:
    """The error that a response with a status >= 400 means."""
    return refusal_of_body(response.status, response.body, response.headers)


def path_of(resource: Resource, namespace: str, name: str = "", subresource: str = "") -> str:
    """The path of a collection or object; an empty namespace means none, or all."""
    root = f"/apis/{resource.group}" if resource.group else "/api"
    path = f"{root}/{resource.version}"
    if namespace and resource.namespaced:
        path += f"/namespaces/{quote(namespace, safe='')}"
    path += f"/{resource.plural}"
    if name:
        path += f"/{quote(name, safe='')}"
    return f"{path}/{subresource}" if subresource else path


def _event(line: bytes) -> WatchEvent:
    try:
        type_, found = read_event(line)
        if type_ == "ERROR":
            raise refusal_of(int(found.get("code") or 500), found, {})
        return WatchEvent(WatchType(type_), found)
    except ValueError as problem:
        raise Garbled(f"no watch event: {line[:MESSAGE_CHARS_MAX]!r}") from problem


def _read(reader: Callable[[bytes], T], body: bytes) -> T:
    """What a reader finds in an answer. Raises Garbled."""
    try:
        return reader(body)
    except (ValueError, KeyError) as problem:
        shown = body[:MESSAGE_CHARS_MAX]
        raise Garbled(f"the server's answer is no Kubernetes object: {shown!r}") from problem
