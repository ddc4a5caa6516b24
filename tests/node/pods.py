"""The pods of the services on the real node: how they are ended, and when they are ready again."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from loadtest.api import MERGE, Api
from tests.e2e.watching import Obj
from tests.node.installing import NAMESPACE, RELEASE, REPOSITORY, SELECTOR
from tests.patience import patient

READY_S_MAX = patient(90.0)
POLL_S = 0.2
_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
STRATEGIC = "application/strategic-merge-patch+json"


@dataclass(frozen=True, slots=True)
class ServicePods:
    """The pods of one service of the installation."""

    api: Api
    service: str

    @property
    def deployment(self) -> str:
        """The path of its Deployment."""
        return f"{_DEPLOYMENTS}/{RELEASE}-{self.service}"

    async def pods(self) -> list[Obj]:
        """All of its pods, also those on their way out."""
        selector = f"{SELECTOR},app.kubernetes.io/component={self.service}"
        listing = await self.api.call("GET", f"{_PODS}?labelSelector={selector}")
        return list(listing["items"])

    async def containers(self) -> set[str]:
        """The ids of its running containers: another one for each start."""
        return {
            str(status["containerID"])
            for pod in await self.pods()
            for status in pod["status"].get("containerStatuses", ())
            if status.get("containerID") and "running" in status["state"]
        }

    async def rejected(self) -> list[str]:
        """The lines in the logs of its pods that say that the API server rejected a write."""
        names = [each["metadata"]["name"] for each in await self.pods()]
        logs = [await self.api.text(f"{_PODS}/{name}/log") for name in names]
        return [line for log in logs for line in log.splitlines() if '"outcome":"rejected"' in line]

    async def until_ready(self, *, without: frozenset[str] = frozenset()) -> None:
        """Wait until its replicas are ready and none of these containers is left."""
        end_s = time.monotonic() + READY_S_MAX
        while not await self._is_ready(without):
            assert time.monotonic() < end_s, (self.service, await self.pods())
            await asyncio.sleep(POLL_S)

    async def _is_ready(self, without: frozenset[str]) -> bool:
        deployment, pods = await self.api.call("GET", self.deployment), await self.pods()
        wanted, status = deployment["spec"]["replicas"], deployment["status"]
        return (
            status.get("observedGeneration") == deployment["metadata"]["generation"]
            and status.get("updatedReplicas", 0) == wanted
            and len(pods) == wanted
            and all(map(_is_ready, pods))  # the Deployment's own status is late
            and not without & await self.containers()
        )

    async def scale(self, replicas: int) -> None:
        """Set the number of its instances."""
        await self.api.call("PATCH", self.deployment, {"spec": {"replicas": replicas}}, MERGE)


def _is_ready(pod: Obj) -> bool:
    conditions = pod["status"].get("conditions", ())
    return not pod["metadata"].get("deletionTimestamp") and any(
        each["type"] == "Ready" and each["status"] == "True" for each in conditions
    )


async def drain(service: ServicePods) -> None:
    """Evict the pods, as `kubectl drain` does; their disruption budget allows one at a time."""
    for pod in await service.pods():
        name = pod["metadata"]["name"]
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        await service.api.call("POST", f"{_PODS}/{name}/eviction", body)


async def delete_at_once(service: ServicePods) -> None:
    """Delete the pods without a grace period."""
    for pod in await service.pods():
        path = f"{_PODS}/{pod['metadata']['name']}"
        await service.api.call("DELETE", path, {"gracePeriodSeconds": 0})


async def kill(service: ServicePods) -> None:
    """End the process of each container with SIGKILL; the kubelet starts another."""
    for pod in await service.pods():
        for pid in processes_of(pod, service.service):
            os.kill(pid, signal.SIGKILL)


async def roll(service: ServicePods) -> None:
    """Give the Deployment the image of the other tag."""
    deployment = await service.api.call("GET", service.deployment)
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    other = "next" if container["image"].endswith(":dev") else "dev"
    image = {"name": container["name"], "image": f"{REPOSITORY}:{other}"}
    template = {"template": {"spec": {"containers": [image]}}}
    await service.api.call("PATCH", service.deployment, {"spec": template}, STRATEGIC)


DISRUPTIONS: Mapping[str, Callable[[ServicePods], Awaitable[None]]] = {
    "drained": drain,
    "deleted": delete_at_once,
    "killed": kill,
    "rolled": roll,
}
"""How the pods of a service end, in the order of the test."""


def processes_of(pod: Obj, service: str) -> list[int]:
    """The first processes of the pod's service on this machine, known by their cgroup."""
    module = f"services.{service.replace('-', '_')}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            groups = (entry / "cgroup").read_text()
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if f"pod{pod['metadata']['uid']}" in groups and module in words:
            found.append(int(entry.name))
    return found
