"""What the objects of a node say: addresses, conditions, taints, its Lease. Pure."""

from __future__ import annotations

import ipaddress
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.controllers.conditions import condition_of

Obj = Mapping[str, Any]
NODE_NETWORK = ipaddress.IPv4Network("172.16.0.0/12")
HOSTNAME = "kubernetes.io/hostname"
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_LIFE_CYCLE_TAINTS = (NOT_READY, UNREACHABLE, UNSCHEDULABLE)
_PRESSURES = {
    "MemoryPressure": ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
}
LEASE_DURATION_S = 40


def node_object(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    capacity: Mapping[str, str],
    address: str = "",
) -> dict[str, Any]:
    """A Node as a kubelet registers it."""
    usual = {HOSTNAME: name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    status: dict[str, Any] = {"capacity": dict(capacity), "allocatable": dict(capacity)}
    if address:
        status["addresses"] = _addresses(name, address)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**usual, **(labels or {})}},
        "spec": {},
        "status": status,
    }


def address_of(node: Obj) -> str:
    """The internal address; one made from the name if the node has none yet."""
    for item in (node.get("status") or {}).get("addresses") or ():
        if item.get("type") == "InternalIP":
            return str(item.get("address"))
    offset = zlib.crc32(node["metadata"]["name"].encode()) % (NODE_NETWORK.num_addresses - 2)
    return str(NODE_NETWORK[offset + 1])


def is_ready(node: Obj) -> bool:
    return ready_status(node) == "True"


def ready_status(node: Obj) -> str | None:
    """True, False or Unknown; None before the first report."""
    found = condition_of(node.get("status") or {}, "Ready")
    return None if found is None else str(found.get("status"))


def alive_status(node: Obj, capacity: Mapping[str, str], time: str) -> dict[str, Any]:
    """The status that a healthy kubelet reports."""
    before = node.get("status") or {}
    size = before.get("capacity") or dict(capacity)
    conditions = [
        _condition(before, kind, "False", reason, message, time)
        for kind, (reason, message) in _PRESSURES.items()
    ]
    says = "kubelet is posting ready status"
    conditions.append(_condition(before, "Ready", "True", "KubeletReady", says, time))
    return {
        **before,
        "capacity": size,
        "allocatable": before.get("allocatable") or size,
        "addresses": before.get("addresses")
        or _addresses(node["metadata"]["name"], address_of(node)),
        "nodeInfo": before.get("nodeInfo") or _node_info(node["metadata"]["name"]),
        "conditions": conditions,
    }


def silent_status(node: Obj, time: str) -> dict[str, Any]:
    """The status of a node whose kubelet stopped reporting, as the life cycle writes it."""
    before = node.get("status") or {}
    reason = "NodeStatusUnknown" if before.get("conditions") else "NodeStatusNeverUpdated"
    says = (
        "Kubelet stopped posting node status."
        if before.get("conditions")
        else "Kubelet never posted node status."
    )
    conditions = []
    for kind in (*_PRESSURES, "Ready"):
        known = condition_of(before, kind) or {}
        unknown = _condition(before, kind, "Unknown", reason, says, time)
        # When the kubelet was last heard is worth keeping.
        unknown["lastHeartbeatTime"] = known.get("lastHeartbeatTime", time)
        conditions.append(unknown)
    return {**before, "conditions": conditions}


def wanted_taints(node: Obj, time: str) -> list[Obj]:
    """The node's taints with those of its life cycle put right; those of others stay."""
    spec = node.get("spec") or {}
    present: Sequence[Obj] = spec.get("taints") or ()
    wanted = set()
    if spec.get("unschedulable"):
        wanted.add((UNSCHEDULABLE, "NoSchedule"))
    condition = ready_status(node)
    if condition in {"False", "Unknown"}:
        key = NOT_READY if condition == "False" else UNREACHABLE
        wanted |= {(key, "NoSchedule"), (key, "NoExecute")}
    if condition is None:  # registered by somebody else, not heard of yet
        wanted |= {(NOT_READY, item["effect"]) for item in present if item.get("key") == NOT_READY}
    kept = [
        item
        for item in present
        if item.get("key") not in _LIFE_CYCLE_TAINTS or (item["key"], item["effect"]) in wanted
    ]
    there = {(item.get("key"), item.get("effect")) for item in kept}
    new = [_taint(key, effect, time) for key, effect in sorted(wanted - there)]
    return [*kept, *new]


def lease_of(node: Obj, micro_time: str) -> dict[str, Any]:
    """The Lease that a kubelet renews to say that it lives."""
    meta = node["metadata"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": meta["name"], "uid": meta["uid"]}
    return {
        "metadata": {"name": meta["name"], "ownerReferences": [owner]},
        "spec": {
            "holderIdentity": meta["name"],
            "leaseDurationSeconds": LEASE_DURATION_S,
            "renewTime": micro_time,
        },
    }


def _addresses(name: str, address: str) -> list[dict[str, str]]:
    return [
        {"type": "InternalIP", "address": address},
        {"type": "Hostname", "address": name},
    ]


def _node_info(name: str) -> dict[str, str]:
    return {
        "architecture": "amd64",
        "bootID": "",
        "containerRuntimeVersion": "sandbox://1",
        "kernelVersion": "",
        "kubeProxyVersion": "",
        "kubeletVersion": "v1.36.3",
        "machineID": name,
        "operatingSystem": "linux",
        "osImage": "millrace sandbox",
        "systemUUID": "",
    }


def _condition(
    before: Obj, kind: str, status: str, reason: str, message: str, time: str
) -> dict[str, Any]:
    known = condition_of(before, kind) or {}
    same = known.get("status") == status
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": time,
        "lastTransitionTime": known.get("lastTransitionTime", time) if same else time,
    }


def _taint(key: str, effect: str, time: str) -> dict[str, str]:
    taint = {"key": key, "effect": effect}
    # Only an evicting taint says since when: a fresh time on the others would be a needless write.
    return {**taint, "timeAdded": time} if effect == "NoExecute" else taint
