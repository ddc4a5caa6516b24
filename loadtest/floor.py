"""The floor: the design's necessary writes, issued by the bare client against an API server alone.

No service runs beside it; scheduler, kubelet and garbage collector follow the pods that it makes,
as they do for the services. The bodies have the size of real ones.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from contracts import labels
from contracts.resources import API_VERSION
from loadtest.api import CORE, MERGE, STREAMS, Api
from loadtest.profiles import FLOOR_IN_FLIGHT, WRITES_PER_JOB

AADL_BYTES = 6_000
Work = Callable[[], Coroutine[Any, Any, None]]


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


async def _new_pe(api: Api, name: str) -> None:
    await asyncio.gather(
        api.call("POST", f"{CORE}/configmaps", _config_map(f"{name}-a")),
        api.call("POST", f"{CORE}/services", _service(name)),
        api.call("POST", f"{STREAMS}/streamspes", _pe(name)),
    )
    await api.call("POST", f"{CORE}/pods", _pod(f"{name}-1"))
    status = {"status": {"launchCount": 1, "phase": "Starting"}}
    await api.call("PATCH", f"{STREAMS}/streamspes/{name}/status", status, MERGE)


async def _changed_pe(api: Api, name: str) -> None:
    await api.call("POST", f"{CORE}/configmaps", _config_map(f"{name}-b"))
    await api.call(
        "PATCH", f"{STREAMS}/streamspes/{name}", {"spec": {"contentId": "1" * 64}}, MERGE
    )
    status = {"status": {"launchCount": 2, "phase": "Starting"}}
    await api.call("PATCH", f"{STREAMS}/streamspes/{name}/status", status, MERGE)
    await api.call("DELETE", f"{CORE}/pods/{name}-1")
    await api.call("POST", f"{CORE}/pods", _pod(f"{name}-2"))
    await api.call("DELETE", f"{CORE}/configmaps/{name}-a")


async def _job_writes(api: Api, name: str) -> None:
    for number in range(WRITES_PER_JOB):
        await api.call("POST", f"{CORE}/configmaps", {"metadata": _meta(f"{name}-{number}")})


async def _run(works: Iterable[Work]) -> float:
    """Seconds for all of the works, FLOOR_IN_FLIGHT at a time."""
    gate = asyncio.Semaphore(FLOOR_IN_FLIGHT)

    async def one(work: Work) -> None:
        async with gate:
            await work()

    start = time.monotonic()
    await asyncio.gather(*(one(work) for work in works))
    return time.monotonic() - start


async def submit_floor(api: Api, run: str, pes: int) -> float:
    """Seconds for the floor's writes of a submission of `pes` PEs."""

    def new(number: int) -> Work:
        return lambda: _new_pe(api, f"{run}-{number}")

    return await _run([lambda: _job_writes(api, f"{run}-s"), *map(new, range(pes))])


async def resize_floor(api: Api, run: str, *, pes: int, added: int, changed: int) -> float:
    """Seconds for the floor's writes of a resize of what `submit_floor` made under `run`."""

    def new(number: int) -> Work:
        return lambda: _new_pe(api, f"{run}-{pes + number}")

    def change(number: int) -> Work:
        return lambda: _changed_pe(api, f"{run}-{number}")

    works = [*map(new, range(added)), *map(change, range(changed))]
    return await _run([lambda: _job_writes(api, f"{run}-r"), *works])


async def delete_floor(api: Api) -> float:
    """Seconds to remove by collection what the floor made, until the last pod is gone."""
    selector = "?labelSelector=bench%3Dfloor"
    collections = [f"{CORE}/{plural}{selector}" for plural in ("pods", "services", "configmaps")]
    start = time.monotonic()
    await asyncio.gather(
        *(api.call("DELETE", path) for path in (*collections, f"{STREAMS}/streamspes{selector}"))
    )
    listing = await api.call("GET", collections[0])
    left = {pod["metadata"]["name"] for pod in listing["items"]}
    if left:
        async for event in api.watch(collections[0], listing["metadata"]["resourceVersion"]):
            if event["type"] == "DELETED":
                left.discard(event["object"]["metadata"]["name"])
            if not left:
                break
    return time.monotonic() - start
