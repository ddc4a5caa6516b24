"""Our marks in the labels and taints of a node, and the patch that changes nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from contracts import labels
from contracts.scheduling.nodes import Node
from contracts.scheduling.taints import taint_of
from services.node_tainter.core.marking import marking_patch, marks_of
from services.node_tainter.core.snapshot import Marks, exclusive_taint
from tests.unit.node_tainter.situations import NOTHING, carrying

OURS = {"key": labels.EXCLUSIVE_TAINT, "value": "a", "effect": "NoSchedule"}
GPU = {"key": "gpu", "effect": "NoSchedule"}
LOST = {
    "key": "node.kubernetes.io/unreachable",
    "effect": "NoExecute",
    "timeAdded": "2026-11-20T00:00:00Z",
}
MEMBER_A = f"{labels.MEMBER_PREFIX}a"


def marked(labels_: dict[str, str], taints: list[dict[str, Any]]) -> Marks:
    return marks_of(Node("n", labels_, taints=tuple(map(taint_of, taints))))


def test_what_is_under_our_keys_is_read_and_nothing_else() -> None:
    carried = marked({MEMBER_A: "3", "zone": "z1", labels.JOB: "shop"}, [GPU, OURS, LOST])
    assert carried == carrying("a", a="3")
    assert carried.owners == {"a"}


def test_a_taint_without_value_or_with_another_effect_is_ours_as_well() -> None:
    """The key says whose it is."""
    taints = [{"key": labels.EXCLUSIVE_TAINT, "effect": "NoExecute"}]
    assert marked({}, taints).taints == (exclusive_taint("", effect="NoExecute"),)


TAINTS: dict[str, tuple[list[dict[str, Any]], Marks, object]] = {
    "the first taint of a node": ([], carrying("a"), [OURS]),
    "a new taint comes last": ([GPU, LOST], carrying("a"), [GPU, LOST, OURS]),
    "one that goes leaves the others as they stood": ([GPU, OURS, LOST], NOTHING, [GPU, LOST]),
    "the last one that goes takes the list with it": ([OURS], NOTHING, None),
    "one of another owner is replaced": (
        [OURS, GPU],
        carrying("b"),
        [GPU, {**OURS, "value": "b"}],
    ),
    "a second one goes and the right one keeps its place": (
        [LOST, OURS, GPU, {**OURS, "effect": "NoExecute"}],
        carrying("a"),
        [LOST, OURS, GPU],
    ),
}


@pytest.mark.parametrize("case", TAINTS)
def test_taints_are_patched_whole_and_foreign_ones_stay_as_they_are(case: str) -> None:
    """Fields of theirs that we do not know, and their order, included."""
    taints, wanted, after = TAINTS[case]
    assert marking_patch({}, taints, wanted) == {"spec": {"taints": after}}


def test_taints_that_are_right_are_not_patched() -> None:
    patch = marking_patch({}, [GPU, OURS, LOST], carrying("a", a="1"))
    assert patch == {"metadata": {"labels": {MEMBER_A: "1"}}}


def test_a_field_that_the_server_added_to_our_taint_is_no_difference() -> None:
    taint = {**OURS, "timeAdded": "2026-11-20T00:00:00Z"}
    assert marking_patch({MEMBER_A: "0"}, [taint], carrying("a", a="0")) == {}


def test_only_labels_that_differ_are_patched() -> None:
    """Null takes one away."""
    before = {MEMBER_A: "0", f"{labels.MEMBER_PREFIX}b": "1", "zone": "z1"}
    patch = marking_patch(before, [], carrying(b="1", c="2"))
    changed = {MEMBER_A: None, f"{labels.MEMBER_PREFIX}c": "2"}
    assert patch == {"metadata": {"labels": changed}}


def test_label_and_taint_change_in_one_patch() -> None:
    """Never one without the other."""
    assert marking_patch({}, [], carrying("a", a="0")) == {
        "metadata": {"labels": {MEMBER_A: "0"}},
        "spec": {"taints": [OURS]},
    }
