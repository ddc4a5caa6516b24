"""The whole cluster in one event loop: nodes, scheduler and kubelets behind the API."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import pytest

from sandbox.cluster import Cluster, read_definitions
from tests.unit.sandbox.http.asking import NOW_S, WIDGETS, Asker, pod, widget
from tests.unit.sandbox.http.test_discovery import WIDGET_YAML

PODS = "/api/v1/namespaces/default/pods"


def cluster_of(nodes: int) -> Cluster:
    numbers = itertools.count(1)
    loop = asyncio.get_running_loop()
    return Cluster(
        now=lambda: NOW_S + loop.time(), new_uid=lambda: f"uid-{next(numbers)}", nodes=nodes
    )


@pytest.mark.looptime
async def test_a_pod_comes_up_on_a_node_of_the_cluster() -> None:
    cluster = cluster_of(2)
    asker = Asker(cluster.api)
    running = asyncio.create_task(cluster.run())
    await asyncio.sleep(0)
    asker.ask("POST", PODS, pod("p"))
    await asyncio.sleep(5)
    found = asker.json("GET", f"{PODS}/p")
    running.cancel()
    await asyncio.wait({running})
    assert found["status"]["phase"] == "Running"
    assert found["spec"]["nodeName"] in {"node-0", "node-1"}


async def test_nodes_are_ready_from_the_start_and_hold_250_pods_each() -> None:
    nodes = Asker(cluster_of(3).api).json("GET", "/api/v1/nodes")["items"]
    assert [node["metadata"]["name"] for node in nodes] == ["node-0", "node-1", "node-2"]
    for node in nodes:
        hostname = node["metadata"]["labels"]["kubernetes.io/hostname"]
        assert hostname == node["metadata"]["name"]
        allocatable = node["status"]["allocatable"]
        assert (allocatable["pods"], allocatable["cpu"]) == ("250", "32")
        conditions = {item["type"]: item["status"] for item in node["status"]["conditions"]}
        assert conditions["Ready"] == "True"
        assert any(item["type"] == "InternalIP" for item in node["status"]["addresses"])


async def test_definitions_of_a_directory_are_served_at_once(tmp_path: Path) -> None:
    (tmp_path / "widgets.yaml").write_text(WIDGET_YAML, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("not a definition", encoding="utf-8")
    cluster = cluster_of(0)
    cluster.install(read_definitions(tmp_path))
    assert Asker(cluster.api).ask("POST", WIDGETS, widget("a")).status == 201
