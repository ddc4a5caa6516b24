"""kube-scheduler and the sandbox's scheduler agree on which pods have a place.

Cases are generated from a seed: small groups of nodes, told apart by a label, and pods that ask for
one group each. Compared is whether a pod is given a node, not which one: among nodes that fit,
both choose as they like. Every pod asks for so little that pods do not compete, or for too much.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
import uuid
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import orjson
import pytest

from services.chassis.kube_http import HttpTransport, load_configuration
from tests.real.differential.playing import RealSide, SandboxSide, Side, living
from tests.sandboxed import new_cluster

SETTING = "MILLRACE_KUBECONFIG"
SEED = 20261120
GROUPS, PODS_OF_GROUP = 12, 20  # 240 cases
PATIENCE_TRIES_MAX, PERIOD_S = 300, 0.2
_GROUP_LABEL = "diff.example.com/group"
_HEADERS = {"accept": "application/json", "content-type": "application/json"}

_EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
_KEYS, _VALUES = ("zone", "disk", "size"), ("a", "b", "3", "7")
Obj = dict[str, Any]


def make_node(draw: random.Random, group: str, number: int) -> Obj:
    """A node with some labels, perhaps a taint, and room for some."""
    labels = {key: draw.choice(_VALUES) for key in _KEYS if draw.random() < 0.7}
    taints = [
        {"key": draw.choice(_KEYS), "value": draw.choice(_VALUES), "effect": draw.choice(_EFFECTS)}
        for _ in range(draw.choice((0, 0, 1)))
    ]
    size = {"cpu": draw.choice(("4", "8")), "memory": "16Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": f"{group}-{number}",
            "labels": {**labels, _GROUP_LABEL: group},
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "spec": {"taints": taints, "unschedulable": draw.random() < 0.1},
        "status": {"capacity": size, "allocatable": size},
    }


def make_pod(draw: random.Random, group: str, number: int) -> Obj:
    """A pod that wants to be in the group, and more."""
    spec: Obj = {
        "nodeSelector": {_GROUP_LABEL: group},
        "automountServiceAccountToken": False,
        "containers": [{"name": "main", "image": "image:1"}],
    }
    if draw.random() < 0.4:
        spec["nodeSelector"][draw.choice(_KEYS)] = draw.choice(_VALUES)
    if draw.random() < 0.6:
        terms = [make_term(draw) for _ in range(draw.choice((1, 1, 2)))]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        spec["affinity"] = {"nodeAffinity": required}
    if draw.random() < 0.6:
        spec["tolerations"] = [make_toleration(draw) for _ in range(draw.choice((1, 2)))]
    if draw.random() < 0.5:
        requests = {draw.choice(("cpu", "memory")): draw.choice(("1m", "5", "20Gi", "100", "0"))}
        spec["containers"][0]["resources"] = {"requests": requests}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{group}-{number}"},
        "spec": spec,
    }


def make_term(draw: random.Random) -> Obj:
    """A term of a required node affinity."""
    expressions = []
    for _ in range(draw.choice((1, 1, 2))):
        operator = draw.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
        expression: Obj = {"key": draw.choice(_KEYS), "operator": operator}
        if operator in {"In", "NotIn"}:
            expression["values"] = draw.sample(_VALUES, 2)
        elif operator in {"Gt", "Lt"}:
            expression["values"] = ["5"]
        expressions.append(expression)
    return {"matchExpressions": expressions}


def make_toleration(draw: random.Random) -> Obj:
    """A toleration of one effect or of all."""
    toleration: Obj = {"key": draw.choice(_KEYS), "operator": draw.choice(("Exists", "Equal"))}
    if toleration["operator"] == "Equal":
        toleration["value"] = draw.choice(_VALUES)
    if draw.random() < 0.5:
        toleration["effect"] = draw.choice(_EFFECTS)
    return toleration


class Trial:
    """One side, its nodes and pods."""

    def __init__(self, side: Side, namespace: str, nodes: list[Obj], pods: list[Obj]) -> None:
        self._side = side
        self._pods = f"/api/v1/namespaces/{namespace}/pods"
        self._namespace = namespace
        self._nodes, self._wanted = nodes, pods

    async def placed(self) -> dict[str, bool]:
        """Whether each pod was given a node."""
        await self._made("/api/v1/namespaces", [{"metadata": {"name": self._namespace}}])
        account = f"/api/v1/namespaces/{self._namespace}/serviceaccounts/default"
        await self._until(lambda: self._is_there(account))
        await self._made("/api/v1/nodes", self._nodes)
        for node in self._nodes:
            await self._until(lambda node=node: self._is_plain(node))  # type: ignore[misc]
        await self._made(self._pods, self._wanted)
        found: dict[str, bool] = {}

        async def all_judged() -> bool:
            found.clear()
            found.update(await self._judged())
            return len(found) == len(self._wanted)

        await self._until(all_judged)
        return found

    async def clear(self) -> None:
        """Take the nodes and the namespace away."""
        for node in self._nodes:
            await self._ask("DELETE", f"/api/v1/nodes/{node['metadata']['name']}")
        await self._ask("DELETE", f"/api/v1/namespaces/{self._namespace}")

    async def _judged(self) -> dict[str, bool]:
        listed = orjson.loads((await self._ask("GET", self._pods))[1])
        said: dict[str, bool] = {}
        for pod in listed["items"]:
            for condition in pod["status"].get("conditions") or ():
                if condition["type"] == "PodScheduled":
                    said[pod["metadata"]["name"]] = condition["status"] == "True"
        return said

    async def _is_plain(self, node: Obj) -> bool:
        """Whether the cluster has taken its own taints from a new node."""
        _, body = await self._ask("GET", f"/api/v1/nodes/{node['metadata']['name']}")
        taints = orjson.loads(body)["spec"].get("taints") or ()
        return not any("not-ready" in taint["key"] for taint in taints)

    async def _is_there(self, path: str) -> bool:
        return isinstance(self._side, SandboxSide) or (await self._ask("GET", path))[0] == 200

    async def _made(self, path: str, objects: list[Obj]) -> None:
        for obj in objects:
            status, body = await self._ask("POST", path, obj)
            assert status == 201, body

    async def _ask(self, method: str, path: str, body: Obj | None = None) -> tuple[int, bytes]:
        sent = b"" if body is None else orjson.dumps(body)
        raw = await self._side.ask(method, path, _HEADERS, sent)
        return raw.status, raw.body

    async def _until(self, done: Callable[[], Coroutine[Any, Any, bool]]) -> None:
        for _ in range(PATIENCE_TRIES_MAX):
            if await done():
                return
            await asyncio.sleep(PERIOD_S)
        raise TimeoutError("the cluster did not get there")


@pytest.mark.real
@pytest.mark.timeout(300)
async def test_both_schedulers_find_the_same_pods_feasible() -> None:
    """Selectors, required affinity, taints, tolerations and requests, in 240 generated cases."""
    kubeconfig = os.environ.get(SETTING, "")
    if not kubeconfig:
        pytest.skip(f"{SETTING} is not set: `make real-up` brings up a real API server")
    run = uuid.uuid4().hex[:6]
    draw = random.Random(SEED)
    groups = [f"sched-{run}-{number}" for number in range(GROUPS)]
    nodes = [make_node(draw, group, number) for group in groups for number in range(3)]
    pods = [make_pod(draw, group, number) for group in groups for number in range(PODS_OF_GROUP)]
    transport = HttpTransport(await load_configuration(str(Path(kubeconfig))))
    real = Trial(RealSide(transport), f"sched-{run}", nodes, pods)
    cluster = new_cluster(now=time.time, nodes=0, new_uid=lambda: str(uuid.uuid4()))
    try:
        async with living(cluster):
            sandbox = Trial(SandboxSide(cluster), f"sched-{run}", nodes, pods)
            mine, theirs = await asyncio.gather(sandbox.placed(), real.placed())
    finally:
        await real.clear()
        await transport.close()
    wanted = {pod["metadata"]["name"]: pod["spec"] for pod in pods}
    different = {name: wanted[name] for name, yes in theirs.items() if mine[name] is not yes}
    assert not different
    assert len(theirs) >= 200
    assert 0.2 < sum(theirs.values()) / len(theirs) < 0.8, "the cases say little"
