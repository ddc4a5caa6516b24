"""A whole embedded cluster: store, controllers, nodes and the API in front of them.

Lives here: how the layers are put together, and how large the nodes are. Sockets are not opened
here: `__main__.py` serves the `api` over HTTP, a simulation uses it in process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from sandbox.containers.programs import Programs
from sandbox.containers.runtime import ContainerRuntime
from sandbox.controllers.controllers import Controllers
from sandbox.controllers.kubelet_processes import Running
from sandbox.controllers.projected_tokens import Issue
from sandbox.controllers.settings import Settings
from sandbox.http.api import Api
from sandbox.http.authenticating import Gate
from sandbox.http.executing import Executing
from sandbox.store.resources import CUSTOM_RESOURCE_DEFINITION, POD
from sandbox.store.store import Store

NODES_MAX = 5_000
NODE_CAPACITY: Mapping[str, str] = {
    "cpu": "32",
    "memory": "32Gi",
    "ephemeral-storage": "100Gi",
    "pods": "250",
}


@dataclass(frozen=True)
class Processes:
    """How pods run as processes; `gate` keeps others out, the rest is that of `Running`."""

    runtime: ContainerRuntime
    programs: Programs
    environment: Mapping[str, str]
    first_address: int = 0
    gate: Gate = field(default_factory=Gate)

    def running(self, issue: Issue) -> Running:
        return Running(self.runtime, self.programs, issue, self.environment, self.first_address)


class Cluster:
    """An embedded cluster with `nodes` nodes. `run` keeps it alive until cancelled.

    `has_metrics`: `metrics.k8s.io` is served although nothing plays how much CPU it uses.
    Without `resizes_pods` it is as one before Kubernetes 1.33, which does not serve `pods/resize`.
    With `processes`, pods whose images are programs of this machine run; the others are played.
    """

    def __init__(
        self,
        *,
        now: Callable[[], float],
        new_uid: Callable[[], str],
        nodes: int = 4,
        settings: Settings | None = None,
        has_metrics: bool = False,
        resizes_pods: bool = True,
        processes: Processes | None = None,
    ) -> None:
        self.store = Store(now=now, new_uid=new_uid)
        if not resizes_pods:
            self.store.registry.publish(replace(POD, subresources=POD.subresources - {"resize"}))
        logs = None if processes is None else processes.runtime.log
        self.api = Api(self.store, now=now, has_metrics=has_metrics, logs=logs)
        settings = replace(settings or Settings(), has_metrics=has_metrics)
        self.executing = (
            None
            if processes is None
            else Executing(self.store, processes.runtime.execute, processes.gate)
        )
        running = None if processes is None else processes.running(self.api.tokens.issue_for_pod)
        self.controllers = Controllers(self.store, now=now, settings=settings, running=running)
        for number in range(min(nodes, NODES_MAX)):
            self.controllers.nodes.add(f"node-{number}", capacity=NODE_CAPACITY)

    def install(self, definitions: Iterable[Mapping[str, Any]]) -> None:
        """Create CustomResourceDefinitions; their resources are served at once."""
        for definition in definitions:
            self.store.create(CUSTOM_RESOURCE_DEFINITION, None, dict(definition))

    async def run(self) -> None:
        """Run the controllers until cancelled."""
        await self.controllers.run()


def read_definitions(directory: Path) -> list[dict[str, Any]]:
    """Every document of the YAML files of a directory, in the order of their names."""
    files = sorted([*directory.glob("*.yaml"), *directory.glob("*.yml")])
    return [
        document
        for file in files
        for document in yaml.load_all(file.read_text(encoding="utf-8"), yaml.CSafeLoader)
        if document
    ]
