"""The sandbox in a test's own process: a cluster with our definitions, and a client of it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager

from sandbox.cluster import Cluster, read_definitions
from sandbox.controllers.settings import Settings
from sandbox.http.in_process import Fault, Faults, InProcess
from sandbox.store.resources import ResourceType
from sandbox.store.store import Store
from services.chassis.kube.port import KubeClient, Response, refusal
from services.chassis.process.clock import LoopClock
from services.chassis.process.errors import Transient
from tests.builders import Builder, Obj
from tests.older_definitions import permissive
from tests.places import ROOT

GROUPS = ("", "streams.ibm.com")
MERGE = "application/merge-patch+json"


class SandboxTransport:
    """The sandbox as a transport of the chassis; `faults` says what goes wrong with a request."""

    def __init__(self, cluster: Cluster, faults: Faults | None = None) -> None:
        self.asked: list[tuple[str, str]] = []
        self._faults = faults
        self.turn_to(cluster)

    def turn_to(self, cluster: Cluster) -> None:
        """From the next request on, another cluster stands behind the address."""
        self._inner = InProcess(
            cluster.api,
            faults=self._faults,
            lost=Transient,
            refused=lambda answer: refusal(Response(answer.status, answer.body, answer.headers)),
        )

    async def request(
        self, method: str, path: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        """One request."""
        self.asked.append((method, path))
        answer = await self._inner.request(method, path, body=body, headers=headers)
        return Response(answer.status, answer.body, answer.headers)

    def stream(
        self, path: str, *, headers: Mapping[str, str], silence_s: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """A watch."""
        self.asked.append(("WATCH", path))
        return self._inner.stream(path, headers=headers, silence_s=silence_s)


def new_cluster(
    *,
    now: Callable[[], float],
    nodes: int,
    new_uid: Callable[[], str] | None = None,
    settings: Settings | None = None,
    is_permissive: bool = False,
) -> Cluster:
    """A cluster that knows our custom resources; uids are counted unless `new_uid` makes them.

    `is_permissive`: its definitions keep whatever a spec says (`older_definitions.py`).
    """
    numbers = itertools.count(1)
    new_uid = new_uid or (lambda: f"uid-{next(numbers)}")
    cluster = Cluster(now=now, new_uid=new_uid, nodes=nodes, settings=settings)
    cluster.install(permissive(_definitions()) if is_permissive else _definitions())
    return cluster


@functools.cache
def _definitions() -> list[Obj]:
    """Reading them costs more than everything else about a cluster; nobody changes them."""
    return read_definitions(ROOT / "deploy" / "crds")


def kind_of(store: Store, plural: str) -> ResourceType:
    """A core kind, or one of ours, by its plural."""
    for resource in store.registry.all():
        if resource.plural == plural and resource.group in GROUPS:
            return resource
    raise KeyError(plural)


def newest_change(store: Store, *, without: ResourceType) -> int:
    """The version of the newest change of all resources but one."""
    tables = store._state.tables.items()
    return max(table.version for key, table in tables if key != without.key)


class Sandboxed:
    """A cluster, its clock and clients of it; `faults` decides what goes wrong with a request."""

    def __init__(self, *, nodes: int = 1) -> None:
        self.clock = LoopClock()
        self.cluster = new_cluster(now=self.clock.now, nodes=nodes)
        self.faults: Callable[[str, str], Fault | None] = lambda _method, _path: None

    def client(self) -> KubeClient:
        """A client as services have it."""
        transport = SandboxTransport(self.cluster, lambda method, path: self.faults(method, path))
        return KubeClient(transport, "test")

    def kind(self, kind: str) -> ResourceType:
        """A resource type by its kind."""
        return next(each for each in self.cluster.store.registry.all() if each.kind == kind)

    def create(self, builder: Builder, api_version: str = "streams.ibm.com/v1") -> Obj:
        """Create what a builder says, without what only an API server gives."""
        body = builder.build()
        for given in ("uid", "resourceVersion", "creationTimestamp", "generation"):
            body["metadata"].pop(given, None)
        body |= {"apiVersion": api_version, "kind": builder.kind}
        status = body.pop("status", None)
        store, kind = self.cluster.store, self.kind(builder.kind)
        namespace, name = body["metadata"].get("namespace", ""), body["metadata"]["name"]
        created = store.create(kind, namespace, body)
        if status:
            patch = {"status": status}
            created = store.patch(kind, namespace, name, patch, MERGE, subresource="status")
        return dict(created)
