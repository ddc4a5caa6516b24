"""A cluster whose controllers run in virtual time, and builders of the objects in it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from sandbox.controllers.controllers import Controllers
from sandbox.controllers.kubelet_processes import Running
from sandbox.controllers.settings import Settings
from sandbox.store.deleting import DeleteOptions
from sandbox.store.errors import ApiError
from sandbox.store.resources import CONFIG_MAP, EVENT, NODE, POD, ResourceType
from sandbox.store.store import Store

EPOCH_S = 1_700_000_000.0
MERGE = "application/merge-patch+json"
Obj = Mapping[str, Any]


class LivingCluster:
    """Store and controllers under the clock of the running loop, with short ways to use them."""

    def __init__(self, settings: Settings, running: Running | None = None) -> None:
        numbers = itertools.count(1)
        self.store = Store(now=self.now, new_uid=lambda: f"uid-{next(numbers)}")
        self.controllers = Controllers(self.store, now=self.now, settings=settings, running=running)
        self.kubelet = self.controllers.kubelet
        self.nodes = self.controllers.nodes

    def now(self) -> float:
        return EPOCH_S + asyncio.get_running_loop().time()

    @asynccontextmanager
    async def living(self, *, nodes: int = 1) -> AsyncIterator[LivingCluster]:
        """Run the controllers with that many nodes, named node-0 and so on."""
        for number in range(nodes):
            self.nodes.add(f"node-{number}")
        running = asyncio.create_task(self.controllers.run())
        await asyncio.sleep(0.01)
        try:
            yield self
        finally:
            running.cancel()
            await asyncio.wait([running])
            assert running.cancelled(), running.exception()

    def create(self, rt: ResourceType, body: Obj, namespace: str = "default") -> Obj:
        return self.store.create(rt, namespace if rt.namespaced else None, dict(body))

    def find(self, rt: ResourceType, name: str, namespace: str = "default") -> Obj | None:
        try:
            return self.store.get(rt, namespace if rt.namespaced else None, name)
        except ApiError as error:
            if error.code != 404:
                raise
            return None

    def get(self, rt: ResourceType, name: str, namespace: str = "default") -> Obj:
        found = self.find(rt, name, namespace)
        assert found is not None, f"{rt.kind} {namespace}/{name} does not exist"
        return found

    def pod(self, name: str) -> Obj:
        return self.get(POD, name)

    def node_of(self, name: str) -> str | None:
        node: str | None = self.pod(name)["spec"].get("nodeName")
        return node

    def phase(self, name: str) -> str:
        return str(self.pod(name)["status"]["phase"])

    def condition(self, rt: ResourceType, name: str, kind: str) -> Obj:
        found = [
            item for item in self.get(rt, name)["status"]["conditions"] if item["type"] == kind
        ]
        assert len(found) == 1, found
        condition: Obj = found[0]
        return condition

    def taints(self, name: str) -> set[tuple[str, str]]:
        taints = self.get(NODE, name)["spec"].get("taints") or []
        return {(item["key"], item["effect"]) for item in taints}

    def merge(self, rt: ResourceType, name: str, patch: Obj, subresource: str = "") -> Obj:
        namespace = "default" if rt.namespaced else None
        return self.store.patch(rt, namespace, name, dict(patch), MERGE, subresource=subresource)

    def delete(
        self,
        rt: ResourceType,
        name: str,
        propagation: str | None = None,
        namespace: str = "default",
        grace_s: int | None = None,
    ) -> None:
        options = DeleteOptions(propagation=propagation, grace_period_s=grace_s)
        self.store.delete(rt, namespace if rt.namespaced else None, name, options)

    def events(self, name: str) -> list[tuple[str, str]]:
        """Reason and message of the Events about an object of this name."""
        return [
            (item["reason"], item["message"])
            for item in self.store.list(EVENT, None).items
            if item["involvedObject"]["name"] == name
        ]

    def writes_of(self, rt: ResourceType, name: str) -> list[str]:
        """Every change of one object so far, by type of event."""
        changes = self.store.watch(rt, None, since=1).take()
        return [item.type for item in changes if item.object["metadata"]["name"] == name]


def pod(name: str, **spec: Any) -> dict[str, Any]:
    """A Pod; `requests`, `labels` and `annotations` go where they belong."""
    meta = {key: spec.pop(key) for key in ("labels", "annotations") if key in spec}
    container: dict[str, Any] = {"name": "pe", "image": "runtime:1"}
    if requests := spec.pop("requests", None):
        container["resources"] = {"requests": requests}
    if host_port := spec.pop("host_port", None):
        container["ports"] = [{"containerPort": host_port, "hostPort": host_port}]
    body = {"restartPolicy": "Never", "containers": [container], **spec}
    return {"metadata": {"name": name, **meta}, "spec": body}


def behaving(name: str, behavior: str, *, after: str = "0s", **spec: Any) -> dict[str, Any]:
    """A Pod that is reported by annotations how to live."""
    prefix = "sandbox.millrace.dev/"
    told = {f"{prefix}behavior": behavior, f"{prefix}after": after}
    return pod(name, annotations=told, **spec)


def config_map(name: str, *owners: Obj, **meta: Any) -> dict[str, Any]:
    """A ConfigMap with these owners."""
    references = [dict(owner) for owner in owners]
    return {"metadata": {"name": name, "ownerReferences": references, **meta}}


def owned_by(owner: Obj, *, blocking: bool = False, **changed: Any) -> dict[str, Any]:
    """An owner reference."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        **({"blockOwnerDeletion": True} if blocking else {}),
        **changed,
    }


def names(cluster: LivingCluster, rt: ResourceType = CONFIG_MAP) -> set[str]:
    """The names of what exists in the namespace default."""
    return {item["metadata"]["name"] for item in cluster.store.list(rt, "default").items}


def required_nodes(*terms: Obj) -> dict[str, Any]:
    """A required node affinity."""
    selector = {"nodeSelectorTerms": [dict(term) for term in terms]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}


def no_node(count: int, reasons: str, *, freeing: str) -> str:
    """What kube-scheduler says where no node fits, and why evicting others would not help."""
    head = f"0/{count} nodes are available:"
    return f"{head} {reasons}. no new claims to deallocate, preemption: {head} {freeing}."


def hopeless(count: int) -> str:
    return f"{count} Preemption is not helpful for scheduling"


def nobody(count: int) -> str:
    return f"{count} No preemption victims found for incoming pod"


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def near(kind: str, *expressions: Obj, topology: str = "kubernetes.io/hostname") -> dict[str, Any]:
    """A required podAffinity or podAntiAffinity."""
    term = {"topologyKey": topology, "labelSelector": {"matchExpressions": list(expressions)}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
