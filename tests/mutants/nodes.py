"""Mutants of nodes: whether they take pods, and the account of what is taken on them."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_NODES = "contracts/scheduling/nodes.py"
_TAKEN = "placement/taken.py"
_OF_NODES = "tests/unit/contracts/scheduling/test_nodes.py"
_OF_TAKEN = "tests/unit/placement/test_taken.py"

MUTANTS = (
    Mutant(
        "a node that is not ready takes pods",
        _NODES,
        "Node.is_open",
        "self.ready and not self.unschedulable",
        "not self.unschedulable",
        (_OF_NODES, "-k", "each_question"),
    ),
    Mutant(
        "pods leave a node for a taint NoSchedule",
        _NODES,
        "Node.drives_pods_away",
        "each.effect == NO_EXECUTE",
        "each.repels",
        (_OF_NODES, "-k", "each_question"),
    ),
    Mutant(
        "a cordon is named twice",
        _NODES,
        "Node.closings",
        "and not (self.unschedulable and taint.key == CORDON)",
        "",
        (_OF_NODES, "-k", "name_a_cordon_once"),
    ),
    Mutant(
        "any taint of a node means that it is out of service",
        _NODES,
        "Node.is_out_of_service",
        "any(each.key == OUT_OF_SERVICE_TAINT for each in self.taints)",
        "bool(self.taints)",
        ("tests/unit/pod_state_machine/test_hanging.py",),
    ),
    Mutant(
        "the mark of a pool closes a node to the pool itself",
        _NODES,
        "Node.without_marks",
        "if each.key != EXCLUSIVE_TAINT",
        "",
        (_OF_NODES, "-k", "read_from_its_projection"),
    ),
    Mutant(
        "the room of nodes forgets what bound pods take",
        _TAKEN,
        "Taken.free_on",
        "amount - taken.get(name, 0)",
        "amount",
        ("tests/unit/fusion_backend/test_rooms.py", "-k", "whole_pods_only"),
    ),
    Mutant(
        "a pod that moves takes room on both nodes",
        _TAKEN,
        "Taken.put",
        "self._add(before, -1)",
        "pass",
        (_OF_TAKEN, "-k", "is_the_sum_of_the_pods"),
    ),
    Mutant(
        "the arrays of an account stay as they were",
        "placement/columns.py",
        "Columns.put",
        "self._changed_nodes.update(nodes)",
        "pass",
        (_OF_TAKEN, "-k", "is_the_sum_of_the_pods"),
    ),
    Mutant(
        "a node with a taint counts in automatic fusion",
        "services/fusion_backend/adapters/intake.py",
        "nodes_that_count",
        "if node.takes()",
        "if node.is_open",
        ("tests/unit/fusion_backend/test_cluster_cpu.py", "-k", "have_to_tolerate_nothing"),
    ),
)
