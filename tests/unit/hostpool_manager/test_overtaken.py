"""What a search found counts only if it holds on the cluster as it is when the search ends."""

from __future__ import annotations

import asyncio

import pytest

from placement.answers import Answer
from placement.cluster import Cluster, Node
from placement.deciding import Limits, decide
from placement.job import Job
from services.hostpool_manager.core import answering
from tests.unit.hostpool_manager.scene import Scene, a_class
from tests.virtual_time import run_virtually


def test_an_answer_whose_node_was_closed_meanwhile_counts_for_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = list[str]()

    def outdated(cluster: Cluster, question: Job, limits: Limits) -> Answer:
        """The first search takes the cluster from before the node was closed."""
        if not written:
            written.append(question.name)
            cluster = old[0]
        return decide(cluster, question, limits)

    async def test() -> None:
        scene = Scene()
        scene.node("n1")
        scene.patch("Node", "n1", {"spec": {"unschedulable": True}})
        scene.placement("shop", a_class("0"))
        async with scene.running():
            assert written == ["default/shop"]
            assert scene.status()["reason"] == "NodesClosed"
            scene.patch("Node", "n1", {"spec": {"unschedulable": False}})
            scene.patch("Placement", "shop", {"spec": {"generation": 1}})
            await asyncio.sleep(5)
            assert scene.nodes_of() == {"0": "n1"}

    old = [Cluster.of([Node("n1", {}, (), {"cpu": 4000, "pods": 10})])]
    monkeypatch.setattr(answering, "decide", outdated)
    run_virtually(test())
