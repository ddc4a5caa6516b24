"""The CPU in use is read from whatever metrics.k8s.io answers, and seldom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from planner.numbering.measured import MeasuredCpu
from services.chassis.kube.port import KubeClient, Response
from services.chassis.process.clock import LoopClock
from services.chassis.table.table import Table
from services.fusion_backend.adapters.cluster_cpu import (
    FRESH_S,
    PROBLEM_CHARS_MAX,
    REFUSED_S,
    ClusterCpu,
    CpuFound,
    JobPods,
)
from services.fusion_backend.adapters.intake import nodes_that_count
from tests.virtual_time import run_virtually

NODES = {"a": 8_000, "b": 4_000}
NO_PODS = JobPods("default", "streams.ibm.com/job=j", frozenset())


class Metrics:
    """A transport behind which a metrics server answers with these bodies, by resource."""

    def __init__(self, nodes: object, pods: object = ()) -> None:
        self.of = {"nodes": nodes, "pods": pods}
        self.paths: list[str] = []

    async def request(self, method: str, path: str, **_: object) -> Response:
        self.paths.append(path)
        plural = path.partition("?")[0].rpartition("/")[2]
        body = self.of[plural]
        if isinstance(body, list):
            body = {"kind": "List", "metadata": {}, "items": body}
        return Response(200, orjson.dumps(body), {})

    def stream(self, *_: object, **__: object) -> Any:
        raise AssertionError("nothing is watched")


def node(name: str, cpu: object) -> dict[str, object]:
    return {"metadata": {"name": name}, "usage": {"cpu": cpu, "memory": "1Mi"}}


def pod(name: str, *cpus: str) -> dict[str, object]:
    containers = [{"name": f"c{number}", "usage": {"cpu": cpu}} for number, cpu in enumerate(cpus)]
    return {"metadata": {"name": name}, "containers": containers}


def found(
    metrics: Metrics, pods: JobPods = NO_PODS, waits_s: Sequence[float] = (0.0,)
) -> list[CpuFound]:
    """What is found after each pause."""
    results: list[CpuFound] = []

    async def test() -> None:
        clock = LoopClock()
        cpu = ClusterCpu(KubeClient(metrics, "test"), clock)
        for wait_s in waits_s:
            await clock.sleep(wait_s)
            results.append(await cpu.measured(NODES, pods))

    run_virtually(test())
    return results


def test_only_nodes_whose_pods_have_to_tolerate_nothing_count() -> None:
    table, is_open = Table({}), {"taints": [], "unschedulable": False, "ready": True}
    closed: dict[str, dict[str, Any]] = {
        "open": {},
        "cordoned": {"unschedulable": True},
        "lost": {"ready": False},
        "tainted": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]},
        "advised": {"taints": [{"key": "gpu", "effect": "PreferNoSchedule"}]},
    }
    rest = {"metadata": {"labels": {}}, "addresses": [], "allocatable": {"cpu": "1500m"}}
    for name, fields in closed.items():
        data = {**rest, **is_open, **fields}
        table.observe("Node", "", name, uid=name, resource_version=1, data=data)
    assert nodes_that_count(table) == {"open": 1_500, "advised": 1_500}


def test_nodes_that_count_and_were_measured_are_summed() -> None:
    """In the nanocores of the metrics server, rounded up; a node that joined has no measure."""
    (result,) = found(Metrics([node("a", "1500000001n"), node("tainted", "3")]))
    assert result == CpuFound(MeasuredCpu(1_501, 8_000))
    assert found(Metrics([])) == [CpuFound()]


def test_only_pods_on_nodes_that_count_are_the_jobs_own_and_every_container_counts() -> None:
    pods = JobPods("default", "streams.ibm.com/job=j", frozenset({"j-0", "j-1"}))
    metrics = Metrics(
        [node("a", "4"), node("b", "1")],
        [pod("j-0", "500m", "250m"), pod("j-1", "1"), pod("j-2", "9")],
    )
    (result,) = found(metrics, pods)
    assert result == CpuFound(MeasuredCpu(5_000, 12_000, 1_750))
    assert metrics.paths[1].endswith(
        "/namespaces/default/pods?labelSelector=streams.ibm.com%2Fjob%3Dj"
    )


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ([node("a", "much")], "usage.cpu of a is much"),
        ([node("a", None)], "usage.cpu of a is None"),
        ([{"metadata": {"name": "a"}, "usage": 3}], "usage.cpu of a is None"),
        ([{"usage": {"cpu": "1"}}], "an item has no name"),
        (["x"], "no Kubernetes object"),
        ({"items": []}, "no Kubernetes object"),
        ({"metadata": {}, "items": {"a": 1}}, "no Kubernetes object"),
        ([node("a" * 5_000, "much")], "look at"),
    ],
)
def test_an_answer_of_no_metrics_server_is_named_and_counts_for_nothing(
    body: object, problem: str
) -> None:
    first, second = found(Metrics(body), waits_s=(0.0, 1.0))
    assert first.measured is None
    assert problem in first.problem or len(first.problem) == PROBLEM_CHARS_MAX
    assert len(first.problem) <= PROBLEM_CHARS_MAX
    assert first == second, "plans that follow say it too"


def test_what_nodes_use_is_read_as_seldom_as_it_changes() -> None:
    metrics = Metrics([node("a", "1")])
    found(metrics, waits_s=(0.0, FRESH_S / 2, FRESH_S))
    assert len(metrics.paths) == 2


def test_metrics_that_could_not_be_read_are_tried_again_a_minute_later() -> None:
    metrics = Metrics("nonsense")
    found(metrics, waits_s=(0.0, REFUSED_S / 2, REFUSED_S))
    assert len(metrics.paths) == 2
