"""Both sides, ready: the definitions that exchanges need, and a namespace for each exchange."""

from __future__ import annotations

import asyncio
import itertools
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import orjson

from contracts.resources import API_VERSION, CUSTOM_RESOURCES
from sandbox.cluster import Cluster
from sandbox.store.resources import NAMESPACE
from services.chassis.kube.http import HttpTransport, load_configuration
from tests.patience import patient
from tests.real.differential.objects import DEFINITIONS, Obj
from tests.real.differential.playing import Outcomes, RealSide, SandboxSide, Side, living, play
from tests.real.differential.steps import Exchange
from tests.sandboxed import new_cluster

READY_TRIES_MAX = int(patient(300))
READY_PERIOD_S = 0.1
_OURS = f"/apis/{API_VERSION}"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_HEADERS = {"accept": "application/json", "content-type": "application/json"}
_MERGE = {"accept": "application/json", "content-type": "application/merge-patch+json"}


class Arena:
    """Where exchanges are played on both sides."""

    def __init__(self, real: RealSide) -> None:
        self._run = uuid.uuid4().hex[:6]
        self._numbers = itertools.count(1)
        self.real = real
        self._shared = new_sandbox()
        self._namespaces: list[str] = []

    async def play(self, exchange: Exchange) -> tuple[Outcomes, Outcomes]:
        """The outcomes of the sandbox and of the real server."""
        namespace = f"diff-{self._run}-{next(self._numbers)}"
        real = asyncio.create_task(self._on_real(exchange, namespace))
        if exchange.live:
            async with living(new_sandbox()) as cluster:
                sandbox = await _on_sandbox(cluster, exchange, namespace)
        else:
            sandbox = await _on_sandbox(self._shared, exchange, namespace)
        return sandbox, await real

    async def clear(self) -> None:
        """Delete what was made.

        Objects of the project's kinds go at once: services of the rounds that follow on this
        cluster would act on them. The cluster ends the namespaces in its own time, a few a second.
        """
        for path, metadata in await self._ours():
            if metadata.get("finalizers"):
                released = orjson.dumps({"metadata": {"finalizers": None}})
                await self.real.ask("PATCH", path, _MERGE, released)
            await self.real.ask("DELETE", path, _HEADERS, b"")
        for namespace in self._namespaces:
            await self.real.ask("DELETE", f"/api/v1/namespaces/{namespace}", _HEADERS, b"")
        left = [path for path, _ in await self._ours()]
        assert not left, f"services of later tests would act on {left}"

    async def _ours(self) -> list[tuple[str, Obj]]:
        """The objects of the project's kinds in our namespaces: their paths and metadata."""
        found = []
        for plural in (resource.plural for resource in CUSTOM_RESOURCES):
            listed = await self.real.ask("GET", f"{_OURS}/{plural}", _HEADERS, b"")
            assert listed.status == 200, listed.body.decode()
            for metadata in (each["metadata"] for each in orjson.loads(listed.body)["items"]):
                namespace, name = metadata["namespace"], metadata["name"]
                if namespace in self._namespaces:
                    found.append((f"{_OURS}/namespaces/{namespace}/{plural}/{name}", metadata))
        return found

    async def _on_real(self, exchange: Exchange, namespace: str) -> Outcomes:
        body = {"metadata": {"name": namespace}}
        await _sent(self.real, "POST", "/api/v1/namespaces", body)
        self._namespaces.append(namespace)
        for made in _made_by_the_cluster(exchange):
            await _until_there(self.real, f"/api/v1/namespaces/{namespace}/{made}")
        return await play(self.real, exchange, namespace)


@asynccontextmanager
async def arena(kubeconfig: Path) -> AsyncIterator[Arena]:
    """Both sides; what was made is let go at the end, except for the definitions."""
    transport = HttpTransport(await load_configuration(str(kubeconfig)))
    try:
        real = RealSide(transport)
        await _define(real)
        both = Arena(real)
        try:
            yield both
        finally:
            await both.clear()
    finally:
        await transport.close()


def new_sandbox() -> Cluster:
    """A sandbox with the same definitions."""
    cluster = new_cluster(now=time.time, nodes=0, new_uid=lambda: str(uuid.uuid4()))
    cluster.install([orjson.loads(orjson.dumps(each)) for each in DEFINITIONS])
    return cluster


async def _on_sandbox(cluster: Cluster, exchange: Exchange, namespace: str) -> Outcomes:
    cluster.store.create(NAMESPACE, None, {"metadata": {"name": namespace}})
    return await play(SandboxSide(cluster), exchange, namespace)


async def _define(real: Side) -> None:
    """Apply the definitions and wait until they are served."""
    for each in DEFINITIONS:
        name = each["metadata"]["name"]
        there = await real.ask("GET", f"{_CRDS}/{name}", _HEADERS, b"")
        if there.status == 200:
            body = orjson.dumps({"spec": each["spec"]})
            await real.ask("PATCH", f"{_CRDS}/{name}", _MERGE, body)
        else:
            await _sent(real, "POST", _CRDS, each)
        await _until_there(real, f"/apis/{each['spec']['group']}/v1/{name.partition('.')[0]}")


async def _sent(real: Side, method: str, path: str, body: Obj) -> None:
    answer = await real.ask(method, path, _HEADERS, orjson.dumps(body))
    assert answer.status < 300, answer.body.decode()


async def _until_there(real: Side, path: str) -> None:
    for _ in range(READY_TRIES_MAX):
        if (await real.ask("GET", path, _HEADERS, b"")).status == 200:
            return
        await asyncio.sleep(READY_PERIOD_S)
    raise TimeoutError(f"{path} is not there")


def _made_by_the_cluster(exchange: Exchange) -> list[str]:
    """What a controller puts into every namespace and this exchange would stumble over.

    Pods are only admitted once the namespace has its default account. The certificate's ConfigMap
    must be older than the first watch: an event of it is masked, but the first event of a Table is
    the one that carries the columns.
    """
    made = {"/pods": "serviceaccounts/default", "/configmaps": "configmaps/kube-root-ca.crt"}
    return [
        path for plural, path in made.items() if any(plural in step.path for step in exchange.steps)
    ]
