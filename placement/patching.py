"""A cluster in which a little has changed: what stays is shared, the rest is copied and patched.

Making all arrays of thousands of nodes again takes tens of milliseconds; one pod or node changes
only its own places in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from contracts.scheduling.nodes import Node
from placement.cluster import Bools, Claim, Cluster, addresses_of, by_job, held_of, tainted_of
from placement.columns import Columns, Ints, capped


def with_nodes(cluster: Cluster, changed: Iterable[Node]) -> Cluster:
    """The same nodes by name; some have changed."""
    new = {cluster.index[node.name]: node for node in changed}
    old = {at: cluster.nodes[at] for at in new}
    nodes = list(cluster.nodes)
    for at, node in new.items():
        nodes[at] = node
    has_moved = any(old[at].addresses != node.addresses for at, node in new.items())
    return replace(
        cluster,
        nodes=tuple(nodes),
        addresses=addresses_of(nodes) if has_moved else cluster.addresses,
        tagged=_tagged(cluster, old, new),
        unready=_patched(cluster.unready, {at: not node.ready for at, node in new.items()}),
        cordoned=_patched(cluster.cordoned, {at: node.unschedulable for at, node in new.items()}),
        tainted=tainted_of(nodes),
        allocatable=_allocatable(cluster, new),
        remembered={},
    )


def with_claims(cluster: Cluster, claims: Iterable[Claim]) -> Cluster:
    """The same nodes with other claims."""
    claimed = tuple(sorted(claims, key=lambda claim: (claim.node, claim.job, claim.pool)))
    return replace(
        cluster,
        claims=claimed,
        claims_of=by_job(claimed),
        held=held_of(claimed, cluster.index),
        held_exclusively=held_of((each for each in claimed if each.is_exclusive), cluster.index),
        remembered={},
    )


def with_taken(cluster: Cluster, taken: Columns) -> Cluster:
    """The same nodes with other pods."""
    used, streams_pods = taken.arrays(cluster.index)
    pods = taken.of_jobs()
    return replace(cluster, used=used, streams_pods=streams_pods, pods=pods, remembered={})


def _patched(before: Bools, changed: Mapping[int, bool]) -> Bools:
    found = before.copy()
    found[list(changed)] = list(changed.values())
    return found


def _tagged(cluster: Cluster, old: Mapping[int, Node], new: Mapping[int, Node]) -> dict[str, Bools]:
    found = dict(cluster.tagged)
    for at, node in new.items():
        for tag in old[at].tags ^ node.tags:
            before = found.get(tag, np.zeros(len(cluster), bool))
            found[tag] = _patched(before, {at: tag in node.tags})
    return {tag: nodes for tag, nodes in found.items() if nodes.any()}


def _allocatable(cluster: Cluster, new: Mapping[int, Node]) -> dict[str, Ints]:
    found = {name: column.copy() for name, column in cluster.allocatable.items()}
    for at, node in new.items():
        for name in {*found, *node.allocatable}:
            column = found.setdefault(name, np.zeros(len(cluster), np.int64))
            column[at] = capped(node.allocatable.get(name, 0))
    return found
