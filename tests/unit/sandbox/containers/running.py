"""A cluster whose pods are processes of this machine, in real time, and builders of such pods."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sandbox.cluster import Cluster, Processes
from sandbox.containers.environment import base_environment
from sandbox.containers.programs import Programs
from sandbox.containers.runtime import ContainerRuntime
from sandbox.controllers.settings import Settings
from sandbox.http.answers import Answer, StreamAnswer
from sandbox.store.deleting import DeleteOptions
from sandbox.store.errors import ApiError
from sandbox.store.resources import EVENT, POD
from tests.patience import patient

Obj = Mapping[str, Any]
IMAGE = "registry.test/acme/runtime:1"
BOOTSTRAP = "/usr/local/bin/bootstrap"
WAIT_S_MAX = patient(10.0)


class RunningCluster:
    """A cluster of one node, its runtime, and short ways to use them."""

    def __init__(self, cluster: Cluster, runtime: ContainerRuntime) -> None:
        self.store = cluster.store
        self.api = cluster.api
        self.nodes = cluster.controllers.nodes
        self.runtime = runtime
        self.executing = cluster.executing

    def create(self, body: Obj, rt: Any = POD) -> Obj:
        return self.store.create(rt, "default", dict(body))

    def find(self, name: str) -> Obj | None:
        try:
            return self.store.get(POD, "default", name)
        except ApiError:
            return None

    def status(self, name: str) -> dict[str, Any]:
        found = self.find(name)
        return dict(found["status"]) if found is not None else {}

    def phase(self, name: str) -> str:
        return str(self.status(name).get("phase", "gone"))

    def container(self, name: str, container: str = "pe") -> dict[str, Any]:
        """The status of a container; empty before there is one."""
        status = self.status(name)
        fields = ("containerStatuses", "initContainerStatuses")
        found = [each for field in fields for each in status.get(field) or ()]
        return next((dict(each) for each in found if each["name"] == container), {})

    def ended(self, name: str, container: str = "pe") -> dict[str, Any]:
        """How a container ended."""
        state: dict[str, Any] = self.container(name, container)["state"]["terminated"]
        return state

    def delete(self, name: str, grace_s: int | None = None) -> None:
        self.store.delete(POD, "default", name, DeleteOptions(grace_period_s=grace_s))

    def events(self, name: str) -> list[tuple[str, str]]:
        return [
            (item["reason"], item["message"])
            for item in self.store.list(EVENT, None).items
            if item["involvedObject"]["name"] == name
        ]

    def log(self, name: str, query: str = "") -> str:
        path = f"/api/v1/namespaces/default/pods/{name}/log{query}"
        answer = self.api.answer("GET", path, {})
        assert isinstance(answer, Answer), answer
        return answer.body.decode()

    def followed(self, name: str) -> StreamAnswer:
        path = f"/api/v1/namespaces/default/pods/{name}/log?follow=true"
        answer = self.api.answer("GET", path, {})
        assert isinstance(answer, StreamAnswer), answer
        return answer

    async def until(self, holds: Callable[[], Any]) -> None:
        """Wait for a condition, for at most WAIT_S_MAX seconds."""
        async with asyncio.timeout(WAIT_S_MAX):
            while not holds():  # noqa: ASYNC110  many things change it
                await asyncio.sleep(0.01)

    async def until_over(self, name: str) -> None:
        await self.until(lambda: self.phase(name) in {"Succeeded", "Failed", "gone"})


@asynccontextmanager
async def running(folder: Path, settings: Settings | None = None) -> AsyncIterator[RunningCluster]:
    """The cluster inside of a block; nothing of it is left afterwards."""
    numbers = itertools.count(1)
    programs = Programs(("acme/runtime*",), {BOOTSTRAP: ("python", "-c")})
    environment = base_environment({"PATH": "/usr/bin:/bin", "SECRET": "x"}, {"GIVEN": "yes"})
    async with ContainerRuntime(folder, time.time) as runtime:
        cluster = Cluster(
            now=time.time,
            new_uid=lambda: f"uid-{next(numbers)}",
            nodes=1,
            settings=settings or Settings(crash_back_off_min_s=0.2),
            processes=Processes(runtime, programs, environment, first_address=700),
        )
        work = asyncio.create_task(cluster.run())
        await asyncio.sleep(0)
        try:
            yield RunningCluster(cluster, runtime)
        finally:
            work.cancel()
            await asyncio.wait([work])
            assert work.cancelled(), work.exception()
    left = os.listdir(folder)
    assert not left, left


def container(script: str, name: str = "pe", **fields: Any) -> dict[str, Any]:
    """A container whose program is a script of a shell."""
    return {"name": name, "image": IMAGE, "command": ["sh", "-c", script], **fields}


def pod(name: str, *containers: Obj, **spec: Any) -> dict[str, Any]:
    """A pod of these containers, which is not restarted."""
    body = {"restartPolicy": "Never", "containers": list(containers), **spec}
    return {"metadata": {"name": name}, "spec": body}


def processes_of(group: int) -> list[int]:
    """The processes of a group that have not ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found
