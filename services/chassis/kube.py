"""The Kubernetes port: raw JSON over one transport, and no way to write without a guard.

There is no patch without a resourceVersion, no update and no server-side apply; deletes carry the
uid. The transport is the only seam to the outside: `kube_http.py` talks HTTP with the configuration
of kubernetes_asyncio, simulation fills it with the sandbox in process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

Json = dict[str, Any]


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

    Every method raises the tree of `errors.py`.
    """

    async def get(self, resource: Resource, namespace: str, name: str) -> Json:
        """One object."""
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
    ) -> Json:
        """Merge patch under a resourceVersion; Conflict where it is stale."""
        ...

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
        """The version from which a watch may go on after this event."""
        return str(self.object["metadata"]["resourceVersion"])


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list; every page of a list has the same version."""

    items: list[Json]
    resource_version: str


class KubeClient:
    """`Kube` and the watching side over a transport."""

    def __init__(self, transport: Transport, user_agent: str) -> None:
        raise NotImplementedError

    def list_pages(
        self,
        resource: Resource,
        namespace: str | None,
        *,
        label_selector: str = "",
        limit: int = 500,
        metadata_only: bool = False,
    ) -> AsyncIterator[ListPage]:
        """A list in pages; Expired when the version went away between two pages."""
        raise NotImplementedError

    def watch(
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
    ) -> AsyncIterator[WatchEvent]:
        """Events since a version until the server ends the watch; Expired on 410."""
        raise NotImplementedError
