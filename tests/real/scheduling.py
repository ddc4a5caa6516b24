"""The same nodes and pods in front of kube-scheduler and of the sandbox's scheduler.

`both_sides` gives a trial on each; the sandbox has copies of the nodes that the real cluster had
before, so that both count the same nodes when they say why none fits.
"""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from services.chassis.kube.http import HttpTransport, load_configuration
from tests.patience import patient
from tests.real.differential.playing import RealSide, SandboxSide, Side, living
from tests.sandboxed import new_cluster

SETTING = "MILLRACE_KUBECONFIG"
PATIENCE_TRIES_MAX, PERIOD_S = int(patient(300)), 0.2
GROUP, HOST, ZONE = (f"diff.example.com/{word}" for word in ("group", "host", "zone"))
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_JSON = {"accept": "application/json", "content-type": "application/json"}
_MERGE = {**_JSON, "content-type": "application/merge-patch+json"}
_COPIED = ("name", "labels")
Obj = dict[str, Any]


@dataclass(frozen=True)
class Judgement:
    """What a scheduler made of a pod: a node, or the reason why there is none."""

    node: str
    message: str = ""


class Trial:
    """One side, the namespaces and nodes that were made there."""

    def __init__(self, side: Side, run: str) -> None:
        self._side = side
        self.run = run
        self._paths: list[str] = []

    async def make_namespace(self, name: str, labels: Mapping[str, str] | None = None) -> None:
        """A namespace in which pods may be made."""
        meta = {"name": name, "labels": dict(labels or {})}
        await self._make("/api/v1/namespaces", {"metadata": meta})
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        await self._until(lambda: self._is_there(account))

    async def make_nodes(self, nodes: Iterable[Obj]) -> None:
        """Nodes that are ready."""
        for node in nodes:
            await self._make("/api/v1/nodes", node)
        for path in [path for path in self._paths if "/nodes/" in path]:
            await self._until(lambda path=path: self._is_plain(path))  # type: ignore[misc]

    async def make_pods(self, namespace: str, pods: Iterable[Obj]) -> None:
        """Pods that somebody will judge."""
        for pod in pods:
            await self.ask("POST", f"/api/v1/namespaces/{namespace}/pods", pod)

    async def judged(self, namespace: str, *, count: int) -> dict[str, Judgement]:
        """What became of the pods of a namespace, as soon as `count` of them are judged."""
        found: dict[str, Judgement] = {}

        async def all_judged() -> bool:
            found.clear()
            found.update(await self._judgements(namespace))
            return len(found) == count

        await self._until(all_judged)
        return found

    async def placed(self, namespace: str, name: str) -> str:
        """The node of a pod as soon as it has one."""
        found = ""

        async def has_node() -> bool:
            nonlocal found
            found = (await self._judgements(namespace)).get(name, Judgement("")).node
            return bool(found)

        await self._until(has_node)
        return found

    async def merge(self, path: str, patch: Obj) -> None:
        """A merge patch."""
        raw = await self._side.ask("PATCH", path, _MERGE, orjson.dumps(patch))
        assert raw.status == 200, raw.body

    async def ask(self, method: str, path: str, body: Obj | None = None) -> Any:
        """A request that is granted."""
        sent = b"" if body is None else orjson.dumps(body)
        raw = await self._side.ask(method, path, _JSON, sent)
        assert raw.status < 300, raw.body
        return orjson.loads(raw.body)

    async def clear(self) -> None:
        """Take away what was made."""
        for path in self._paths:
            await self._side.ask("DELETE", path, _JSON, b"")

    async def _make(self, path: str, body: Obj) -> None:
        await self.ask("POST", path, body)
        self._paths.append(f"{path}/{body['metadata']['name']}")

    async def _judgements(self, namespace: str) -> dict[str, Judgement]:
        listed = await self.ask("GET", f"/api/v1/namespaces/{namespace}/pods")
        said: dict[str, Judgement] = {}
        for pod in listed["items"]:
            for condition in pod["status"].get("conditions") or ():
                if condition["type"] == "PodScheduled":
                    node = pod["spec"].get("nodeName", "")
                    said[pod["metadata"]["name"]] = Judgement(node, condition.get("message", ""))
        return said

    async def _is_plain(self, path: str) -> bool:
        """Whether the cluster has taken its own taints from a new node."""
        taints = (await self.ask("GET", path))["spec"].get("taints") or ()
        return not any("not-ready" in taint["key"] for taint in taints)

    async def _is_there(self, path: str) -> bool:
        if isinstance(self._side, SandboxSide):
            return True  # it lets pods in at once
        return (await self._side.ask("GET", path, _JSON, b"")).status == 200

    async def _until(self, done: Callable[[], Coroutine[Any, Any, bool]]) -> None:
        for _ in range(PATIENCE_TRIES_MAX):
            if await done():
                return
            await asyncio.sleep(PERIOD_S)
        raise TimeoutError("the cluster did not get there")


@asynccontextmanager
async def both_sides() -> AsyncIterator[tuple[Trial, Trial]]:
    """A trial on the sandbox and one on the real cluster, cleared at the end."""
    kubeconfig = os.environ.get(SETTING, "")
    if not kubeconfig:
        pytest.skip(f"{SETTING} is not set: `make real-up` brings up a real API server")
    run = f"sched-{uuid.uuid4().hex[:6]}"
    transport = HttpTransport(await load_configuration(str(Path(kubeconfig))))
    real = Trial(RealSide(transport), run)
    cluster = new_cluster(now=time.time, nodes=0, new_uid=lambda: str(uuid.uuid4()))
    try:
        async with living(cluster):
            sandbox = Trial(SandboxSide(cluster), run)
            others = (await real.ask("GET", "/api/v1/nodes"))["items"]
            await sandbox.make_nodes([_copy(node) for node in others])
            yield sandbox, real
    finally:
        await real.clear()
        await transport.close()


def _copy(node: Obj) -> Obj:
    meta = {key: node["metadata"].get(key) for key in _COPIED}
    sizes = {key: node["status"].get(key) for key in ("capacity", "allocatable")}
    return {"metadata": meta, "spec": node["spec"], "status": sizes}


def a_node(name: str, *, group: str, labels: Mapping[str, str] | None = None, **spec: Any) -> Obj:
    """A node of a group, which has its name as its host."""
    size = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    return {
        "metadata": {
            "name": name,
            "labels": {GROUP: group, HOST: name, **(labels or {})},
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "spec": spec,
        "status": {"capacity": size, "allocatable": size},
    }


def a_pod(name: str, *, group: str, labels: Mapping[str, str] | None = None, **spec: Any) -> Obj:
    """A pod that goes to its group; `on` is the one host that it may have."""
    selector = {GROUP: group}
    if host := spec.pop("on", None):
        selector[HOST] = host
    return {
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {
            "nodeSelector": selector,
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": "image:1"}],
            **spec,
        },
    }
