"""Nodes, and the pods on them: taint, cordon, drain, describe. Each script has its own node."""

from __future__ import annotations

from tests.real.differential.kubectl import WAIT, Script
from tests.real.differential.objects import Obj, node, pod

_SIZE = {"cpu": "8", "memory": "16Gi", "ephemeral-storage": "100Gi", "pods": "50"}
_NODE = {
    **node("$ns", labels={"zone": "z", "node-role.kubernetes.io/worker": ""}),
    "status": {
        "capacity": _SIZE,
        "allocatable": _SIZE,
        "addresses": [
            {"type": "InternalIP", "address": "127.0.0.1"},
            {"type": "Hostname", "address": "$ns"},
        ],
    },
}
_READY = f"wait --for=condition=Ready node/$ns {WAIT}"


def _running(name: str) -> Obj:
    return pod(name, {"nodeName": "$ns"}, labels={"app": "x"})


SCRIPTS = (
    Script(
        "taint and cordon",
        (
            "create -f -",
            _READY,
            "get node $ns",
            "get node $ns -o wide",
            "get node $ns --show-labels",
            "taint node $ns a=b:NoSchedule",
            "taint node $ns a=c:NoSchedule",
            "taint node $ns a=c:NoSchedule --overwrite",
            "taint node $ns a=c:Nowhere",
            "taint node $ns d:NoExecute a-",
            "taint node $ns none-",
            "taint nodes -l zone=$ns x=y:NoSchedule",
            "get node $ns -o jsonpath='{.spec.taints[?(@.key==\"d\")]}'",
            "cordon $ns",
            "cordon $ns",
            "get nodes $ns",
            "uncordon $ns",
            "uncordon $ns",
            "cordon nothing",
            "label node $ns zone=y --overwrite",
            "label node $ns zone-",
            "annotate node $ns x=y",
            "delete node $ns",
            "get node/$ns",
        ),
        (_NODE,),
    ),
    Script(
        "drain",
        (
            "create -f node.json",
            _READY,
            "create -f -",
            f"wait --for=condition=Ready pod --all {WAIT}",
            "get pods",
            "get pods -o wide",
            "get pods --field-selector spec.nodeName=$ns,status.phase=Running -o name",
            "drain $ns",
            "drain $ns --force --dry-run=client",
            "drain $ns --force --dry-run=server",
            "drain $ns --force --pod-selector=app=none",
            "drain $ns --force",
            "get pods",
            "get node $ns",
            "drain nothing",
            "uncordon $ns",
            "create -f -",
            f"wait --for=condition=Ready pod --all {WAIT}",
            "drain $ns --force --disable-eviction --grace-period=0",
            "delete node $ns",
        ),
        (_running("one"),),
        {"node.json": (_NODE,)},
    ),
    Script(
        "describe a node and its pods",
        (
            "create -f node.json",
            _READY,
            "create -f -",
            f"wait --for=condition=Ready pod --all {WAIT}",
            "describe node $ns --show-events=false",
            "describe pod one --show-events=false",
            "logs one -c none",
            "logs none",
            "delete pod one two",
            "delete node $ns",
        ),
        (_running("one"), _running("two")),
        {"node.json": (_NODE,)},
    ),
)
