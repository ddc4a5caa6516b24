"""Nodes of a test's own, and what people and the cluster do to them.

The pods of a job ask for the nodes of its test by a label, so no other job is disturbed, and tests
of nodes can run beside each other.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path

from loadtest.api import CORE, MERGE, Api, Refused
from tests.e2e.watching import WAIT_S, Cluster, JobObjects, Obj
from tests.patience import patient
from tools.real.preparing import node_object, node_problem

NODES = "/api/v1/nodes"
OF_TEST = "e2e.millrace.dev/of"
BEHAVIOR = "sandbox.millrace.dev/behavior"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
UNREACHABLE = ("node.kubernetes.io/unreachable", "NoExecute")
POLL_S = 0.1
DRAIN_S_MAX = patient(90.0)
_NUMBERS = itertools.count(500)
"""Beyond the nodes that either backend begins with."""


@asynccontextmanager
async def own_nodes(api: Api, owner: str, count: int) -> AsyncIterator[Sequence[str]]:
    """Nodes that are ready for the pods that ask for `wanted_by(owner)`; removed at the end."""
    async with these_nodes(api, owner, [another_node() for _ in range(count)]) as names:
        yield names


def another_node() -> Obj:
    """A node that the cluster does not have yet."""
    return node_object(next(_NUMBERS))


@asynccontextmanager
async def these_nodes(api: Api, owner: str, bodies: Sequence[Obj]) -> AsyncIterator[Sequence[str]]:
    """Like `own_nodes`, but the nodes are given."""
    names = [str(each["metadata"]["name"]) for each in bodies]
    try:
        for body in bodies:
            body["metadata"]["labels"][OF_TEST] = owner
            await api.call("POST", NODES, body)
        await _until_ready(api, names)
        yield names
    finally:
        for name in names:
            await remove(api, name)


def wanted_by(owner: str) -> Obj:
    """The pod template whose pods run on the owner's nodes alone, and end within a second."""
    return {"spec": {"nodeSelector": {OF_TEST: owner}, "terminationGracePeriodSeconds": 1}}


async def _until_ready(api: Api, names: Sequence[str]) -> None:
    for name in names:
        await until_node(api, name, lambda node: not node_problem([node], 1))


async def until_node(api: Api, name: str, holds: Callable[[Obj], bool]) -> None:
    """Wait until a node is so."""
    async with asyncio.timeout(WAIT_S):
        while True:
            if holds(await node_of(api, name)):
                return
            await asyncio.sleep(POLL_S)


async def node_of(api: Api, name: str) -> Obj:
    """The Node object."""
    return await api.call("GET", f"{NODES}/{name}")


async def remove(api: Api, name: str) -> None:
    """Delete the Node object, if it is there."""
    try:
        await api.call("DELETE", f"{NODES}/{name}")
    except Refused as refused:
        if str(HTTPStatus.NOT_FOUND.value) not in str(refused):
            raise


async def taint(api: Api, name: str, key: str, effect: str) -> None:
    """Add a taint."""
    there = (await node_of(api, name))["spec"].get("taints") or []
    await change(api, name, {"spec": {"taints": [*there, {"key": key, "effect": effect}]}})


async def cordon(api: Api, name: str) -> None:
    """As `kubectl cordon`."""
    await change(api, name, {"spec": {"unschedulable": True}})


async def silence(api: Api, name: str) -> None:
    """The node says nothing any more, and the cluster says so; what runs on it goes on."""
    await change(api, name, {"metadata": {"annotations": {BEHAVIOR: "silent"}}})
    conditions = (await node_of(api, name))["status"]["conditions"]
    said = {"status": "Unknown", "reason": "NodeStatusUnknown"}
    unknown = [each | said if each["type"] == "Ready" else each for each in conditions]
    await change(api, f"{name}/status", {"status": {"conditions": unknown}})
    # Taints are one list: whoever adds one before the cluster has its own may lose it.
    await until_node(api, name, lambda node: UNREACHABLE in _taints_of(node))


def _taints_of(node: Obj) -> set[tuple[str, str]]:
    return {(each["key"], each["effect"]) for each in node["spec"].get("taints") or ()}


async def wake(api: Api, name: str) -> None:
    """A silent node says that it is well."""
    await change(api, name, {"metadata": {"annotations": {BEHAVIOR: None}}})


async def change(api: Api, path: str, patch: Obj) -> None:
    """Merge something into a node; None takes it out."""
    await api.call("PATCH", f"{NODES}/{path}", patch, MERGE)


# --------------------------------------------------------------------------- pods on nodes


def nodes_of(job: JobObjects) -> Mapping[str, str]:
    """The node of each PE that has one live pod."""
    pods = {name: each for name, each in job.pods_of_pes().items() if len(each) == 1}
    return {name: str(pod["spec"].get("nodeName", "")) for name, (pod,) in pods.items()}


async def tell(api: Api, job: JobObjects, node: str, behavior: str | None) -> None:
    """Tell the pods on a node how to live, such as `hang`; None: like any other."""
    told = {"metadata": {"annotations": {BEHAVIOR: behavior}}}
    for name, pod in list(job.of("pods").items()):
        if pod["spec"].get("nodeName") == node:
            await api.call("PATCH", f"{CORE}/pods/{name}", told, MERGE)


async def drain(cluster: Cluster, node: str, kubectl: str, cache: Path) -> None:
    """Drain a node with kubectl, or with its requests where there is none."""
    if not kubectl:
        await _evict_all(cluster.api, node)
        return
    process = await asyncio.create_subprocess_exec(
        kubectl,
        f"--kubeconfig={cluster.system.kubeconfig}",
        f"--cache-dir={cache}",
        "drain",
        node,
        "--ignore-daemonsets",
        "--delete-emptydir-data",
        f"--timeout={DRAIN_S_MAX:g}s",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()


async def _evict_all(api: Api, node: str) -> None:
    await cordon(api, node)
    path = f"{CORE}/pods?fieldSelector=spec.nodeName%3D{node}"
    end_s = time.monotonic() + DRAIN_S_MAX
    while pods := (await api.call("GET", path))["items"]:
        assert time.monotonic() < end_s, f"{len(pods)} pods do not leave {node}"
        for pod in pods:
            meta = {"name": pod["metadata"]["name"], "namespace": "default"}
            body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
            if pod["metadata"].get("deletionTimestamp"):
                continue
            try:
                await api.call("POST", f"{CORE}/pods/{meta['name']}/eviction", body)
            except Refused as refused:
                if ": 404 " not in str(refused):  # it left meanwhile
                    raise
        await asyncio.sleep(POLL_S)
