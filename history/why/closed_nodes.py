"""Nodes that take no new pods: what closes them, since when, and the commands that open them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from contracts import labels
from history.why.things import Obj, Thing, items_of, moment_s

_OPEN: Final = frozenset({labels.EXCLUSIVE_TAINT})
"""Taints of ours: they keep the pods of others away, and nothing is wrong."""
_CORDON: Final = "node.kubernetes.io/unschedulable"
_BY_ITSELF: Final = re.compile(
    r"node\.kubernetes\.io/(?:not-ready|unreachable|network-unavailable|\w+-pressure)"
)
"""Taints that the cluster takes away when their cause ends."""
OPENED_MAX: Final = 3
"""So many nodes are named with the commands that open them."""


def closing(node: Thing) -> list[str]:
    """What keeps new pods off a node: cordoned, and taints of others."""
    found = ["it is cordoned"] if node.spec.get("unschedulable") else []
    for taint in closing_taints(node):
        value = f"={taint['value']}" if taint.get("value") else ""
        found.append(f"it has the taint {taint.get('key')}{value}:{taint.get('effect')}")
    return found


def closing_taints(node: Thing) -> list[Obj]:
    """The taints of others that keep new pods off a node."""
    return [
        taint
        for taint in items_of(node.spec.get("taints"))
        if taint.get("effect") in ("NoSchedule", "NoExecute")
        and taint.get("key") not in (*_OPEN, _CORDON)
    ]


def closed_since(node: Thing) -> float | None:
    """When the first of what closes a node was added (unix seconds); None if nothing says so."""
    is_cordoned = bool(node.spec.get("unschedulable"))
    taints = [*closing_taints(node)]
    if is_cordoned:
        taints += [each for each in items_of(node.spec.get("taints")) if each.get("key") == _CORDON]
    found = [moment_s(each.get("timeAdded")) for each in taints]
    return min((each for each in found if each is not None), default=None)


def opening(node: Thing) -> list[str]:
    """The command for each thing that closes a node and stays until somebody removes it."""
    commands = [f"kubectl uncordon {node.name}"] if node.spec.get("unschedulable") else []
    for taint in closing_taints(node):
        if not _BY_ITSELF.match(str(taint.get("key"))):
            mark = f"{taint.get('key')}:{taint.get('effect')}"
            commands.append(f"kubectl taint node {node.name} {mark}-")
    return commands


def open_one_of(nodes: Iterable[Thing]) -> str:
    """The commands that open closed nodes, one of which may be enough; empty for none."""
    ways = [" && ".join(commands) for node in nodes if (commands := opening(node))]
    if not ways:
        return ""
    what = "the node" if len(ways) == 1 else "one of the nodes"
    return f"Open {what} for new pods: {', or '.join(ways[:OPENED_MAX])}"
