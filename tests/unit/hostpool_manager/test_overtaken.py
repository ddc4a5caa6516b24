"""An answer counts only if it holds on the cluster as of the end of its search."""

from __future__ import annotations

import asyncio

import pytest

from contracts.scheduling.nodes import Node
from placement.answers import Answer
from placement.cluster import Cluster
from placement.deciding import Limits, decide
from placement.job import Job
from services.hostpool_manager.core import answering
from tests.unit.hostpool_manager.scene import Scene, a_class
from tests.virtual_time import run_virtually


def test_an_answer_is_dropped_if_its_node_was_cordoned_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched = list[str]()

    def outdated(cluster: Cluster, job: Job, limits: Limits) -> Answer:
        """The first search takes the cluster from before the node was closed."""
        if not searched:
            searched.append(job.name)
            cluster = old[0]
        return decide(cluster, job, limits)

    async def test() -> None:
        scene = Scene()
        scene.node("n1")
        scene.patch("Node", "n1", {"spec": {"unschedulable": True}})
        scene.placement("shop", a_class("0"))
        async with scene.running():
            assert searched == ["default/shop"]
            assert scene.status()["reason"] == "NodesClosed"
            scene.patch("Node", "n1", {"spec": {"unschedulable": False}})
            scene.patch("Placement", "shop", {"spec": {"generation": 1}})
            await asyncio.sleep(5)
            assert scene.nodes_of() == {"0": "n1"}

    old = [Cluster.of([Node("n1", {}, (), {"cpu": 4000, "pods": 10})])]
    monkeypatch.setattr(answering, "decide", outdated)
    run_virtually(test())
