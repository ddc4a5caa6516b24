"""An embedded cluster and a client of it, for tests of adapters that need an API server.

    run_in_virtual_time(test())

runs a coroutine on a loop whose time jumps, so that hours between two resyncs cost nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Coroutine
from typing import Any

import looptime

from sandbox.cluster import Cluster, read_definitions
from sandbox.http.in_process import Fault, InProcess
from sandbox.store.resources import ResourceType
from services.chassis.clock import LoopClock
from services.chassis.errors import Transient
from services.chassis.kube import KubeClient, Response, Transport, refusal
from tests.builders import Builder, Obj
from tests.places import ROOT


class Embedded:
    """A cluster with our definitions; `faults` decides what goes wrong with a request."""

    def __init__(self, *, nodes: int = 1) -> None:
        self.clock = LoopClock()
        numbers = itertools.count(1)
        self.cluster = Cluster(
            now=self.clock.now, new_uid=lambda: f"uid-{next(numbers)}", nodes=nodes
        )
        self.cluster.install(read_definitions(ROOT / "deploy" / "crds"))
        self.faults: Callable[[str, str], Fault | None] = lambda _method, _path: None

    def client(self) -> KubeClient:
        """A client as services have it."""
        transport: Transport = InProcess(  # type: ignore[assignment]
            self.cluster.api,
            faults=lambda method, path: self.faults(method, path),
            lost=Transient,
            refused=lambda answer: refusal(Response(answer.status, answer.body, answer.headers)),
        )
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
        namespace, name = body["metadata"]["namespace"], body["metadata"]["name"]
        created = store.create(kind, namespace, body)
        if status:
            patch = {"status": status}
            merge = "application/merge-patch+json"
            created = store.patch(kind, namespace, name, patch, merge, subresource="status")
        return dict(created)


def run_in_virtual_time(test: Coroutine[Any, Any, None]) -> None:
    """Run a test on a loop of its own."""
    loop = looptime.new_event_loop(start=0)
    try:
        loop.run_until_complete(test)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
