"""kube-scheduler and the sandbox's scheduler agree on which pods have a place.

Cases are generated from a seed: small groups of nodes, told apart by a label, and pods that ask for
one group each. Compared is whether a pod is given a node, not which one: among nodes that fit,
both choose as they like. Every pod asks for so little that pods do not compete, or for too much.
"""

from __future__ import annotations

import asyncio
import random

import pytest

from tests.patience import patient
from tests.real.scheduling import GROUP, Obj, Trial, both_sides

COVERS = (
    "contracts/scheduling/*",
    "sandbox/controllers/feasibility.py",
    "sandbox/controllers/scheduler.py",
    "placement/cluster.py",
)

SEED = 20261120
GROUPS, PODS_OF_GROUP = 12, 20  # 240 cases

_EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
_KEYS, _VALUES = ("zone", "disk", "size"), ("a", "b", "3", "7")


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
            "labels": {**labels, GROUP: group},
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "spec": {"taints": taints, "unschedulable": draw.random() < 0.1},
        "status": {"capacity": size, "allocatable": size},
    }


def make_pod(draw: random.Random, group: str, number: int) -> Obj:
    """A pod that wants to be in the group, and more."""
    spec: Obj = {
        "nodeSelector": {GROUP: group},
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


@pytest.mark.real
@pytest.mark.timeout(patient(300))
async def test_both_schedulers_find_the_same_pods_feasible() -> None:
    """Selectors, required affinity, taints, tolerations and requests, in 240 generated cases."""
    draw = random.Random(SEED)
    async with both_sides() as (sandbox, real):
        run = sandbox.run
        groups = [f"{run}-{number}" for number in range(GROUPS)]
        nodes = [make_node(draw, group, number) for group in groups for number in range(3)]
        pods = [make_pod(draw, group, n) for group in groups for n in range(PODS_OF_GROUP)]

        async def judge(side: Trial) -> dict[str, bool]:
            await side.make_namespace(run)
            await side.make_nodes(nodes)
            await side.make_pods(run, pods)
            found = await side.judged(run, count=len(pods))
            return {name: bool(judgement.node) for name, judgement in found.items()}

        mine, theirs = await asyncio.gather(judge(sandbox), judge(real))
    wanted = {pod["metadata"]["name"]: pod["spec"] for pod in pods}
    different = {name: wanted[name] for name, yes in theirs.items() if mine[name] is not yes}
    assert not different
    assert len(theirs) >= 200
    assert 0.2 < sum(theirs.values()) / len(theirs) < 0.8, "the cases say little"
