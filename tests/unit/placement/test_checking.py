"""A placement is looked at again whatever became of the nodes that it names."""

from __future__ import annotations

import pytest

from contracts.scheduling.nodes import Node
from placement.answers import Members, Placed
from placement.checking import violations
from placement.cluster import Cluster
from placement.job import Job, Pe, Pool
from placement.taken import Pod

NODES = [Node("n1", {}, (), {"cpu": 4000, "pods": 9})]


@pytest.mark.parametrize("is_exclusive", [False, True])
@pytest.mark.parametrize("runs", [False, True])
def test_a_member_that_does_not_exist_is_a_violation(is_exclusive: bool, runs: bool) -> None:
    """Also where a pod is still bound to it."""
    job = Job("default/job", (Pe(0, pool=0),), (Pool(0, "P", is_exclusive, size=2),))
    pods = [Pod("gone", {}, job.name, 0)] if runs else []
    placed = Placed({0: "gone" if runs else "n1"}, (Members(0, ("gone", "n1")),))
    assert violations(Cluster.of(NODES, pods), job, placed) == ["gone of P does not exist"]


@pytest.mark.parametrize("runs", [False, True])
def test_a_member_that_lost_the_tag_of_its_pool_stays_while_a_pod_is_bound_to_it(
    runs: bool,
) -> None:
    """Kubernetes does not move a pod for a label either."""
    job = Job("default/job", (Pe(0, pool=0),), (Pool(0, "P", False, tags=("gpu",)),))
    pods = [Pod("n1", {}, job.name, 0)] if runs else []
    placed = Placed({0: "n1"}, (Members(0, ("n1",)),))
    found = violations(Cluster.of(NODES, pods), job, placed)
    assert ("n1 lacks tags of P" in found) is not runs
