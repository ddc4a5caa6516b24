"""A node, and the questions that callers ask about it."""

from __future__ import annotations

import pytest

from contracts import labels
from contracts.facts import project
from contracts.scheduling.nodes import CORDONED, NOT_READY, Node, node_of
from contracts.scheduling.taints import CORDON, Taint, Toleration

GPU = Taint("gpu", "a100")
TOLERATED = (Toleration("gpu", "Exists"),)


@pytest.mark.parametrize(
    ("node", "is_open", "takes", "takes_tolerating", "drives_away"),
    [
        (Node("n"), True, True, True, False),
        (Node("n", ready=False), False, False, False, False),
        (Node("n", unschedulable=True), False, False, False, True),
        (Node("n", taints=(GPU,)), True, False, True, False),
        (Node("n", taints=(Taint("gpu", effect="NoExecute"),)), True, False, True, True),
        (Node("n", taints=(Taint("gpu", effect="PreferNoSchedule"),)), True, True, True, False),
    ],
)
def test_each_question_has_its_answer(
    node: Node, *, is_open: bool, takes: bool, takes_tolerating: bool, drives_away: bool
) -> None:
    assert (node.is_open, node.takes(), node.takes(TOLERATED)) == (is_open, takes, takes_tolerating)
    assert node.drives_pods_away == drives_away
    for tolerations in ((), TOLERATED):
        is_closed = any(not each.is_tolerated(tolerations) for each in node.closings)
        assert node.takes(tolerations) != is_closed


def test_closings_name_a_cordon_once() -> None:
    """Kubernetes adds a taint to a cordoned node; without the cordon, it closes by itself."""
    node = Node("n", taints=(Taint(CORDON), GPU), unschedulable=True, ready=False)
    assert node.closings[:2] == (NOT_READY, CORDONED)
    assert [each.text for each in node.closings[2:]] == ["has the taint gpu=a100:NoSchedule"]
    assert [each.taint for each in Node("n", taints=(Taint(CORDON),)).closings] == [Taint(CORDON)]


def test_a_node_is_read_from_its_projection() -> None:
    owner = {"key": labels.EXCLUSIVE_TAINT, "value": "uid", "effect": "NoSchedule"}
    place = {f"{labels.MEMBER_PREFIX}uid": "3"}
    data = project(
        "Node",
        {
            "metadata": {"name": "n", "labels": {**place, labels.HOSTNAME: "h", "zone": "z"}},
            "spec": {"taints": [owner, {"key": "gpu", "value": "a100", "effect": "NoSchedule"}]},
            "status": {
                "addresses": [{"address": "FD00::1"}, {"type": "Hostname"}],
                "allocatable": {"cpu": "500m", "memory": "1Ki", "pods": 110},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        },
    )
    assert data is not None
    node = node_of("n", data)
    assert node.allocatable == {"cpu": 500, "memory": 1024, "pods": 110}
    assert (sorted(node.hosts), node.hostname) == (["", "fd00::1", "n"], "h")
    assert (node.is_open, node.takes(TOLERATED)) == (True, False)
    assert ([each.value for each in node.exclusive_taints], node.places) == (["uid"], {"uid": "3"})
    bare = node.without_marks()
    assert (bare.labels, bare.taints) == ({labels.HOSTNAME: "h", "zone": "z"}, (GPU,))
    assert bare.takes(TOLERATED)


def test_only_a_taint_says_that_a_node_is_out_of_service() -> None:
    taint = Taint(labels.OUT_OF_SERVICE_TAINT, effect="NoExecute")
    assert Node("n", taints=(taint,)).is_out_of_service
    assert not Node("n", unschedulable=True, ready=False).is_out_of_service
