"""A sandboxed cluster, a log and hostpool-manager between them, in virtual time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from contracts import labels
from sandbox.store.deleting import DeleteOptions
from services.chassis.log.memory_log import MemoryLog
from services.chassis.running.hosting import stage_main
from services.chassis.running.wiring import Runtime
from services.hostpool_manager.adapters.stage import leadership, stage_maker
from services.hostpool_manager.service import ROW
from services.hostpool_manager.settings import HostpoolManagerSettings
from services.watch_ingest.adapters.leading import ingest
from services.watch_ingest.settings import WatchIngestSettings
from tests.sandboxed import MERGE, Sandboxed

Obj = dict[str, Any]
NS = "default"
API = "streams.ibm.com/v1"


class Scene:
    """Tests create the objects; the scheduler and the other services do not run."""

    def __init__(self, *, nodes: int = 0) -> None:
        self.sandbox = Sandboxed(nodes=nodes)
        self.store = self.sandbox.cluster.store
        self.log = MemoryLog(now=self.sandbox.clock.now)
        self.runtimes: dict[str, Runtime] = {}

    # ------------------------------------------------------------------ services

    def runtime(self, service: str, name: str = "") -> Runtime:
        """The runtime of one instance."""
        runtime = Runtime(
            service=service,
            bus=self.log,
            kube=self.sandbox.client(),
            clock=self.sandbox.clock,
            random=random.Random(1),
            new_id=lambda: name or service,
        )
        self.runtimes[name or service] = runtime
        return runtime

    @asynccontextmanager
    async def running(self, *instances: str) -> AsyncIterator[None]:
        """Run watch-ingest and instances of the manager; yields after their first decisions."""
        tasks = [
            asyncio.create_task(ingest(self.runtime("watch-ingest"), WatchIngestSettings())),
            *(
                asyncio.create_task(self.manager(self.runtime(ROW.name, name)))
                for name in instances or ("one",)
            ),
        ]
        await asyncio.sleep(5)
        try:
            yield
        finally:
            for runtime in self.runtimes.values():
                runtime.stopping.set()
            await asyncio.gather(*tasks)

    @staticmethod
    async def manager(runtime: Runtime) -> None:
        """One instance of the service."""
        settings = HostpoolManagerSettings()
        stage = stage_maker(settings, in_threads=False)
        await stage_main(stage, settings, leadership=leadership(settings))(runtime)

    # ------------------------------------------------------------------ objects

    def node(self, name: str, *tags: str, cpu: str = "4", **more: str) -> Obj:
        """A node that is ready."""
        marks = {labels.HOSTNAME: name, **{f"{labels.TAG_PREFIX}{tag}": "" for tag in tags}}
        made = self.create("Node", None, {"metadata": {"name": name, "labels": {**marks, **more}}})
        status = {
            "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "10"},
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": f"10.0.0.{len(name)}"}],
        }
        self.patch("Node", name, {"status": status}, subresource="status")
        return made

    def placement(
        self, name: str = "shop", *classes: Obj, pools: Sequence[Obj] = (), **spec: object
    ) -> Obj:
        """A Placement of the first generation."""
        owner = {"kind": "Job", "apiVersion": API, "name": name, "controller": True}
        uid = spec.pop("owner", "")
        meta = {"name": name, "ownerReferences": [{**owner, "uid": uid}] if uid else []}
        requested = {"generation": 0, "classes": list(classes), "pools": list(pools), **spec}
        return self.create("Placement", NS, {"metadata": meta, "spec": requested})

    def host_pool(self, job: str, pool: Obj, *, labels_members: bool = False) -> Obj:
        """The HostPool of a pool."""
        spec = {"hostpool": pool, "job": job, "labelsMembers": labels_members}
        meta = {"name": f"{job}-{pool['index']}"}
        return self.create("HostPool", NS, {"metadata": meta, "spec": spec})

    def pod(self, name: str, node: str, *, cpu: str = "", **marks: str) -> Obj:
        """A pod on a node; `job`, `pe` and `job_uid` make it one of Streams."""
        keys = {"job": labels.JOB, "pe": labels.PE, "job_uid": labels.JOB_UID}
        found = {keys[key]: value for key, value in marks.items()}
        resources = {"requests": {"cpu": cpu}} if cpu else {}
        container = {"name": "main", "image": "i", "resources": resources}
        return self.create(
            "Pod",
            NS,
            {
                "metadata": {"name": name, "labels": {labels.APP: labels.APP_VALUE, **found}},
                "spec": {"nodeName": node, "containers": [container]},
            },
        )

    def create(self, kind: str, namespace: str | None, body: Obj) -> Obj:
        """An object."""
        api = API if kind in ("Job", "Placement", "HostPool") else "v1"
        whole = {"apiVersion": api, "kind": kind, **body}
        return dict(self.store.create(self.sandbox.kind(kind), namespace, whole))

    def patch(self, kind: str, name: str, body: Obj, *, subresource: str = "") -> Obj:
        """A patch of an object by another client."""
        namespace = None if kind == "Node" else NS
        what = self.sandbox.kind(kind)
        return dict(self.store.patch(what, namespace, name, body, MERGE, subresource=subresource))

    def delete(self, kind: str, name: str) -> None:
        """The end of an object."""
        namespace = None if kind == "Node" else NS
        self.store.delete(self.sandbox.kind(kind), namespace, name, DeleteOptions(grace_period_s=0))

    def get(self, kind: str, name: str) -> Obj:
        """The current state of an object."""
        namespace = None if kind == "Node" else NS
        return dict(self.store.get(self.sandbox.kind(kind), namespace, name))

    # ------------------------------------------------------------------ statuses

    def status(self, name: str = "shop") -> Obj:
        """The status of a Placement."""
        return dict(self.get("Placement", name).get("status") or {})

    def pool_status(self, name: str) -> Obj:
        """The status of a HostPool."""
        return dict(self.get("HostPool", name).get("status") or {})

    def nodes_of(self, name: str = "shop") -> Mapping[str, str]:
        """Nodes by runs of PEs."""
        return {each["pes"]: each["node"] for each in self.status(name).get("assignments") or ()}


def a_class(pes: str, *, cpu: str = "1", pool: int | None = None, **more: object) -> Obj:
    """A class of interchangeable PEs."""
    location = {} if pool is None else {"hostPoolLocation": {"poolIndex": pool}}
    return {"pes": pes, "requests": {"cpu": cpu}, **location, **more}


def a_pool(index: int = 0, name: str = "gpu", **more: object) -> Obj:
    """A declaration of a pool."""
    return {"name": name, "index": index, **more}
