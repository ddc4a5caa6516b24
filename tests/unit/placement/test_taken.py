"""What is taken on nodes: a function of the pods, whatever the order in which they came."""

from __future__ import annotations

import random
from collections.abc import Iterable

from contracts.scheduling.nodes import Node
from contracts.scheduling.requests import PODS
from placement.cluster import Cluster
from placement.columns import TOTAL_MAX, Columns
from placement.taken import Pod, Taken

NODES = ("n0", "n1", "n2")


def drawn(draw: random.Random) -> Pod:
    job = draw.choice(("", "a/one", "a/two"))
    requests = {draw.choice(("cpu", "gpu")): draw.randrange(1, 1 << 62)}
    return Pod(draw.choice((*NODES, "unknown")), requests, job, draw.randrange(3))


def summed(pods: Iterable[Pod], node: str, name: str) -> int:
    own = (each.requests.get(name, int(name == PODS)) for each in pods if each.node == node)
    return sum(own)


def test_an_account_after_many_changes_is_the_sum_of_the_pods_that_are_left() -> None:
    draw = random.Random(11)
    taken, pods, index = Columns(), dict[int, Pod](), {name: at for at, name in enumerate(NODES)}
    for _ in range(300):
        key, pod = draw.randrange(8), drawn(draw) if draw.random() < 0.7 else None
        nodes = {each.node for each in (pods.get(key), pod) if each is not None}
        assert set(taken.put(key, pod)) == (set() if pods.get(key) == pod else nodes)
        pods.pop(key, None)
        if pod is not None:
            pods[key] = pod
        used, streams = taken.arrays(index)  # what did not change since is not computed again
        for name in {*used, "cpu", "gpu"}:
            sums = [summed(pods.values(), node, name) for node in NODES]
            assert [taken.on(node).get(name, 0) for node in NODES] == sums
            column = used[name].tolist() if name in used else [0] * len(NODES)
            assert column == [min(each, TOTAL_MAX) for each in sums]
        assert streams.tolist() == [
            sum(bool(each.job) for each in pods.values() if each.node == node) for node in NODES
        ]
        of_jobs = {each.job for each in pods.values() if each.job}
        assert taken.of_jobs() == {
            job: tuple(pods[at] for at in sorted(pods) if pods[at].job == job) for job in of_jobs
        }


def test_what_is_free_may_be_less_than_nothing() -> None:
    taken = Taken()
    taken.put("p", Pod("n0", {"cpu": 3, "gpu": 1}))
    assert taken.free_on(Node("n0", allocatable={"cpu": 2, "pods": 5})) == {"cpu": -1, "pods": 4}
    taken.put("p", None)
    assert taken.on("n0") == {}


def test_other_nodes_are_other_columns() -> None:
    taken = Columns()
    taken.put("p", Pod("n1", {"cpu": 7}, "a/one"))
    assert taken.arrays({"n0": 0, "n1": 1})[0]["cpu"].tolist() == [0, 7]
    used, streams = taken.arrays({"n1": 0, "n2": 1, "n3": 2})
    assert (used["cpu"].tolist(), streams.tolist()) == ([7, 0, 0], [1, 0, 0])
    cluster = Cluster.of([Node("n1")], [Pod("n1", {"cpu": 7}, "a/one")])
    assert (cluster.used["cpu"].tolist(), cluster.streams_pods.tolist()) == ([7], [1])
