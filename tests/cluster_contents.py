"""What decisions look at in a cluster and in a view of it, in canonical order."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from placement.cluster import Cluster
from services.hostpool_manager.core.cluster_view import ClusterView
from services.hostpool_manager.core.snapshot import Ref


def contents(cluster: Cluster) -> dict[str, object]:
    """Everything that decisions look at."""
    return {
        "nodes": cluster.nodes,
        "addresses": cluster.addresses,
        "tagged": {tag: nodes.tolist() for tag, nodes in cluster.tagged.items()},
        "closed": (cluster.unready | cluster.cordoned).tolist(),
        "tainted": [(taints, nodes.tolist()) for taints, nodes in cluster.tainted],
        "allocatable": {
            name: each.tolist() for name, each in cluster.allocatable.items() if np.any(each)
        },
        "used": {name: each.tolist() for name, each in cluster.used.items() if np.any(each)},
        "streams": cluster.streams_pods.tolist(),
        "pods": {job: sorted(map(str, pods)) for job, pods in cluster.pods.items()},
        "claims": cluster.claims,
        "held": cluster.held.tolist(),
    }


def contents_of_view(view: ClusterView, checked: Iterable[Ref] | None = None) -> dict[str, object]:
    """The cluster, and what is known of each job; problems of the `checked` ones, else of all."""
    refs = view.placements if checked is None else checked
    return {
        **contents(view.cluster),
        "placements": view.placements,
        "searched": view.searched,
        "room": view.room,
        "pools": {ref: view.pools_of(ref) for ref in view.placements},
        "marks": {node.name: view.marks_of(node.name) for node in view.cluster.nodes},
        "jobs": {node.name: sorted(view.jobs_at(node.name)) for node in view.cluster.nodes},
        "problems": {ref: view.problems(ref) for ref in refs},
    }
