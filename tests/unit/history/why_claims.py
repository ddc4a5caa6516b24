"""Troubles of pods that need a claim: sometimes it is the cause, sometimes it waits as they do."""

from __future__ import annotations

from history.why.rules import Trouble
from tests.builders import a_node, a_pod
from tests.unit.history.troubles import a_blocked_pe, claim, ill
from tests.unit.history.why_cases import NODES_SHORT, NODES_SHUT, Case

CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
NODES_WITHOUT_VOLUME = (
    "0/2 nodes are available: 1 node(s) didn't find available persistent volumes to bind, 1 node(s)"
    " were unschedulable."
)
CLAIMS = {
    "claim that does not exist": Case(
        ill(
            a_blocked_pe("Unschedulable", 'persistentvolumeclaim "data" not found'),
            a_pod()
            .unschedulable('persistentvolumeclaim "data" not found')
            .with_spec(volumes=[CLAIM]),
            missing=frozenset({"PersistentVolumeClaim/data"}),
        ),
        Trouble.CLAIM_MISSING,
        ("PersistentVolumeClaim data does not exist",),
        ("kubectl apply", "metadata.name: data"),
    ),
    "claim that does not bind": Case(
        ill(
            a_blocked_pe("Unschedulable", "pod has unbound immediate PersistentVolumeClaims"),
            a_pod()
            .unschedulable("pod has unbound immediate PersistentVolumeClaims")
            .with_spec(volumes=[CLAIM]),
            claims=(claim("Pending", storageClassName="fast"),),
        ),
        Trouble.CLAIM_UNBOUND,
        ("PersistentVolumeClaim data is Pending", "storageClassName is fast"),
        ("kubectl describe pvc data -n default",),
    ),
    "claim that binds once its pod has a node, and nodes are closed": Case(
        ill(
            a_blocked_pe("Unschedulable", NODES_SHUT),
            a_pod().unschedulable(NODES_SHUT).with_spec(volumes=[CLAIM]),
            a_node("node-2").with_spec(unschedulable=True),
            claims=(claim("Pending", storageClassName="waits"),),
        ),
        Trouble.NODES_CLOSED,
        ("all nodes (node-2) are closed to pod shop-0",),
        ("kubectl uncordon node-2",),
    ),
    "claim that binds once its pod has a node, and none fits": Case(
        ill(
            a_blocked_pe("Unschedulable", NODES_SHORT),
            a_pod().unschedulable(NODES_SHORT).with_spec(volumes=[CLAIM]),
            claims=(claim("Pending", storageClassName="waits"),),
        ),
        Trouble.UNSCHEDULABLE,
        ("finds no node", "Insufficient cpu"),
        ("Free or add nodes",),
    ),
    "claim without a volume on the nodes that are open": Case(
        ill(
            a_blocked_pe("Unschedulable", NODES_WITHOUT_VOLUME),
            a_pod().unschedulable(NODES_WITHOUT_VOLUME).with_spec(volumes=[CLAIM]),
            claims=(claim("Pending", storageClassName="waits"),),
        ),
        Trouble.CLAIM_UNBOUND,
        ("PersistentVolumeClaim data is Pending",),
        ("kubectl describe pvc data -n default",),
    ),
}
