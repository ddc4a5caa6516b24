"""Remedies of `why` have the command with its values: nodes that are closed, and lost content."""

from __future__ import annotations

from dataclasses import replace

import pytest

from history.why.answering import Answer, answer_of
from services.launching.core.named_objects import volumes_text
from tests.builders import Builder
from tests.unit.history.troubles import NOW_S, SINCE, Scene, a_blocked_pe, a_ready_node
from tests.unit.history.why_cases import CASES, KEYS

TAINT = {"key": "dedicated", "value": "db", "effect": "NoExecute"}
OPEN = "kubectl taint node node-1 dedicated:NoExecute-"


def about(node: Builder) -> Answer:
    """The answer about a node."""
    return answer_of(Scene((node,), ("Node", "node-1")).gathered())


def test_a_taint_that_evicts_is_named_with_its_value_and_says_so() -> None:
    found = about(a_ready_node().with_spec(taints=[TAINT]))
    assert "it has the taint dedicated=db:NoExecute" in found.cause
    assert "do not tolerate the taint are evicted" in found.cause
    assert "stay" not in found.cause
    assert found.remedy.endswith(OPEN)
    assert "uncordon" not in found.remedy


@pytest.mark.parametrize(("added", "since_s"), [(None, None), (SINCE, NOW_S - 1800)])
def test_a_node_is_closed_since_its_taint_was_added_or_nothing_is_said(
    added: str | None, since_s: float | None
) -> None:
    node = a_ready_node().with_spec(taints=[{**TAINT, "timeAdded": added}])
    assert about(node).since_s == since_s


@pytest.mark.parametrize("case", ["all nodes closed", "node closed"])
def test_the_commands_open_a_node_by_what_closes_it(case: str) -> None:
    """No uncordon where the node is not cordoned."""
    scene = CASES[case].scene
    node = a_ready_node().with_spec(taints=[TAINT])
    others = tuple(each for each in scene.things if each.kind != "Node")
    found = answer_of(replace(scene, things=(*others, node)).gathered())
    assert found.remedy == f"Open the node for new pods: {OPEN}"


def test_a_secret_that_an_earlier_launch_had_is_restored_and_not_invented() -> None:
    scene = CASES["Secret missing"].scene
    pe = a_blocked_pe("VolumesNotMounted", volumes_text("shop-0-1", [KEYS])).with_status(
        launchCount=2
    )
    things = tuple(pe if each.kind == "ProcessingElement" else each for each in scene.things)
    found = answer_of(replace(scene, things=things).gathered())
    assert found.trouble == "SECRET_MISSING"
    assert "Restore it with its former content" in found.remedy
    assert "--from-literal" not in found.remedy
    assert "correct the field" not in found.remedy
    assert "correct the field" in answer_of(scene.gathered()).remedy
