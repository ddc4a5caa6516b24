"""The floor: the writes that the design needs, issued by the bare client.

Scheduler, kubelet and garbage collector act on its pods as on those of the services. Our services
do not see them: in the sandbox the floor has its own API server, on the real pair a namespace that
the services do not watch. The bodies have the size of real ones.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from typing import Any

from contracts import labels
from contracts.resources import API_VERSION
from loadtest.api import MERGE, Api, OutOfTime
from loadtest.profiles import FLOOR_IN_FLIGHT, WRITES_PER_JOB

AADL_BYTES = 6_000
JSON = "application/json"
Work = Coroutine[Any, Any, None]


def _meta(name: str) -> dict[str, Any]:
    return {"name": name, "labels": {"bench": "floor", labels.JOB: "floor"}}


def _config_map(name: str) -> dict[str, Any]:
    return {"metadata": _meta(name), "data": {"aadl.xml": "x" * AADL_BYTES}, "immutable": True}


def _pod(name: str) -> dict[str, Any]:
    mounts = [{"name": n, "mountPath": f"/etc/config/{n}"} for n in ("pe", "job")]
    environment = [{"name": f"STREAMS_{i}", "value": "value"} for i in range(12)]
    container = {"name": "pe", "image": "pe", "env": environment, "volumeMounts": mounts}
    volumes: list[dict[str, Any]] = [{"name": n, "emptyDir": {}} for n in ("pe", "job")]
    return {
        "metadata": _meta(name),
        "spec": {"restartPolicy": "Never", "containers": [container], "volumes": volumes},
    }


def _service(name: str) -> dict[str, Any]:
    ports = [{"name": f"sys-{i}", "port": 10000 + i} for i in range(3)]
    return {"metadata": _meta(name), "spec": {"clusterIP": "None", "ports": ports}}


def _pe(name: str) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "ProcessingElement",
        "metadata": _meta(name),
        "spec": {"id": 0, "contentId": "0" * 64, "operators": ["Source"]},
    }


def paths_of(namespace: str) -> tuple[str, str]:
    """The API paths of core objects and of our objects in a namespace."""
    return f"/api/v1/namespaces/{namespace}", f"/apis/{API_VERSION}/namespaces/{namespace}"


class Floor:
    """The floor's writes in one namespace, FLOOR_IN_FLIGHT requests at a time.

    They keep the order that any writer has to keep: the plan of a job before the rest, a PE and its
    objects before its pod, the deletion of the old pod before the new pod.
    """

    def __init__(self, api: Api, namespace: str, run: str) -> None:
        self._api = api
        self._core, self._streams = paths_of(namespace)
        self._run = run
        self._gate = asyncio.Semaphore(FLOOR_IN_FLIGHT)
        self._last_pod_s = 0.0
        self._steps = 0
        self._launches: dict[str, int] = {}

    async def submit(self, pes: int) -> float:
        """Seconds until the last pod of a submission of `pes` PEs exists."""
        return await self._timed([self._new_pe(f"{self._run}-{number}") for number in range(pes)])

    async def resize(self, *, pes: int, added: int, changed: int) -> float:
        """Seconds until the last pod of a resize of a job with `pes` PEs exists."""
        new = [self._new_pe(f"{self._run}-{pes + number}") for number in range(added)]
        changes = [self._changed_pe(f"{self._run}-{number}") for number in range(changed)]
        return await self._timed([*new, *changes])

    async def _timed(self, pes: Iterable[Work]) -> float:
        start = time.monotonic()
        self._steps += 1
        job = f"{self._run}-step-{self._steps}"
        await self._create("configmaps", {"metadata": _meta(f"{job}-0")})
        rest = [
            self._create("configmaps", {"metadata": _meta(f"{job}-{number}")})
            for number in range(1, WRITES_PER_JOB)
        ]
        await asyncio.gather(*rest, *pes)
        return self._last_pod_s - start

    async def _call(
        self, method: str, path: str, body: dict[str, Any] | None = None, content_type: str = JSON
    ) -> None:
        async with self._gate:
            await self._api.call(method, path, body, content_type)

    async def _create(self, plural: str, body: dict[str, Any]) -> None:
        await self._call("POST", f"{self._core}/{plural}", body)

    async def _launch(self, name: str, count: int) -> None:
        await self._create("pods", _pod(f"{name}-{count}"))
        self._last_pod_s = time.monotonic()
        self._launches[name] = count

    async def _record_launch(self, name: str, count: int) -> None:
        status = {"status": {"launchCount": count, "phase": "Starting"}}
        await self._call("PATCH", f"{self._streams}/streamspes/{name}/status", status, MERGE)

    async def _new_pe(self, name: str) -> None:
        await asyncio.gather(
            self._create("configmaps", _config_map(f"{name}-1")),
            self._create("services", _service(name)),
            self._call("POST", f"{self._streams}/streamspes", _pe(name)),
        )
        await self._launch(name, 1)
        await self._record_launch(name, 1)

    async def _changed_pe(self, name: str) -> None:
        old = self._launches[name]
        new = old + 1
        content = {"spec": {"contentId": f"{new:064x}"}}
        await self._create("configmaps", _config_map(f"{name}-{new}"))
        await self._call("PATCH", f"{self._streams}/streamspes/{name}", content, MERGE)
        await self._record_launch(name, new)
        await self._call("DELETE", f"{self._core}/pods/{name}-{old}")
        await self._launch(name, new)
        await self._call("DELETE", f"{self._core}/configmaps/{name}-{old}")


async def delete_floor(api: Api, namespace: str) -> float:
    """Delete the floor's objects by collection; seconds until the last pod is gone."""
    selector = "?labelSelector=bench%3Dfloor"
    core, streams = paths_of(namespace)
    collections = [
        *(f"{core}/{plural}{selector}" for plural in ("pods", "services", "configmaps")),
        f"{streams}/streamspes{selector}",
    ]
    start = time.monotonic()
    await asyncio.gather(*(_delete_collection(api, path) for path in collections))
    pods = f"{core}/pods{selector}"
    listing = await api.call("GET", pods)
    left = {pod["metadata"]["name"] for pod in listing["items"]}
    if left:
        async for event in api.watch(pods, listing["metadata"]["resourceVersion"]):
            if event["type"] == "DELETED":
                left.discard(event["object"]["metadata"]["name"])
            if not left:
                break
    return time.monotonic() - start


async def _delete_collection(api: Api, path: str) -> None:
    """Go on until all of it is deleted: for 5,000 pods one request has not time enough."""
    while True:
        with suppress(OutOfTime):
            await api.call("DELETE", path)
            return
