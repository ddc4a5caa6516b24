"""Nodes that take no new pods: what closes them, since when, and the commands that open them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from contracts.scheduling.nodes import Node
from contracts.scheduling.taints import CORDON, ENDING_BY_THEMSELVES, Taint, taint_of
from history.why.things import Thing, items_of, moment_s

OPENED_MAX: Final = 3
"""So many nodes are named with the commands that open them."""


def closing(node: Thing) -> list[str]:
    """What keeps new pods off a node: cordoned, and taints of others."""
    return [f"it {each.text}" for each in _node(node).closings]


def closing_taints(node: Thing) -> list[Taint]:
    """The taints of others that keep new pods off a node."""
    return [each.taint for each in _node(node).closings if each.taint is not None]


def _node(node: Thing) -> Node:
    """Spec of a node, without our marks: they keep the pods of others away, and nothing is wrong.

    Whether it is ready is a question of its own (of_nodes.py).
    """
    taints = tuple(map(taint_of, items_of(node.spec.get("taints"))))
    is_cordoned = bool(node.spec.get("unschedulable"))
    return Node(node.name, taints=taints, unschedulable=is_cordoned).without_marks()


def closed_since(node: Thing) -> float | None:
    """When the first of what closes a node was added (unix seconds); None if nothing says so."""
    closes = closing_taints(node)
    found = [
        moment_s(each.get("timeAdded"))
        for each in items_of(node.spec.get("taints"))
        if taint_of(each) in closes or each.get("key") == CORDON
    ]
    return min((each for each in found if each is not None), default=None)


def opening(node: Thing) -> list[str]:
    """The command for each thing that closes a node and stays until somebody removes it."""
    commands = [f"kubectl uncordon {node.name}"] if node.spec.get("unschedulable") else []
    return commands + [
        f"kubectl taint node {node.name} {taint.key}:{taint.effect}-"
        for taint in closing_taints(node)
        if taint.key not in ENDING_BY_THEMSELVES
    ]


def open_one_of(nodes: Iterable[Thing]) -> str:
    """The commands that open closed nodes, one of which may be enough; empty for none."""
    ways = [" && ".join(commands) for node in nodes if (commands := opening(node))]
    if not ways:
        return ""
    what = "the node" if len(ways) == 1 else "one of the nodes"
    return f"Open {what} for new pods: {', or '.join(ways[:OPENED_MAX])}"
